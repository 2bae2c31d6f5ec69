/* SPDX-License-Identifier: MIT */
/* Anomalies of one process. */
#include <math.h>

#include "analyze/rules.h"

#define SPIKE_FLOOR_BYTES (UINT64_C(64) << 20) /* smaller growth is ignored */
#define SPIKE_CRITICAL 2.0                     /* times the threshold */
#define ZOMBIE_AFTER_NS (3 * NS_PER_S)         /* parents may need a moment to reap */
#define THREADS_LEAST 1000                     /* what no pool of workers has */
#define THREADS_GROWTH 4
#define FD_LIMIT_LEAST 16 /* smaller limits are intended: sandboxes */

/* Whether a process of a job, or all of it, has more than the earlier runs of its type let expect. Without a history of
 * it the fixed threshold decides. */
static bool is_beyond(const struct anomaly_input *in, const struct proc_snap *p,
                      enum past_figure figure, double value, struct finding *f)
{
	const struct job_trail *t = job_history_trail(in->jobs, p->job);
	double bound = type_history_bound(t ? t->past : NULL, figure);

	if (bound <= 0)
		return true;
	f->runs = t->past->of[figure].n;
	f->threshold = bound;
	return value > bound;
}

/* Not that of every run: loading a model is no spike. */
PROCESS_RULE(rule_memory_spike)
{
	uint64_t rss = readings_or(&p->s.r, PROC_RSS, 0), before;
	double factor = in->config->spike_factor;

	if (rss < SPIKE_FLOOR_BYTES ||
	    !process_history_earliest(t, in->snap->boot_ns, &before, &f->base_boot_ns) ||
	    rss < before + SPIKE_FLOOR_BYTES || (double)rss < factor * (double)before)
		return false;
	f->value = (double)rss;
	f->base = (double)before;
	f->threshold = MAX(factor * f->base, f->base + (double)SPIKE_FLOOR_BYTES);
	if (!is_beyond(in, p, PAST_LARGEST, f->value, f))
		return false;
	f->severity = f->value >= SPIKE_CRITICAL * factor * f->base ? SEVERITY_CRITICAL
	                                                            : SEVERITY_HIGH;
	return true;
}

/* A job may legitimately keep a core busy for days, as long as its parent waits for it. A busy
 * process that lost its parent was left behind, unless that is how its job type computes. */
PROCESS_RULE(rule_runaway_process)
{
	bool is_left = t->first_ppid > 0 && p->s.ppid > 0 && p->s.ppid != t->first_ppid;

	if (p->job < 0 || !is_left || !t->busy_since_ns ||
	    in->snap->boot_ns - t->busy_since_ns < in->config->runaway_duration_ns)
		return false;
	if ((size_t)p->job < in->snap->jobs.len &&
	    !is_beyond(in, p, PAST_CPU,
	               (double)in->snap->jobs.at[p->job].figures[JOB_FIGURE_CPU].value, f))
		return false;
	f->value = t->busy_ratio;
	f->threshold = in->config->runaway_cpu_ratio;
	f->base = NAN;
	f->base_boot_ns = t->busy_since_ns;
	f->severity = SEVERITY_CRITICAL;
	return true;
}

/* Zombies that a dead job left are reaped by other processes, at their own pace. */
static bool is_of_running_job(const struct snapshot *snap, const struct proc_snap *p)
{
	return p->job >= 0 &&
	       ((size_t)p->job >= snap->jobs.len || snap->jobs.at[p->job].status == JOB_RUNNING);
}

PROCESS_RULE(rule_zombie)
{
	if (!is_of_running_job(in->snap, p) || !t->dead_since_ns ||
	    in->snap->boot_ns - t->dead_since_ns < ZOMBIE_AFTER_NS)
		return false;
	f->value = (double)(in->snap->boot_ns - t->dead_since_ns);
	f->threshold = (double)ZOMBIE_AFTER_NS;
	f->base = NAN;
	f->base_boot_ns = t->dead_since_ns;
	f->severity = SEVERITY_HIGH;
	return true;
}

PROCESS_RULE(rule_fd_exhaustion)
{
	uint64_t limit = readings_or(&p->s.r, PROC_FD_LIMIT, 0), most = limit - limit / 10;

	(void)t;
	if (limit < FD_LIMIT_LEAST || readings_or(&p->s.r, PROC_FDS, 0) < most)
		return false;
	f->value = (double)p->s.r.value[PROC_FDS];
	f->threshold = (double)most;
	f->base = (double)limit;
	f->base_boot_ns = in->snap->boot_ns;
	f->severity = SEVERITY_HIGH;
	return true;
}

/* Many threads may be meant so. That they multiply within seconds is not. */
PROCESS_RULE(rule_thread_explosion)
{
	uint64_t threads = readings_or(&p->s.r, PROC_THREADS, 0);

	if (p->job < 0 || threads < THREADS_LEAST || !t->threads ||
	    threads < (uint64_t)THREADS_GROWTH * t->threads)
		return false;
	f->value = (double)threads;
	f->threshold = MAX((double)THREADS_LEAST, (double)THREADS_GROWTH * t->threads);
	f->base = t->threads;
	f->base_boot_ns = t->threads_ns;
	f->severity = SEVERITY_HIGH;
	(void)in;
	return true;
}
