/* SPDX-License-Identifier: MIT */
/* runfolder_gpu.c - a line for each GPU at the start and then at the interval of the CPU lines. The
 * files are made when the first GPU is seen. Memory is looked at in every snapshot: a peak between
 * two lines counts too. */
#include "runfolder/runfolder_handle.h"

static int create(struct runfolder *f, enum hardware_file_kind kind, const char *head,
                  struct err *err)
{
	struct line_file *file = &f->files[kind];
	int r;

	if (file->fd >= 0)
		return 0;
	r = line_file_create(f->dir_fd, hwfile_names[kind], file, err);
	return r < 0 || !*head ? r : line_file_put(file, head, strlen(head), err);
}

static void add_peak(struct runfolder *f, const struct gpu_sample *gpu)
{
	uint64_t milli;

	if (hardware_file_gpu_milli(gpu, HARDWARE_FILE_VRAM, &milli))
		resource_summary_add(&f->sums, RESOURCE_VRAM_MB, milli);
}

static void add_line(struct runfolder *f, const struct gpu_sample *gpu)
{
	static const struct {
		enum hardware_file_role role;
		enum resource_series series;
	} fed[] = {
		{ HARDWARE_FILE_UTIL, RESOURCE_GPU_UTIL_PCT },
		{ HARDWARE_FILE_MEM_UTIL, RESOURCE_MEM_UTIL_PCT },
		{ HARDWARE_FILE_POWER, RESOURCE_POWER_WATTS },
	};
	uint64_t milli;

	for (size_t i = 0; i < ARRAY_LEN(fed); i++)
		if (hardware_file_gpu_milli(gpu, fed[i].role, &milli))
			resource_summary_add(&f->sums, fed[i].series, milli);
}

static int write_lines(struct runfolder *f, const struct gpu_sample *gpu, struct err *err)
{
	struct err later;
	int r;

	f->rows[HARDWARE_FILE_METRICS]++;
	add_line(f, gpu);
	buf_reset(&f->text);
	hardware_file_put_gpu(&f->text, f->last_wall_ns, gpu);
	r = line_file_put(&f->files[HARDWARE_FILE_METRICS], f->text.at, f->text.len, err);
	buf_reset(&f->text);
	hardware_file_put_dmon(&f->text, gpu);
	return runfolder_first(
		r, line_file_put(&f->files[HARDWARE_FILE_DMON], f->text.at, f->text.len, &later),
		&later, err);
}

int runfolder_put_gpus(struct runfolder *f, const struct snapshot *snap, struct err *err)
{
	struct err later;
	int r;

	if (!snap->gpus.len)
		return 0;
	vec_each(&snap->gpus, gpu)
		add_peak(f, gpu);
	if (f->gpu_line_boot_ns && !runfolder_is_due(f, snap, f->gpu_line_boot_ns))
		return 0;
	f->gpu_line_boot_ns = snap->boot_ns;
	r = create(f, HARDWARE_FILE_METRICS, "", err);
	if (r == 0)
		r = create(f, HARDWARE_FILE_DMON, HARDWARE_FILE_DMON_HEAD, err);
	if (r < 0)
		return r;
	vec_each(&snap->gpus, gpu)
		r = runfolder_first(r, write_lines(f, gpu, &later), &later, err);
	return r;
}
