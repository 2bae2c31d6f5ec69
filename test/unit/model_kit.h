/* SPDX-License-Identifier: MIT */
/* model_kit.h - samples, ticks, jobs and stored records, made by hand. */
#pragma once

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analyze/anomaly_episodes.h"
#include "model/history_record.h"
#include "model/job.h"
#include "model/snapshot.h"

/* ---- samples, and the snapshot of one ------------------------------------------------------- */

#define T0_NS (1000 * NS_PER_S) /* boot clock of the first sample */
#define WALL0_NS (UINT64_C(1700000000) * NS_PER_S)

/* An empty sample, so many ns after the first one on every clock; complete in all respects. */
static inline struct sample kit_sample(uint64_t after_ns)
{
	return (struct sample){
		.wall_ns = WALL0_NS + after_ns,
		.mono_ns = T0_NS + after_ns,
		.boot_ns = T0_NS + after_ns,
		.procs_complete = true,
		.events_complete = true,
	};
}

/* Began so many ticks after boot (T0_NS is tick 100,000). */
static inline struct proc_sample *kit_proc(struct sample *s, pid_t pid, uint64_t start_ticks)
{
	struct proc_sample *p = sample_add_proc(s);

	p->id = (struct proc_id){ .pid = pid, .start_ticks = start_ticks };
	p->ppid = 1;
	p->state = 'S';
	memcpy(p->comm, "worker", sizeof "worker");
	p->command = sample_add_text(s, "worker --fast", strlen("worker --fast"));
	return p;
}

static inline struct proc_sample *kit_proc_cpu(struct sample *s, pid_t pid, uint64_t start_ticks,
                                               uint64_t cpu_ns)
{
	struct proc_sample *p = kit_proc(s, pid, start_ticks);

	readings_set(&p->r, PROC_CPU_TIME, cpu_ns);
	return p;
}

static inline void kit_build(const struct sample *prev, const struct sample *cur,
                             struct snapshot *ret)
{
	struct job_roster none = { 0 };

	snapshot_build(prev, cur, &none,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS, .pid = 77 },
	               ret);
}

/* How many events of this kind, and the last of them. */
static inline size_t kit_events(const struct snapshot *snap, enum event_kind kind,
                                struct event *ret)
{
	size_t n = 0;

	vec_each(&snap->events, e) {
		if (e->kind != kind)
			continue;
		*ret = *e;
		n++;
	}
	return n;
}

/* ---- ticks, one after the other, and the anomalies in them ---------------------------------- */

#define KIT_BOOT_NS (5000 * NS_PER_S) /* boot clock of the first tick */
#define KIT_WALL_NS (UINT64_C(1700000000) * NS_PER_S)
#define KIT_MIB (UINT64_C(1) << 20)

static const struct anomaly_config kit_config = {
	.spike_factor = 1.5,
	.spike_window_ns = 30 * NS_PER_S,
	.runaway_cpu_ratio = 0.9,
	.runaway_duration_ns = 60 * NS_PER_S,
	.gpu_idle_ns = 300 * NS_PER_S,
};

/* Everything between ticks and episodes. */
struct ticks {
	struct anomaly_config config;
	struct snapshot snap;
	struct process_history history;
	struct job_history jobs;
	bool owns_group;
	const struct type_history *past; /* of the first job; NULL: none */
	struct findings findings;
	struct episodes episodes;
	struct anomaly_list reported;
};

static inline struct ticks kit_ticks(void)
{
	return (struct ticks){ .config = kit_config };
}

static inline void kit_ticks_done(struct ticks *w)
{
	snapshot_done(&w->snap);
	process_history_done(&w->history);
	job_history_done(&w->jobs);
	vec_done(&w->findings);
	anomaly_episodes_done(&w->episodes);
	vec_done(&w->reported);
}

/* An empty tick, so many seconds after the first; add processes in the order of their pids. */
static inline void kit_tick(struct ticks *w, double after_s)
{
	uint64_t after_ns = (uint64_t)llround(after_s * 1e9);

	snapshot_reset(&w->snap);
	w->snap.boot_ns = KIT_BOOT_NS + after_ns;
	w->snap.wall_ns = KIT_WALL_NS + after_ns;
}

/* A process of the first job that began so many seconds before (or after) the first tick. */
static inline struct proc_snap *kit_add(struct ticks *w, pid_t pid, double began_s)
{
	struct proc_snap *p = vec_push(&w->snap.procs, PROCS_MAX);

	p->s.id.pid = pid;
	p->s.id.start_ticks = (uint64_t)llround((5000 + began_s) * TICKS_PER_S);
	p->s.ppid = 1;
	p->s.state = 'S';
	snprintf(p->s.comm, sizeof p->s.comm, "python");
	return p;
}

/* A job that runs, and what is sampled of it. */
static inline struct job_sum *kit_add_job(struct ticks *w)
{
	struct job *job = vec_push(&w->snap.jobs, 8);

	job->handle = (job_handle)w->snap.jobs.len + 6;
	job->started_ns = KIT_WALL_NS;
	return vec_push(&w->snap.sums, 8);
}

static inline void kit_rss(struct proc_snap *p, uint64_t bytes)
{
	readings_set(&p->s.r, PROC_RSS, bytes);
}

static inline size_t kit_judge(struct ticks *w)
{
	const struct type_history *past[8] = { w->past };
	const struct anomaly_input in = { .snap = &w->snap,
		                          .config = &w->config,
		                          .processes = &w->history,
		                          .jobs = &w->jobs,
		                          .owns_group = w->owns_group };

	process_history_feed(&w->history, &w->snap, &w->config);
	job_history_feed(&w->jobs, &w->snap, past, w->owns_group);
	anomaly_rules_apply(&in, &w->findings);
	return w->findings.len;
}

static inline size_t kit_report(struct ticks *w)
{
	kit_judge(w);
	vec_reset(&w->reported);
	anomaly_episodes_feed(&w->episodes, &w->findings, &w->snap, &w->reported);
	return w->reported.len;
}

/* ---- jobs ----------------------------------------------------------------------------------- */

#define KIT_STARTED_NS (UINT64_C(1700000000) * NS_PER_S)
#define KIT_GIB (UINT64_C(1) << 30)

static inline void kit_figure(struct job *job, enum job_figure id, uint64_t value,
                              enum quality quality)
{
	job->figures[id] = (struct figure){ .value = value, .quality = quality };
}

/* A run that went well, every figure of it exact. */
static inline struct job kit_good_job(void)
{
	struct job job = {
		.id = "train.py-7f3a",
		.type = "train.py",
		.command = "python train.py --epochs 3",
		.cwd = "/home/ana/model",
		.uid = 1000,
		.tags = "{\"team\":\"vision\"}",
		.tier = "BPF tracepoints, cgroup v2",
		.interval_ns = NS_PER_S,
		.status = JOB_COMPLETED,
		.started_ns = KIT_STARTED_NS,
		.ended_ns = KIT_STARTED_NS + 761 * NS_PER_S,
		.took_ns = 761 * NS_PER_S,
		.has_exit_code = true,
		.total_sheets = 3,
		.last_completed_sheet = 3,
		.completed_sheets = 3,
		.largest_pid = 2417,
		.largest_name = "python",
		.allowed = { 8000, 32 * KIT_GIB, ALLOWANCE_MACHINE, 0 },
	};

	kit_figure(&job, JOB_FIGURE_CPU, 2595 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU_USER, 2472 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU_SYSTEM, 123 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_RSS, KIT_GIB * 48 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_USED, KIT_GIB * 61 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_AT, 560 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_READ, KIT_GIB * 124 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_WRITTEN, KIT_GIB * 11 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PROCESSES, 214, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_EXITED, 214, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_FAILED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SIGNALLED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_LEAKED, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_OOM_KILLS, 0, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SELF_CPU, 450 * NS_PER_MS, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SELF_RSS, UINT64_C(8900) << 10, QUALITY_EXACT);
	return job;
}

/* One that met its own memory limit. */
static inline struct job kit_oom_job(void)
{
	struct job job = kit_good_job();

	snprintf(job.id, sizeof job.id, "align-91c2");
	snprintf(job.type, sizeof job.type, "align");
	snprintf(job.largest_name, sizeof job.largest_name, "bwa-mem");
	job.status = JOB_FAILED;
	job.took_ns = 187 * NS_PER_S;
	job.ended_ns = job.started_ns + job.took_ns;
	job.has_exit_code = false;
	job.signal = 9;
	job.limit[JOB_LIMIT_MEM] = 8 * KIT_GIB;
	job.limits_hit = 1u << JOB_LIMIT_MEM;
	job.allowed = (struct allowance){ 8000, 8 * KIT_GIB, ALLOWANCE_OWN, 0 };
	job.total_sheets = 4;
	job.last_completed_sheet = job.completed_sheets = 1;
	kit_figure(&job, JOB_FIGURE_CPU, 1120 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_CPU_USER, 1100 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_CPU_SYSTEM, 20 * NS_PER_S, QUALITY_AT_LEAST);
	kit_figure(&job, JOB_FIGURE_PEAK_USED, 8 * KIT_GIB - (1 << 20), QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_RSS, KIT_GIB * 76 / 10, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_AT, 186 * NS_PER_S, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_CHARGED, 8 * KIT_GIB, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_READ, 0, QUALITY_MISSING);
	kit_figure(&job, JOB_FIGURE_WRITTEN, 0, QUALITY_MISSING);
	kit_figure(&job, JOB_FIGURE_PROCESSES, 61, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_EXITED, 60, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_FAILED, 2, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_SIGNALLED, 1, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_LEAKED, 1, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_OOM_KILLS, 1, QUALITY_EXACT);
	return job;
}

/* ---- the records of one job: sheets, processes, events -------------------------------------- */

#define KIT_AT(s) (KIT_STARTED_NS + (uint64_t)((s)*1e9))

static inline struct figure kit_exact(uint64_t value)
{
	return (struct figure){ .value = value, .quality = QUALITY_EXACT };
}

static inline struct sheet_record kit_sheet(uint32_t num, const char *label, double from, double to)
{
	struct sheet_record s = { .use = { .processes = 10 * num, .max_cpu_ratio = 7.9 / num } };

	s.s = (struct sheet){ .num = num,
		              .status = JOB_COMPLETED,
		              .started_ns = KIT_AT(from),
		              .ended_ns = KIT_AT(to),
		              .has_exit_code = true,
		              .pid = 2400 + (pid_t)num };
	snprintf(s.s.label, sizeof s.s.label, "%s", label);
	s.use.figures[SHEET_FIGURE_CPU] = kit_exact((uint64_t)((to - from) * 3e9));
	s.use.figures[SHEET_FIGURE_PEAK_RSS] = kit_exact(num * KIT_GIB);
	return s;
}

static inline struct process_record kit_process(pid_t pid, const char *name, const char *command,
                                                double from, double to)
{
	return (struct process_record){
		.id = { .pid = pid, .start_ticks = 1000 + (uint64_t)pid },
		.ppid = pid > 2417 ? 2417 : 2400,
		.uid = 1000,
		.sheet = 2,
		.comm = name,
		.command = command,
		.started_ns = KIT_AT(from),
		.ended_ns = to > 0 ? KIT_AT(to) : 0,
		.is_start_exact = true,
		.has_exit_code = to > 0,
		.cpu_time_ns = kit_exact((uint64_t)((to > from ? to - from : 1) * 2e9)),
		.peak_rss_bytes = kit_exact(KIT_GIB / 4 * (uint64_t)(to > 700 ? 19 : 1)),
		.read_bytes = kit_exact(1 << 20),
		.max_cpu_ratio = 3.98,
	};
}

static inline struct event_record kit_event(enum event_kind kind, double at, pid_t pid,
                                            const char *details)
{
	struct event_record e = { .kind = kind, .wall_ns = KIT_AT(at), .details = details };

	if (pid)
		e.process = (struct proc_id){ .pid = pid, .start_ticks = 1000 + (uint64_t)pid };
	return e;
}

static inline struct job_sum_record kit_sum(double at, uint64_t used_bytes, double cpu_ratio)
{
	return (struct job_sum_record){
		.wall_ns = KIT_AT(at),
		.sum = { .procs = 7,
		         .rss_bytes = 2 * used_bytes,
		         .used = { used_bytes, QUALITY_SAMPLED },
		         .cpu_ratio = cpu_ratio },
	};
}
