/* SPDX-License-Identifier: MIT */
#include "analyze/anomaly_rules.h"

#include <math.h>

#define SPIKE_FLOOR_BYTES (UINT64_C(64) << 20) /* smaller growth is ignored */
#define SPIKE_CRITICAL 2.0                     /* times the threshold */
#define ZOMBIE_AFTER_NS (3 * NS_PER_S)         /* parents may need a moment to reap */
#define FD_LIMIT_LEAST 16                      /* smaller limits are intended: sandboxes */
#define PRESSURE_PART 10                       /* available memory below one tenth */

struct context {
	const struct snapshot *snap;
	const struct anomaly_config *config;
};

/* ---- the rules; an absent value never matches ------------------------------------------------ */

static bool is_memory_spike(const struct context *ctx, const struct proc_snap *p,
                            const struct trail *t, struct finding *f)
{
	uint64_t rss = readings_or(&p->s.r, PROC_RSS, 0), before;
	double factor = ctx->config->spike_factor;

	if (rss < SPIKE_FLOOR_BYTES ||
	    !trail_earliest(t, ctx->snap->boot_ns, &before, &f->base_boot_ns) ||
	    rss < before + SPIKE_FLOOR_BYTES || (double)rss < factor * (double)before)
		return false;
	f->value = (double)rss;
	f->base = (double)before;
	f->threshold = MAX(factor * f->base, f->base + (double)SPIKE_FLOOR_BYTES);
	f->severity = f->value >= SPIKE_CRITICAL * factor * f->base ? SEVERITY_CRITICAL
	                                                            : SEVERITY_HIGH;
	return true;
}

/* A job may legitimately keep a core busy for days, as long as its parent waits for it. A busy
 * process that lost its parent was left behind. */
static bool is_runaway(const struct context *ctx, const struct proc_snap *p, const struct trail *t,
                       struct finding *f)
{
	bool is_left = t->first_ppid > 0 && p->s.ppid > 0 && p->s.ppid != t->first_ppid;

	if (p->job < 0 || !is_left || !t->busy_since_ns ||
	    ctx->snap->boot_ns - t->busy_since_ns < ctx->config->runaway_duration_ns)
		return false;
	f->value = t->busy_ratio;
	f->threshold = ctx->config->runaway_cpu_ratio;
	f->base = NAN;
	f->base_boot_ns = t->busy_since_ns;
	f->severity = SEVERITY_CRITICAL;
	return true;
}

/* What a job left when it died is reaped by others, in their time. */
static bool is_of_running_job(const struct snapshot *snap, const struct proc_snap *p)
{
	return p->job >= 0 &&
	       ((size_t)p->job >= snap->jobs.len || snap->jobs.at[p->job].status == JOB_RUNNING);
}

static bool is_zombie(const struct context *ctx, const struct proc_snap *p, const struct trail *t,
                      struct finding *f)
{
	if (!is_of_running_job(ctx->snap, p) || !t->dead_since_ns ||
	    ctx->snap->boot_ns - t->dead_since_ns < ZOMBIE_AFTER_NS)
		return false;
	f->value = (double)(ctx->snap->boot_ns - t->dead_since_ns);
	f->threshold = (double)ZOMBIE_AFTER_NS;
	f->base = NAN;
	f->base_boot_ns = t->dead_since_ns;
	f->severity = SEVERITY_HIGH;
	return true;
}

static bool is_out_of_fds(const struct context *ctx, const struct proc_snap *p,
                          const struct trail *t, struct finding *f)
{
	uint64_t limit = readings_or(&p->s.r, PROC_FD_LIMIT, 0), most = limit - limit / 10;

	(void)t;
	if (limit < FD_LIMIT_LEAST || readings_or(&p->s.r, PROC_FDS, 0) < most)
		return false;
	f->value = (double)p->s.r.value[PROC_FDS];
	f->threshold = (double)most;
	f->base = (double)limit;
	f->base_boot_ns = ctx->snap->boot_ns;
	f->severity = SEVERITY_HIGH;
	return true;
}

static bool is_short_of_memory(const struct context *ctx, struct finding *f)
{
	const struct host_readings *host = &ctx->snap->host;
	uint64_t total = readings_or(host, HOST_MEM_TOTAL, 0);
	uint64_t available = readings_or(host, HOST_MEM_AVAILABLE, total);

	if (available * PRESSURE_PART >= total)
		return false;
	f->value = (double)available;
	f->threshold = (double)total / PRESSURE_PART;
	f->base = (double)total;
	f->base_boot_ns = ctx->snap->boot_ns;
	f->severity = SEVERITY_CRITICAL;
	return true;
}

/* ---- all of them ----------------------------------------------------------------------------- */

static const struct {
	enum anomaly_kind kind;
	bool (*of_process)(const struct context *ctx, const struct proc_snap *p,
	                   const struct trail *t, struct finding *f);
	bool (*of_machine)(const struct context *ctx, struct finding *f);
} rules[] = {
	{ ANOMALY_MEMORY_SPIKE, .of_process = is_memory_spike },
	{ ANOMALY_RUNAWAY_PROCESS, .of_process = is_runaway },
	{ ANOMALY_ZOMBIE, .of_process = is_zombie },
	{ ANOMALY_FD_EXHAUSTION, .of_process = is_out_of_fds },
	{ ANOMALY_MEMORY_PRESSURE, .of_machine = is_short_of_memory },
};

static void add(struct findings *to, const struct finding *f)
{
	struct finding *slot = vec_push(to, FINDINGS_MAX);

	if (slot)
		*slot = *f;
	else
		to->dropped++;
}

static void check_process(const struct context *ctx, const struct proc_snap *p,
                          const struct trail *t, struct findings *ret)
{
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct finding f;

		if (!rules[i].of_process || !rules[i].of_process(ctx, p, t, &f))
			continue;
		f.kind = rules[i].kind;
		f.id = p->s.id;
		memcpy(f.comm, p->s.comm, sizeof f.comm);
		f.job = p->job;
		f.sheet = p->sheet;
		add(ret, &f);
	}
}

void anomaly_detect(const struct snapshot *snap, const struct process_history *h,
                    const struct anomaly_config *config, struct findings *ret)
{
	const struct context ctx = { snap, config };

	vec_reset(ret);
	for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
		struct finding f = { .kind = rules[i].kind, .job = -1 };

		if (rules[i].of_machine && rules[i].of_machine(&ctx, &f))
			add(ret, &f);
	}
	for (size_t i = 0; i < snap->procs.len; i++)
		check_process(&ctx, &snap->procs.at[i], process_history_trail(h, i), ret);
}
