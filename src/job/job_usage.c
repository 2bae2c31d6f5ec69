/* SPDX-License-Identifier: MIT */
#include "job/job_usage.h"

#include <string.h>

static struct figure figure(uint64_t value, enum quality quality)
{
	return (struct figure){ .value = value, .quality = quality };
}

/* No process is missing: each end was reported, and none lives on. */
static bool all_ended(const struct accounting *t, const struct job_usage_sources *from)
{
	return from->births_are_reported && !t->lost && from->living == 0 &&
	       t->exited == from->processes;
}

static struct figure of_group(const struct cgroup_readings *group, enum cgroup_metric id,
                              enum quality quality)
{
	return group && readings_has(group, id) ? figure(group->value[id], quality)
	                                        : (struct figure){ 0 };
}

/* ---- by now ---------------------------------------------------------------------------------- */

/* The kernel knows the sum to the ns, and divides it by where its clock ticks found the tasks. */
static void take_group_cpu(struct job_usage *u, const struct cgroup_readings *group)
{
	u->cpu = of_group(group, CGROUP_CPU, QUALITY_EXACT);
	u->cpu_user = of_group(group, CGROUP_CPU_USER, QUALITY_SAMPLED);
	u->cpu_system = of_group(group, CGROUP_CPU_SYSTEM, QUALITY_SAMPLED);
}

static void take_process_cpu(struct job_usage *u, const struct accounting *t,
                             const struct job_usage_sources *from)
{
	uint64_t reaped_ns = t->reaped_user_ns + t->reaped_system_ns;
	uint64_t listed_ns = t->ended_cpu_ns + t->seen_cpu_ns;
	bool is_exact = all_ended(t, from) && t->without_cpu == 0 && !t->lacks_begin;

	/* A child that ends while its parent is read may be in both: the end counts without. Until then it
	 * does not fall, though the last process may have ended a moment before the job. */
	if (!is_exact && (from->living || !from->has_ended) && !t->baseline_cpu.len)
		listed_ns = MAX(listed_ns, t->tree_cpu_ns);
	u->cpu = figure(MAX(reaped_ns, listed_ns), is_exact ? QUALITY_EXACT : QUALITY_AT_LEAST);
	if (!t->reaped_any)
		return;
	u->cpu_user = figure(t->reaped_user_ns, QUALITY_AT_LEAST);
	u->cpu_system = figure(t->reaped_system_ns, QUALITY_AT_LEAST);
}

static void take_cpu(struct job_usage *u, const struct accounting *t,
                     const struct job_usage_sources *from)
{
	u->cpu = u->cpu_user = u->cpu_system = (struct figure){ 0 };
	if (from->group && readings_has(from->group, CGROUP_CPU))
		take_group_cpu(u, from->group);
	else if (t->reaped_any || t->exited || t->has_samples)
		take_process_cpu(u, t, from);
}

/* One that ignores SIGCHLD hides what its children read. */
static enum quality reaped_io_quality(const struct accounting *t,
                                      const struct job_usage_sources *from)
{
	bool is_complete = from->births_are_reported && !t->lost && from->living == 0 &&
	                   from->processes == 1;

	return is_complete ? QUALITY_EXACT : QUALITY_AT_LEAST;
}

/* The usage of reaped children, once the job is over. Until then, and where others reap them, what
 * they were seen with, too. No group counts it. */
static void take_io(struct job_usage *u, const struct accounting *t,
                    const struct job_usage_sources *from)
{
	bool is_seen = t->has_io && !t->has_older, is_reaped = t->reaped_any && t->reaped_all_io;

	u->read = u->written = (struct figure){ 0 };
	if (is_reaped && (from->is_over || !is_seen)) {
		enum quality quality = reaped_io_quality(t, from);

		u->read = figure(t->reaped_read_bytes, quality);
		u->written = figure(t->reaped_written_bytes, quality);
	} else if (is_seen) {
		u->read = figure(MAX(t->read_bytes, t->reaped_read_bytes), QUALITY_AT_LEAST);
		u->written = figure(MAX(t->written_bytes, t->reaped_written_bytes),
		                    QUALITY_AT_LEAST);
	}
}

void job_usage_update(struct job_usage *u, const struct accounting *t,
                      const struct job_usage_sources *from)
{
	take_cpu(u, t, from);
	take_io(u, t, from);
}

bool job_usage_counts_memory(const struct cgroup_readings *group)
{
	return group && readings_has(group, CGROUP_MEM_USED);
}

void job_usage_take_memory(struct job_usage *u, const struct cgroup_readings *group,
                           struct figure used)
{
	u->used = used;
	u->charged = of_group(group, CGROUP_MEM, QUALITY_SAMPLED);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void set_largest_process(const struct accounting *t, const struct job_usage_sources *from,
                                struct job *ret)
{
	/* A sampled value is real: the kernel's own mark may lack a few pages that each CPU counts
	 * for itself, and knows nothing of those that live or were lost. */
	uint64_t peak = MAX(t->peak_rss_bytes, t->seen_rss_bytes);
	bool is_exact = all_ended(t, from) && !accounting_lacks_peak(t, peak);

	if (!is_exact) /* wait4's has what we had ourselves when we made the command's process */
		peak = MAX(peak, accounting_reaped_peak(t));
	if (!peak && t->bound_peak_bytes)
		ret->figures[JOB_FIGURE_PEAK_RSS] = figure(t->bound_peak_bytes, QUALITY_AT_MOST);
	if (peak)
		ret->figures[JOB_FIGURE_PEAK_RSS] = figure(peak, is_exact ? QUALITY_EXACT
		                                                          : QUALITY_AT_LEAST);
	/* wait4 does not name it: what was sampled with almost as much is the one. */
	if (MAX(t->peak_rss_bytes, t->seen_rss_bytes) >= peak - peak / 10) {
		ret->largest_pid = t->largest_pid;
		memcpy(ret->largest_name, t->largest_name, sizeof ret->largest_name);
	}
}

static void set_used(const struct job_usage *u, const struct accounting *t, struct job *ret)
{
	struct figure charged = ret->figures[JOB_FIGURE_PEAK_CHARGED];
	uint64_t most = figure_is_known(charged) ? charged.value : UINT64_MAX;

	if (t->peak_used_bytes) {
		ret->figures[JOB_FIGURE_PEAK_USED] = figure(MIN(t->peak_used_bytes, most),
		                                            t->used_is_bound ? QUALITY_AT_LEAST
		                                                             : QUALITY_SAMPLED);
		ret->figures[JOB_FIGURE_PEAK_AT] = figure(t->peak_at_ns, QUALITY_SAMPLED);
	} else if (figure_is_known(charged)) { /* it was too short to be sampled */
		ret->figures[JOB_FIGURE_PEAK_USED] = figure(charged.value, QUALITY_AT_MOST);
	}
	if (ret->status == JOB_RUNNING)
		ret->figures[JOB_FIGURE_USED] = u->used;
}

static void set_counts(const struct accounting *t, const struct job_usage_sources *from,
                       struct job *ret)
{
	enum quality quality = from->births_are_reported && !t->lost ? QUALITY_EXACT
	                                                             : QUALITY_AT_LEAST;
	bool lacks_ends = from->has_ended && t->exited + from->living < from->processes;
	uint64_t unended = from->processes - MIN(from->processes, t->exited);
	enum quality of_ends = lacks_ends ? QUALITY_AT_LEAST : quality;

	ret->figures[JOB_FIGURE_PROCESSES] = figure(from->processes, quality);
	ret->figures[JOB_FIGURE_EXITED] = figure(t->exited, of_ends);
	ret->figures[JOB_FIGURE_FAILED] = figure(t->failed, of_ends);
	ret->figures[JOB_FIGURE_SIGNALLED] = figure(t->signalled, of_ends);
	if (from->has_ended)
		ret->figures[JOB_FIGURE_OUTLIVED] = figure(from->outlived, quality);
	if (from->is_over) /* one may have ended since they were counted */
		ret->figures[JOB_FIGURE_LEAKED] = figure(MIN(from->leaked, unended), quality);
	if (from->group && readings_has(from->group, CGROUP_OOM_KILLS)) /* v1: not of those below */
		ret->figures[JOB_FIGURE_OOM_KILLS] = figure(
			MAX(from->group->value[CGROUP_OOM_KILLS], t->oom_kills), QUALITY_EXACT);
	else if (t->oom_kills || from->ooms_are_reported)
		ret->figures[JOB_FIGURE_OOM_KILLS] = figure(t->oom_kills, quality);
}

/* An earlier bound may no longer hold. */
static void forget_figures(struct job *job)
{
	for (enum job_figure i = 0; i < JOB_FIGURE_COUNT; i++)
		if (i != JOB_FIGURE_SELF_CPU && i != JOB_FIGURE_SELF_RSS &&
		    i != JOB_FIGURE_COMMAND_TOOK)
			job->figures[i] = figure(0, QUALITY_MISSING);
	job->largest_pid = 0;
	job->largest_name[0] = '\0';
}

void job_usage_figures(const struct job_usage *u, const struct accounting *t,
                       const struct job_usage_sources *from, struct job *ret)
{
	struct figure *figures = ret->figures;

	forget_figures(ret);
	figures[JOB_FIGURE_CPU] = u->cpu;
	figures[JOB_FIGURE_CPU_USER] = u->cpu_user;
	figures[JOB_FIGURE_CPU_SYSTEM] = u->cpu_system;
	figures[JOB_FIGURE_CPU_THROTTLED] = of_group(from->group, CGROUP_CPU_THROTTLED,
	                                             QUALITY_EXACT);
	figures[JOB_FIGURE_PEAK_CHARGED] = of_group(from->group, CGROUP_MEM_PEAK, QUALITY_EXACT);
	figures[JOB_FIGURE_READ] = u->read;
	figures[JOB_FIGURE_WRITTEN] = u->written;
	set_largest_process(t, from, ret);
	set_used(u, t, ret);
	set_counts(t, from, ret);
}
