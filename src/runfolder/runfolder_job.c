/* SPDX-License-Identifier: MIT */
/* runfolder_job.c - job_metrics.csv: the rows of the view job_samples as a file, one for each tick and one
 * for the time between the last tick and the end. What is not known is empty. */
#include <math.h>

#include "runfolder/runfolder_handle.h"

#define HEAD                                                                                       \
	"timestamp,elapsed,used_mb,charged_mb,rss_mb,cpu_percent,cpu_seconds,processes,"   \
	"read_bytes,written_bytes,gpu_memory_mb,gpu_sm_pct,gpu_energy_wh\n"

#define SHORT_NS (50 * NS_PER_MS) /* the shortest interval; counters of /proc have steps of 10 ms */

int runfolder_create_job(struct runfolder *f, struct err *err)
{
	int r = line_file_create(f->dir_fd, "job_metrics.csv", &f->job_file, err);

	return r < 0 ? r : line_file_put(&f->job_file, HEAD, strlen(HEAD), err);
}

static void put_fixed(struct buf *to, bool is_known, double value, int decimals)
{
	buf_putc(to, ',');
	if (is_known)
		buf_printf(to, "%.*f", decimals, value);
}

static void put_mib(struct buf *to, struct figure f)
{
	put_fixed(to, figure_is_known(f), (double)f.value / (1 << 20), 3);
}

static void put_whole(struct buf *to, struct figure f)
{
	put_fixed(to, figure_is_known(f), (double)f.value, 0);
}

static int put_row(struct runfolder *f, uint64_t wall_ns, uint64_t elapsed_ns,
                   const struct job_sum *sum, bool has_processes, struct err *err)
{
	const struct figure rss = { sum->rss_bytes,
		                    has_processes ? QUALITY_SAMPLED : QUALITY_MISSING };
	struct buf *to = &f->text;

	buf_reset(to);
	hardware_file_put_time(to, wall_ns);
	put_fixed(to, true, (double)elapsed_ns / 1e9, 3);
	put_mib(to, sum->used);
	put_mib(to, sum->charged);
	put_mib(to, rss);
	put_fixed(to, !isnan(sum->cpu_ratio), sum->cpu_ratio * 100, 1);
	put_fixed(to, figure_is_known(sum->cpu_ns), (double)sum->cpu_ns.value / 1e9, 3);
	put_fixed(to, true, sum->procs, 0);
	put_whole(to, sum->read);
	put_whole(to, sum->written);
	put_mib(to, sum->gpu_memory);
	put_fixed(to, figure_is_known(sum->gpu_sm), (double)sum->gpu_sm.value / 10, 1);
	put_fixed(to, figure_is_known(sum->gpu_energy), (double)sum->gpu_energy.value / MJ_PER_WH,
	          6);
	buf_putc(to, '\n');
	f->job_rows++;
	f->row_elapsed_ns = elapsed_ns;
	f->row_sum = *sum;
	return line_file_put(&f->job_file, to->at, to->len, err);
}

/* By the clock that does not jump, once the start is known by it. */
static uint64_t elapsed_ns(struct runfolder *f, const struct snapshot *snap)
{
	uint64_t since_ns = snap->wall_ns - MIN(f->job.started_ns, snap->wall_ns);

	if (!f->began_boot_ns)
		f->began_boot_ns = snap->boot_ns - MIN(since_ns, snap->boot_ns - 1);
	return snap->boot_ns - MIN(f->began_boot_ns, snap->boot_ns);
}

int runfolder_put_job(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	for (size_t i = 0; i < MIN(snap->jobs.len, snap->sums.len); i++)
		if (runfolder_is_of(f, &snap->jobs.at[i]) &&
		    snap->jobs.at[i].status == JOB_RUNNING)
			return put_row(f, snap->wall_ns, elapsed_ns(f, snap), &snap->sums.at[i],
			               true, err);
	return 0;
}

static struct figure larger(struct figure a, struct figure b)
{
	if (!figure_is_known(a) || !figure_is_known(b))
		return figure_is_known(a) ? a : b;
	return a.value > b.value ? a : b;
}

/* Counters may lag, so more may be left than is possible since the last row, which is not changed any more: no task runs
 * on two CPUs, and a few milliseconds are no peak. */
static double possible_ratio(const struct runfolder *f, double ratio, uint64_t row_ns)
{
	double before = f->job_rows ? f->row_sum.cpu_ratio : (double)NAN, most = INFINITY;

	if (f->job.allowed.cpus)
		most = (double)f->job.allowed.cpus;
	if (f->job.most_tasks)
		most = fmin(most, (double)f->job.most_tasks);
	if (isnan(before))
		return fmin(ratio, most);
	return fmin(ratio, row_ns < SHORT_NS ? before : fmax(most, before));
}

/* The usage since the last tick, from the totals. */
int runfolder_end_job(struct runfolder *f, struct err *err)
{
	const struct figure *figures = f->job.figures;
	struct job_sum sum = { .cpu_ns = figures[JOB_FIGURE_CPU],
		               .cpu_ratio = NAN,
		               .read = larger(figures[JOB_FIGURE_READ], f->row_sum.read),
		               .written = larger(figures[JOB_FIGURE_WRITTEN], f->row_sum.written),
		               .gpu_energy = larger(figures[JOB_FIGURE_GPU_ENERGY],
		                                    f->row_sum.gpu_energy) };
	uint64_t before_ns = f->row_sum.cpu_ns.value, took_ns = f->job.took_ns, row_ns;

	if (!f->has_job || f->job.status == JOB_RUNNING || took_ns <= f->row_elapsed_ns)
		return 0;
	row_ns = took_ns - f->row_elapsed_ns;
	if (figure_is_known(sum.cpu_ns) && (!f->job_rows || figure_is_known(f->row_sum.cpu_ns)))
		sum.cpu_ratio = possible_ratio(
			f,
			(double)(sum.cpu_ns.value - MIN(before_ns, sum.cpu_ns.value)) /
				(double)row_ns,
			row_ns);
	return put_row(f, f->job.ended_ns, took_ns, &sum, false, err);
}
