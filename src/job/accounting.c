/* SPDX-License-Identifier: MIT */
#include "job/accounting.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/own_process.h"

#define SEEN_MAX ((size_t)1 << 20)
#define MARK_NOISE_BYTES                                                                           \
	((uint64_t)1 << 20) /* sources differ by pages that CPUs count for themselves */

/* ---- processes that are older than the job --------------------------------------------------- */

/* It is as old as its tick at least. */
bool accounting_is_older(const struct accounting *t, struct proc_id id)
{
	return t->counts_from_start && (id.start_ticks + 1) * NS_PER_TICK <= t->started_boot_ns;
}

static bool has_begun(const struct accounting *t, struct proc_id id)
{
	uint64_t cpu_ns;

	return map_get(&t->baseline_cpu, proc_key(id), &cpu_ns);
}

/* … and what it did elsewhere is not subtracted yet. */
static bool has_left(const struct accounting *t, struct proc_id id)
{
	uint64_t is_back;

	return map_get(&t->left, proc_key(id), &is_back);
}

/* It is older, or was in another job meanwhile, and what it used before it joined is not known. */
static bool is_unclear(const struct accounting *t, struct proc_id id)
{
	return has_left(t, id) || (accounting_is_older(t, id) && !has_begun(t, id));
}

/* … a counter, since it joined. */
static uint64_t since(const struct map *begun, struct proc_id id, uint64_t now)
{
	uint64_t then = 0;

	(void)map_get(begun, proc_key(id), &then);
	return now - MIN(now, then);
}

/* The kernel's mark is of the whole life: it counts if it rose since the process joined, as far as that is
 * known. */
bool accounting_mark_counts(const struct accounting *t, struct proc_id id, uint64_t mark_bytes)
{
	uint64_t begun_bytes;

	if (has_left(t, id))
		return false;
	if (map_get(&t->baseline_peak, proc_key(id), &begun_bytes))
		return mark_bytes > begun_bytes + MARK_NOISE_BYTES;
	return !accounting_is_older(t, id) && !has_begun(t, id);
}

/* The first that is known of a process that is older. */
static void begin_mark(struct accounting *t, struct proc_id id, const struct proc_readings *r)
{
	uint64_t begun_bytes;

	if (readings_has(r, PROC_PEAK_RSS) && has_begun(t, id) &&
	    !map_get(&t->baseline_peak, proc_key(id), &begun_bytes))
		map_put(&t->baseline_peak, proc_key(id), r->value[PROC_PEAK_RSS]);
}

/* A child begins with the mark of its parent until it runs a program, and with vfork it keeps that:
 * of equals it is the one that ends last, which is the parent. */
static void take_peak(struct accounting *t, uint64_t bytes, pid_t pid, const char *comm)
{
	if (own_process_is_small(comm, bytes)) {
		t->our_peak_bytes = MAX(t->our_peak_bytes, bytes);
		return;
	}
	if (!bytes || bytes < t->peak_rss_bytes)
		return;
	t->peak_rss_bytes = bytes;
	if (bytes < t->seen_rss_bytes) /* a process with more was sampled, and may live on */
		return;
	t->largest_pid = pid;
	memcpy(t->largest_name, comm, sizeof t->largest_name);
}

/* CPU time of a process as sampled, which a better source may replace. */
static void see_cpu(struct accounting *t, struct proc_id id, uint64_t cpu_ns)
{
	uint64_t key = proc_key(id), before = 0;

	cpu_ns = since(&t->baseline_cpu, id, cpu_ns);
	if (!map_get(&t->seen, key, &before) && t->seen.len >= SEEN_MAX)
		return;
	if (cpu_ns <= before)
		return;
	t->seen_cpu_ns += cpu_ns - before;
	map_put(&t->seen, key, cpu_ns);
}

static void report_cpu(struct accounting *t, struct proc_id id, uint64_t cpu_ns)
{
	uint64_t before = 0;

	if (map_get(&t->seen, proc_key(id), &before))
		map_del(&t->seen, proc_key(id));
	t->seen_cpu_ns -= before;
	t->ended_cpu_ns += since(&t->baseline_cpu, id, cpu_ns);
}

static void take_totals(struct accounting *t, const struct event *e)
{
	if (readings_has(&e->final, PROC_CPU_TIME) && !is_unclear(t, e->id))
		report_cpu(t, e->id, e->final.value[PROC_CPU_TIME]);
	if (e->is_peak_bound)
		t->bound_peak_bytes = MAX(t->bound_peak_bytes,
		                          readings_or(&e->final, PROC_PEAK_RSS, 0));
	else if (readings_has(&e->final, PROC_PEAK_RSS) &&
	         accounting_mark_counts(t, e->id, e->final.value[PROC_PEAK_RSS]))
		take_peak(t, e->final.value[PROC_PEAK_RSS], e->id.pid, e->comm);
}

/* ---- events ---------------------------------------------------------------------------------- */

static void count_failure(struct accounting *t, const struct event *e)
{
	bool failed = e->has_exit_code && e->exit_code != 0, signalled = e->signal != 0;
	struct failure_change change = failure_owner_end(
		&t->failures, e->id.pid, failure_owner_parent(&t->failures, e->id.pid), failed,
		signalled);

	t->failed += (change.counts && failed) - change.parent_failed;
	t->signalled += (change.counts && signalled) - change.parent_signalled;
}

static void take_exit(struct accounting *t, const struct event *e)
{
	t->exited++;
	t->last_exit_boot_ns = MAX(t->last_exit_boot_ns, e->boot_ns);
	count_failure(t, e);
	t->without_cpu += !readings_has(&e->final, PROC_CPU_TIME) || is_unclear(t, e->id);
	t->without_peak += !readings_has(&e->final, PROC_PEAK_RSS) ||
	                   !accounting_mark_counts(t, e->id, e->final.value[PROC_PEAK_RSS]);
	take_totals(t, e);
}

void accounting_take_event(struct accounting *t, const struct event *e)
{
	if (e->kind == EVENT_LOSS)
		t->lost = true;
	if (e->job < 0 || e->id.pid == 0)
		return;
	t->lost |= e->inferred;
	if (e->kind == EVENT_EXIT) {
		take_exit(t, e);
	} else if (e->kind == EVENT_TOTALS) { /* the exit was reported before, without them */
		t->without_cpu -= t->without_cpu > 0 && readings_has(&e->final, PROC_CPU_TIME) &&
		                  !is_unclear(t, e->id);
		take_totals(t, e);
	} else if (e->kind == EVENT_SPAWN) {
		failure_owner_birth(&t->failures, e->id.pid, e->ppid);
	} else if (e->kind == EVENT_EXEC) {
		failure_owner_exec(&t->failures, e->id, e->comm);
	} else if (e->kind == EVENT_OOM) {
		t->oom_kills++;
	}
}

void accounting_take_life_peak(struct accounting *t, const struct event *e)
{
	if (!accounting_is_older(t, e->id))
		t->life_peak_bytes = MAX(t->life_peak_bytes, e->life_peak_bytes);
}

bool accounting_lacks_peak(const struct accounting *t, uint64_t peak_bytes)
{
	return t->without_peak || t->bound_peak_bytes > peak_bytes ||
	       t->life_peak_bytes > MAX(peak_bytes, t->our_peak_bytes) + MARK_NOISE_BYTES;
}

static void take_seen(struct accounting *t, struct proc_id id, const char *comm,
                      const struct proc_readings *r)
{
	uint64_t rss = readings_or(r, PROC_RSS, 0), mark = readings_or(r, PROC_PEAK_RSS, rss);
	/* The mark may be that of an earlier tick. */
	uint64_t bytes = accounting_mark_counts(t, id, mark) ? MAX(mark, rss) : rss;

	if (own_process_is_small(comm, bytes)) {
		t->our_peak_bytes = MAX(t->our_peak_bytes, bytes);
		return;
	}
	if (bytes <= MAX(t->seen_rss_bytes, t->peak_rss_bytes))
		return;
	t->seen_rss_bytes = bytes;
	t->largest_pid = id.pid;
	snprintf(t->largest_name, sizeof t->largest_name, "%s", comm);
}

void accounting_take_usage(struct accounting *t, struct proc_id id, const char *comm,
                           const struct proc_readings *now)
{
	t->has_samples = true;
	see_cpu(t, id, readings_or(now, PROC_CPU_TIME, 0));
	begin_mark(t, id, now);
	take_seen(t, id, comm, now);
}

/* It was in another job meanwhile. */
static void begin_anew(struct accounting *t, struct proc_id id)
{
	struct map *begun[] = { &t->baseline_cpu, &t->baseline_peak, &t->baseline_read,
		                &t->baseline_written };

	map_del(&t->left, proc_key(id));
	for (size_t i = 0; i < ARRAY_LEN(begun); i++)
		map_del(begun[i], proc_key(id));
}

void accounting_begin_process(struct accounting *t, struct proc_id id, const char *comm,
                              const struct proc_readings *now)
{
	if (t->baseline_cpu.len >= SEEN_MAX)
		return;
	if (has_left(t, id))
		begin_anew(t, id);
	if (!has_begun(t, id)) {
		map_put(&t->baseline_cpu, proc_key(id), readings_or(now, PROC_CPU_TIME, 0));
		map_put(&t->baseline_read, proc_key(id), readings_or(now, PROC_READ_BYTES, 0));
		map_put(&t->baseline_written, proc_key(id), readings_or(now, PROC_WRITE_BYTES, 0));
	}
	begin_mark(t, id, now);
	take_seen(t, id, comm, now);
}

static void take_living(struct accounting *t, struct proc_id id, const char *comm,
                        const struct proc_readings *now)
{
	if (!is_unclear(t, id)) {
		accounting_take_usage(t, id, comm, now);
		return;
	}
	t->lacks_begin = true;
	accounting_begin_process(t, id, comm, now);
}

void accounting_leave(struct accounting *t, struct proc_id id, const char *comm,
                      const struct proc_readings *now)
{
	uint64_t used_ns = 0;

	if (now)
		take_living(t, id, comm, now);
	if (map_get(&t->seen, proc_key(id), &used_ns))
		map_del(&t->seen, proc_key(id));
	t->seen_cpu_ns -= used_ns;
	t->ended_cpu_ns += used_ns;
	if (t->left.len < SEEN_MAX)
		map_put(&t->left, proc_key(id), false);
}

bool accounting_take_back(struct accounting *t, struct proc_id id)
{
	uint64_t is_back;

	if (!map_get(&t->left, proc_key(id), &is_back) || is_back)
		return false;
	map_put(&t->left, proc_key(id), true);
	return true;
}

void accounting_take_process(struct accounting *t, const struct proc_snap *p)
{
	take_living(t, p->s.id, p->s.comm, &p->s.r);
	t->has_older |= accounting_is_older(t, p->s.id);
	t->living_cpu_ns += readings_or(&p->s.r, PROC_CPU_TIME, 0) + p->s.waited_cpu_ns;
	t->has_io |= readings_has(&p->s.r, PROC_READ_BYTES);
	t->living_read_bytes += since(&t->baseline_read, p->s.id,
	                              readings_or(&p->s.r, PROC_READ_BYTES, 0));
	t->living_written_bytes += since(&t->baseline_written, p->s.id,
	                                 readings_or(&p->s.r, PROC_WRITE_BYTES, 0));
}

/* It never falls: what a process had that nobody waits for is no longer listed. */
void accounting_end_tick(struct accounting *t)
{
	uint64_t reaped_ns = t->reaped_user_ns + t->reaped_system_ns;

	t->tree_cpu_ns = MAX(t->tree_cpu_ns, reaped_ns + t->living_cpu_ns);
	t->read_bytes = MAX(t->read_bytes, t->reaped_read_bytes + t->living_read_bytes);
	t->written_bytes = MAX(t->written_bytes, t->reaped_written_bytes + t->living_written_bytes);
	t->living_read_bytes = t->living_written_bytes = t->living_cpu_ns = 0;
}

void accounting_take_used(struct accounting *t, struct figure used, uint64_t boot_ns)
{
	t->has_samples = true;
	t->used_is_bound |= used.quality == QUALITY_AT_LEAST;
	if (!figure_is_known(used) || used.value <= t->peak_used_bytes)
		return;
	t->peak_used_bytes = used.value;
	t->peak_at_ns = boot_ns - MIN(boot_ns, t->started_boot_ns);
}

/* It touches more pages before it runs its program, up to 0.5 MiB. */
bool accounting_is_inherited(const struct accounting *t, uint64_t peak_bytes)
{
	return t->inherited_peak_bytes && peak_bytes <= t->inherited_peak_bytes + MARK_NOISE_BYTES;
}

void accounting_reap(struct accounting *t, const struct launch_end *end)
{
	uint64_t peak_bytes = (uint64_t)end->usage.ru_maxrss * 1024;

	if (!t->reaped_any)
		t->reaped_all_io = true;
	t->reaped_any = true;
	t->reaped_user_ns += clock_timeval_ns(end->usage.ru_utime);
	t->reaped_system_ns += clock_timeval_ns(end->usage.ru_stime);
	if (accounting_is_inherited(t, peak_bytes))
		t->bound_peak_bytes = MAX(t->bound_peak_bytes, peak_bytes);
	else
		t->reaped_peak_bytes = MAX(t->reaped_peak_bytes, peak_bytes);
	t->reaped_all_io &= end->has_io;
	t->reaped_read_bytes += end->read_bytes;
	t->reaped_written_bytes += end->written_bytes;
}

/* wait4 returns the largest peak among all that were reaped below a child, but not whose. If it may
 * be a process of ours, those that were reported one by one count, when there are any. */
uint64_t accounting_reaped_peak(const struct accounting *t)
{
	bool others = t->peak_rss_bytes || t->seen_rss_bytes;

	return others && t->reaped_peak_bytes <= t->our_peak_bytes ? 0 : t->reaped_peak_bytes;
}

static uint64_t figure_of(const struct job *job, enum job_figure id)
{
	const struct figure *f = &job->figures[id];

	return f->quality == QUALITY_MISSING ? 0 : f->value;
}

void accounting_resume(struct accounting *t, const struct job *job, uint64_t ended_cpu_ns)
{
	t->ended_cpu_ns = ended_cpu_ns;
	t->exited = figure_of(job, JOB_FIGURE_EXITED);
	t->failed = figure_of(job, JOB_FIGURE_FAILED);
	t->signalled = figure_of(job, JOB_FIGURE_SIGNALLED);
	t->oom_kills = figure_of(job, JOB_FIGURE_OOM_KILLS);
	t->peak_rss_bytes = figure_of(job, JOB_FIGURE_PEAK_RSS);
	t->largest_pid = job->largest_pid;
	memcpy(t->largest_name, job->largest_name, sizeof t->largest_name);
	t->peak_used_bytes = figure_of(job, JOB_FIGURE_PEAK_USED);
	t->peak_at_ns = figure_of(job, JOB_FIGURE_PEAK_AT);
	t->used_is_bound = job->figures[JOB_FIGURE_PEAK_USED].quality == QUALITY_AT_LEAST;
	t->lost = true; /* it was not watched in between */
}

void accounting_done(struct accounting *t)
{
	failure_owner_done(&t->failures);
	map_done(&t->seen);
	map_done(&t->baseline_cpu);
	map_done(&t->baseline_peak);
	map_done(&t->baseline_read);
	map_done(&t->baseline_written);
	map_done(&t->left);
}
