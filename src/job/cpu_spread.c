/* SPDX-License-Identifier: MIT */
#include "job/cpu_spread.h"

#include <unistd.h>

#define JITTER_NS 100000000 /* between the counters and the clock */
#define SHORT_NS 20000000   /* counters of /proc have steps of half as much */

void cpu_spread_count_tasks(struct watched_job *w)
{
	struct job *job = &w->row->job;
	bool is_known = !w->exceeds_tasks && !w->is_resumed;

	job->most_tasks = is_known ? MAX(job->most_tasks, MAX(w->tasks, w->row->processes)) : 0;
	w->tasks = 0;
}

/* On all its CPUs, also under a quota, which holds for a whole period. A job that uses more has been allowed
 * more CPUs since it started. */
static uint64_t most_cpu_allowed(struct watched_job *w, uint64_t growth, uint64_t elapsed_ns)
{
	uint64_t most = w->row->job.allowed.cpus * elapsed_ns;

	w->exceeds_allowance |= growth > most + JITTER_NS;
	return most && !w->exceeds_allowance ? most
	                                     : elapsed_ns * (uint64_t)sysconf(_SC_NPROCESSORS_ONLN);
}

/* How much CPU time is possible in so much time: no task runs on two CPUs. */
static uint64_t most_cpu(struct watched_job *w, uint64_t growth, uint64_t elapsed_ns)
{
	uint64_t allowed = most_cpu_allowed(w, growth, elapsed_ns);
	uint64_t most = w->row->job.most_tasks * elapsed_ns;

	w->exceeds_tasks |= most && growth > most + JITTER_NS;
	return most && !w->exceeds_tasks ? MIN(most, allowed) : allowed;
}

/* A tick that follows one that was late shows a step of the counters as a peak: it has no more than that one. */
static uint64_t most_cpu_if_short(const struct watched_job *w, uint64_t elapsed_ns)
{
	if (elapsed_ns >= SHORT_NS || elapsed_ns > w->spread_elapsed_ns / 2)
		return UINT64_MAX;
	return (uint64_t)((double)w->spread_growth_ns * (double)elapsed_ns /
	                  (double)w->spread_elapsed_ns);
}

void cpu_spread_take(struct watched_job *w, uint64_t boot_ns, struct job_sum *sum)
{
	uint64_t since_ns = w->spread_boot_ns ? w->spread_boot_ns : w->accounting.started_boot_ns;
	uint64_t elapsed_ns = boot_ns - MIN(boot_ns, since_ns), growth, most;

	sum->cpu_ns = w->usage.cpu;
	if (!figure_is_known(sum->cpu_ns) || !elapsed_ns)
		return;
	if (w->is_resumed && !w->spread_boot_ns) {
		w->spread_cpu_ns = sum->cpu_ns.value;
		w->spread_boot_ns = boot_ns;
		return;
	}
	growth = sum->cpu_ns.value - MIN(sum->cpu_ns.value, w->spread_cpu_ns);
	most = MIN(most_cpu(w, growth, elapsed_ns), most_cpu_if_short(w, elapsed_ns));
	growth = MIN(growth, most);
	w->spread_cpu_ns += growth;
	w->spread_boot_ns = boot_ns;
	w->spread_growth_ns = growth;
	w->spread_elapsed_ns = elapsed_ns;
	sum->cpu_ns.value = w->spread_cpu_ns;
	sum->cpu_ratio = (double)growth / (double)elapsed_ns;
}
