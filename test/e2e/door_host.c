/* SPDX-License-Identifier: MIT */
/* A job that only answers its door: what the methods receive is printed, one line each, so that a
 * test can check it.
 *
 *	door_host STATE/jobs/ID        until SIGTERM */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "serve/serve.h"

struct host {
	struct loop *loop;
	struct engine *engine;
	struct snapshot snap;
	struct latest_snapshot latest;
};

static void print_sheet(void *self, const struct job_input_sheet *begun, uint32_t num)
{
	(void)self;
	printf("begin %u/%u '%s' pid %d\n", num, begun->total, begun->label, begun->opener.pid);
}

static void print_sheet_end(void *self, uint32_t num, const struct job_end *how)
{
	(void)self;
	printf("end %u %s code %d signal %d\n", num, job_status_name(how->status),
	       how->has_exit_code ? how->exit_code : -1, how->signal);
}

static void print_event(void *self, enum event_kind kind, const char *name, uint64_t took_ns,
                        const char *data_json)
{
	(void)self;
	if (kind == EVENT_MARK)
		printf("mark %s %s\n", name, data_json);
	else
		printf("phase %s %" PRIu64 " ms %s\n", name, took_ns / NS_PER_MS, data_json);
}

/* One process, this one, and one event. */
static void make_snapshot(struct host *h)
{
	struct sample s = { .wall_ns = clock_wall_ns(),
		            .mono_ns = clock_mono_ns(),
		            .boot_ns = clock_boot_ns(),
		            .procs_complete = true,
		            .events_complete = true };
	const struct snapshot_origin origin = { .seq = 1,
		                                .started_boot_ns = s.boot_ns,
		                                .pid = getpid() };
	struct job_roster *jobs = &engine_jobs(h->engine)->roster;
	struct proc_sample *p = sample_add_proc(&s);
	struct event *e;

	p->id = (struct proc_id){ .pid = getpid(), .start_ticks = 1 };
	p->ppid = getppid();
	p->state = 'R';
	p->command = sample_add_text(&s, "door_host", strlen("door_host"));
	readings_set(&p->r, PROC_RSS, 3u << 19);
	readings_set(&s.host, HOST_SELF_RSS, 10u << 20);
	e = sample_add_event(&s, EVENT_SPAWN);
	e->id = p->id;
	e->boot_ns = s.boot_ns;
	job_roster_assign(jobs, p->id, (struct job_ref){ .job = jobs->rows.at[0]->job.handle });
	snapshot_build(NULL, &s, jobs, &origin, &h->snap);
	h->latest.snap = &h->snap;
	sample_done(&s);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct host *h = self;

	(void)info;
	loop_stop(h->loop);
}

/* An engine that ticks once, and stores nothing. */
static int start_engine(struct host *h, const char *id, struct err *err)
{
	const struct engine_options options = {
		.sampler = { .no_bpf = true, .no_events = true },
		.recorder = { .opens_later = true },
		.interval_ns = 3600 * NS_PER_S,
	};
	struct job job = { .type = "train",
		           .command = "./train.sh --epochs 3",
		           .cwd = "/home/ada/model",
		           .tags = "{\"gpu\":\"no\"}",
		           .tier = "BPF tracepoints, cgroup v2",
		           .uid = geteuid(),
		           .started_ns = clock_wall_ns() };
	struct pipeline pipeline = { 0 };

	snprintf(job.id, sizeof job.id, "%s", id);
	if (engine_new(h->loop, &options, &h->engine, err) < 0)
		return -err->code;
	pipeline.stages[0] = (struct stage){ "pressure", ON_TICKS, engine_stage_pressure,
		                             h->engine };
	engine_set_pipeline(h->engine, &pipeline);
	jobs_add(engine_jobs(h->engine), &job);
	engine_tick(h->engine);
	return 0;
}

static int serve_job(struct host *h, const char *dir, struct err *err)
{
	static const struct serve_observer printer = { print_sheet, print_sheet_end, print_event };
	const struct serve_host host = { .engine = h->engine,
		                         .latest = &h->latest,
		                         .observer = &printer };
	cleanup(serve_closep) struct serve *serve = NULL;

	if (serve_open(h->loop, dir, &host, &serve, err) < 0)
		return -err->code;
	if (getenv("HOST_SNAPSHOT")) {
		make_snapshot(h);
		serve_publish(serve, &h->snap);
	}
	puts("ready");
	return loop_run(h->loop, err);
}

static int run(struct host *h, const char *dir, struct err *err)
{
	sigset_t stop;

	sigemptyset(&stop);
	sigaddset(&stop, SIGTERM);
	if (loop_new(&h->loop, err) < 0 ||
	    loop_add_signals(h->loop, &stop, on_signal, h, err) < 0 ||
	    start_engine(h, strrchr(dir, '/') + 1, err) < 0)
		return -err->code;
	return serve_job(h, dir, err);
}

int main(int argc, char **argv)
{
	struct host h = { 0 };
	struct err err;
	int r;

	if (argc != 2 || !strchr(argv[1], '/'))
		return 2;
	setvbuf(stdout, NULL, _IOLBF, 0);
	r = run(&h, argv[1], &err);
	if (r < 0)
		fprintf(stderr, "%s\n", err.msg);
	engine_free(h.engine);
	loop_free(h.loop);
	snapshot_done(&h.snap);
	return r < 0;
}
