/* SPDX-License-Identifier: MIT */
/* hwfile.h - the lines of a run folder's hardware files: those we write, and those that nvidia-smi,
 * mpstat or others wrote. Lines and values that say nothing are skipped and counted. Pure: text in,
 * text or sums out. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"
#include "model/gpu.h"
#include "model/resource_summary.h"

enum hwfile_kind {
	HWFILE_METRICS, /* nvidia-smi --query-gpu=… --format=csv */
	HWFILE_DMON,    /* nvidia-smi dmon */
	HWFILE_CPU,     /* timestamp,usr_pct,idle_pct; or mpstat's columns */
	HWFILE_COUNT,
};
extern const char *const hwfile_names[HWFILE_COUNT]; /* "hw_metrics.csv", … */

#define HWFILE_LINE_MAX ((size_t)64 << 10) /* longer ones are skipped */
#define HWFILE_FIELDS_MAX 64               /* fields behind these are not looked at */

/* What became of the lines: each is counted in one of these. Empty lines are not counted. */
struct hwfile_counts {
	uint64_t used;     /* gave a value or more */
	uint64_t heads;    /* name the columns */
	uint64_t comments; /* begin with '#' */
	uint64_t too_short, too_long;
	uint64_t unusable; /* long enough, but no value can be read; or not of the whole machine */

	uint64_t values_skipped; /* in all lines: '-', [N/A], out of range, not a number */
};

/* Which field holds what; -1: none does. */
enum hwfile_role {
	HWFILE_GPU, /* its index */
	HWFILE_UTIL,
	HWFILE_MEM_UTIL,
	HWFILE_VRAM,
	HWFILE_POWER,
	HWFILE_CPU_NAME, /* mpstat: "all", or a number */
	HWFILE_USR,
	HWFILE_NICE,
	HWFILE_IDLE,
	HWFILE_ROLE_COUNT,
};

struct hwfile {
	enum hwfile_kind kind;
	int column[HWFILE_ROLE_COUNT];
	size_t fields_needed;
	struct hwfile_counts counts;
	struct resource_summary sums;
	uint64_t gpus_seen; /* bits 1 << index, where the file tells it */
};

/* Ready for lines without a head: the columns are those we write. */
void hwfile_init(struct hwfile *f, enum hwfile_kind kind);
/* One line, without its newline. */
void hwfile_take_line(struct hwfile *f, struct scan line);
void hwfile_skip_long_line(struct hwfile *f);
uint64_t hwfile_lines(const struct hwfile_counts *counts); /* all of them */

/* "2026/11/15 14:03:07.412" in local time, as nvidia-smi prints it. */
void hwfile_put_time(struct buf *to, uint64_t wall_ns);
/* A line of cpu_metrics.csv, with one decimal. */
void hwfile_put_cpu(struct buf *to, uint64_t wall_ns, uint64_t usr_tenths, uint64_t idle_tenths);
#define HWFILE_CPU_HEAD "timestamp,usr_pct,idle_pct\n"

/* A line of hw_metrics.csv, "[N/A]" for what is not known, and one of hw_dmon.csv, "-" for it. */
void hwfile_put_gpu(struct buf *to, uint64_t wall_ns, const struct gpu_sample *gpu);
void hwfile_put_dmon(struct buf *to, const struct gpu_sample *gpu);
#define HWFILE_DMON_HEAD                                                                           \
	"# gpu     sm    mem     fb\n"                                                             \
	"# Idx      %      %     MB\n"
/* A value as these lines show it, in thousandths; false: not known. */
bool hwfile_gpu_milli(const struct gpu_sample *gpu, enum hwfile_role role, uint64_t *ret_milli);
