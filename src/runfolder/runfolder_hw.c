/* SPDX-License-Identifier: MIT */
/* runfolder_hw.c - snapshots come as often as the recorder ticks, more often at the start; the lines of
 * the CSV files come at one interval, so that a plain mean over them is right. The sums are fed with
 * the figures as they are written: reading the files gives the same summary. The files of GPUs are
 * made when the first GPU is seen. */
#include "runfolder/runfolder_handle.h"

#define MILLI_PER_TENTH 100

struct cpu_row {
	uint64_t usr_tenths, idle_tenths; /* of a percent */
};

static struct runfolder_cpu read_cpu(const struct snapshot *snap)
{
	const struct host_readings *host = &snap->host;

	return (struct runfolder_cpu){
		.is_known = readings_has(host, HOST_CPU_TOTAL) &&
		            readings_has(host, HOST_CPU_USER) && readings_has(host, HOST_CPU_IDLE),
		.boot_ns = snap->boot_ns,
		.total_ns = host->value[HOST_CPU_TOTAL],
		.user_ns = host->value[HOST_CPU_USER],
		.idle_ns = host->value[HOST_CPU_IDLE],
	};
}

/* False when nothing is known: no time passed, or a counter went back. Idle time may do that by itself
 * on some kernels, so each is compared with the whole. */
static bool make_row(const struct runfolder_cpu *from, const struct runfolder_cpu *to,
                     struct cpu_row *ret)
{
	uint64_t total = to->total_ns - from->total_ns, user = to->user_ns - from->user_ns,
		 idle = to->idle_ns - from->idle_ns;

	if (!from->is_known || !to->is_known || to->total_ns <= from->total_ns || user > total ||
	    idle > total)
		return false;
	ret->usr_tenths = (uint64_t)((double)user * 1000 / (double)total + 0.5);
	ret->idle_tenths = (uint64_t)((double)idle * 1000 / (double)total + 0.5);
	return true;
}

static void add_row(struct resource_summary *sums, const struct cpu_row *row)
{
	resource_summary_add(sums, RESOURCE_CPU_USR_PCT, row->usr_tenths * MILLI_PER_TENTH);
	resource_summary_add(sums, RESOURCE_CPU_IDLE_PCT, row->idle_tenths * MILLI_PER_TENTH);
}

static int write_row(struct runfolder *f, const struct cpu_row *row, struct err *err)
{
	buf_reset(&f->text);
	hardware_file_put_cpu(&f->text, f->last_wall_ns, row->usr_tenths, row->idle_tenths);
	f->rows[HARDWARE_FILE_CPU]++;
	add_row(&f->sums, row);
	return line_file_put(&f->files[HARDWARE_FILE_CPU], f->text.at, f->text.len, err);
}

/* Whether a line that began then ends with this snapshot: the one nearest to the end of the interval. A
 * tick that came a millisecond early does not wait for the next. */
static bool is_due(const struct runfolder *f, const struct snapshot *snap, uint64_t began_boot_ns)
{
	return snap->boot_ns - began_boot_ns + snap->elapsed_ns / 2 >= f->interval_ns;
}

static int put_cpu(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	struct runfolder_cpu began = f->row_began;
	struct cpu_row row;

	f->now = read_cpu(snap);
	if (!began.is_known) {
		f->row_began = f->now;
		return 0;
	}
	if (!is_due(f, snap, began.boot_ns))
		return 0;
	f->row_began = f->now;
	return make_row(&began, &f->now, &row) ? write_row(f, &row, err) : 0;
}

int runfolder_create(struct runfolder *f, enum hardware_file_kind kind, const char *head,
                     struct err *err)
{
	struct line_file *file = &f->files[kind];
	int r;

	if (file->fd >= 0)
		return 0;
	r = line_file_create(f->dir_fd, hardware_file_names[kind], file, err);
	return r < 0 || !*head ? r : line_file_put(file, head, strlen(head), err);
}

static int write_gpu(struct runfolder *f, const struct gpu_sample *gpu, struct err *err)
{
	struct err later;
	int r;

	f->rows[HARDWARE_FILE_METRICS]++;
	hardware_file_add_gpu(&f->sums, gpu, HARDWARE_FILE_UTIL);
	hardware_file_add_gpu(&f->sums, gpu, HARDWARE_FILE_MEM_UTIL);
	hardware_file_add_gpu(&f->sums, gpu, HARDWARE_FILE_POWER);
	buf_reset(&f->text);
	hardware_file_put_gpu(&f->text, f->last_wall_ns, gpu);
	r = line_file_put(&f->files[HARDWARE_FILE_METRICS], f->text.at, f->text.len, err);
	buf_reset(&f->text);
	hardware_file_put_dmon(&f->text, gpu);
	return runfolder_first(
		r, line_file_put(&f->files[HARDWARE_FILE_DMON], f->text.at, f->text.len, &later),
		&later, err);
}

/* A line for each GPU at the start and then at the interval of the CPU lines. Memory is summed up at
 * every snapshot: a peak between two lines counts too. */
static int put_gpus(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	struct err later;
	int r;

	if (!snap->gpus.len)
		return 0;
	vec_each(&snap->gpus, gpu)
		hardware_file_add_gpu(&f->sums, gpu, HARDWARE_FILE_VRAM);
	if (f->gpu_line_boot_ns && !is_due(f, snap, f->gpu_line_boot_ns))
		return 0;
	f->gpu_line_boot_ns = snap->boot_ns;
	r = runfolder_create(f, HARDWARE_FILE_METRICS, "", err);
	if (r == 0)
		r = runfolder_create(f, HARDWARE_FILE_DMON, HARDWARE_FILE_DMON_HEAD, err);
	if (r < 0)
		return r;
	vec_each(&snap->gpus, gpu)
		r = runfolder_first(r, write_gpu(f, gpu, &later), &later, err);
	return r;
}

int runfolder_put_hw(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	int r = put_cpu(f, snap, err);
	struct err later;

	return runfolder_first(r, put_gpus(f, snap, &later), &later, err);
}

/* A remainder behind the last line counts when it is half of one, or all there is. */
static bool find_rest(const struct runfolder *f, struct cpu_row *ret)
{
	uint64_t ns = f->now.boot_ns - f->row_began.boot_ns;

	return (!f->rows[HARDWARE_FILE_CPU] || ns >= f->interval_ns / 2) &&
	       make_row(&f->row_began, &f->now, ret);
}

int runfolder_end_hw(struct runfolder *f, struct err *err)
{
	struct cpu_row row;

	if (!find_rest(f, &row))
		return 0;
	f->row_began = f->now;
	return write_row(f, &row, err);
}

struct resource_summary runfolder_sums(const struct runfolder *f)
{
	struct resource_summary sums = f->sums;
	struct cpu_row row;

	if (find_rest(f, &row))
		add_row(&sums, &row);
	return sums;
}
