/* SPDX-License-Identifier: MIT */
/* runfolder_job.c - job_metrics.csv: the samples of the job as a file, one for each tick and one
 * for the time between the last tick and the end. What is not known is empty. */
#include <math.h>

#include "model/record_fields.h"
#include "runfolder/runfolder_handle.h"

/* Those of job_sum_fields, but for the time. New ones come last: programs may read the file by position. */
static const struct {
	const char *key;
	int decimals;
} columns[] = {
	{ "used_mb", 3 },       { "charged_mb", 3 }, { "rss_mb", 3 },        { "cpu_percent", 1 },
	{ "cpu_seconds", 3 },   { "processes", 0 },  { "read_bytes", 0 },    { "written_bytes", 0 },
	{ "gpu_memory_mb", 3 }, { "gpu_sm_pct", 1 }, { "gpu_energy_wh", 6 }, { "gpu_device_mb", 3 },
	{ "gpu_util_pct", 1 },
};

#define SHORT_NS (50 * NS_PER_MS) /* the shortest interval; counters of /proc have steps of 10 ms */

int runfolder_create_job(struct runfolder *f, struct err *err)
{
	struct buf *head = &f->text;
	int r = line_file_create(f->dir_fd, "job_metrics.csv", &f->job_file, err);

	buf_reset(head);
	buf_puts(head, "timestamp,elapsed");
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		buf_printf(head, ",%s", columns[i].key);
	buf_putc(head, '\n');
	return r < 0 ? r : line_file_put(&f->job_file, head->at, head->len, err);
}

static int put_row(struct runfolder *f, uint64_t wall_ns, uint64_t elapsed_ns,
                   const struct job_sum *sum, bool has_processes, struct err *err)
{
	const struct job_sum_record record = { .sum = *sum };
	struct buf *to = &f->text;

	buf_reset(to);
	hardware_file_put_time(to, wall_ns);
	buf_printf(to, ",%.3f", (double)elapsed_ns / 1e9);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		const struct field *field = field_find(&job_sum_fields, columns[i].key);
		double value = field_shown(field, &record);
		bool is_rss = field->at == offsetof(struct job_sum_record, sum.rss_bytes);

		buf_putc(to, ',');
		if (isfinite(value) && (has_processes || !is_rss))
			buf_printf(to, "%.*f", columns[i].decimals, value);
	}
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
