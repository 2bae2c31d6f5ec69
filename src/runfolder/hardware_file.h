/* SPDX-License-Identifier: MIT */
/* hardware_file.h - the lines of a run folder's hardware files: those we write, and those that nvidia-smi,
 * mpstat or others wrote. Lines and values that cannot be used are skipped and counted. Pure: text
 * in, text or sums out. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"
#include "model/gpu.h"
#include "model/resource_summary.h"

enum hardware_file_kind {
	HARDWARE_FILE_METRICS, /* nvidia-smi --query-gpu=… --format=csv */
	HARDWARE_FILE_DMON,    /* nvidia-smi dmon */
	HARDWARE_FILE_CPU,     /* timestamp,usr_pct,idle_pct; or mpstat's columns */
	HARDWARE_FILE_COUNT,
};
extern const char *const hardware_file_names[HARDWARE_FILE_COUNT]; /* "hw_metrics.csv", … */

#define HARDWARE_FILE_LINE_MAX ((size_t)64 << 10) /* longer ones are skipped */
#define HARDWARE_FILE_FIELDS_MAX 64               /* later fields are ignored */

/* Counts of lines: each line is counted in one of these. Empty lines are not counted. */
struct hardware_file_counts {
	uint64_t used;     /* gave a value or more */
	uint64_t heads;    /* name the columns */
	uint64_t comments; /* begin with '#' */
	uint64_t too_short, too_long;
	uint64_t unusable; /* long enough, but no value can be read; or not of the whole machine */

	uint64_t values_skipped; /* in all lines: '-', [N/A], out of range, not a number */
};

/* Which field holds what; -1: none does. */
enum hardware_file_role {
	HARDWARE_FILE_GPU, /* its index */
	HARDWARE_FILE_UTIL,
	HARDWARE_FILE_MEM_UTIL,
	HARDWARE_FILE_VRAM,
	HARDWARE_FILE_POWER,
	HARDWARE_FILE_CPU_NAME, /* mpstat: "all", or a number */
	HARDWARE_FILE_USR,
	HARDWARE_FILE_NICE,
	HARDWARE_FILE_IDLE,
	HARDWARE_FILE_ROLE_COUNT,
};

struct hardware_file {
	enum hardware_file_kind kind;
	int column[HARDWARE_FILE_ROLE_COUNT];
	size_t fields_needed;
	struct hardware_file_counts counts;
	struct resource_summary sums;
	uint64_t gpus_seen; /* bits 1 << index, where the file has it */
};

/* Ready for lines without a head: the columns are those we write. */
void hardware_file_init(struct hardware_file *f, enum hardware_file_kind kind);
/* One line, without its newline. */
void hardware_file_read_line(struct hardware_file *f, struct scan line);
uint64_t hardware_file_lines(const struct hardware_file_counts *counts); /* all of them */

/* Local, as nvidia-smi prints it: "2026/11/15 14:03:07.412". */
void hardware_file_put_time(struct buf *to, uint64_t wall_ns);
/* A line of cpu_metrics.csv. */
void hardware_file_put_cpu(struct buf *to, uint64_t wall_ns, uint64_t usr_tenths,
                           uint64_t idle_tenths);
#define HARDWARE_FILE_CPU_HEAD "timestamp,usr_pct,idle_pct\n"

/* A line of hw_metrics.csv, "[N/A]" for what is not known, and one of hw_dmon.csv, "-" for it. */
void hardware_file_put_gpu(struct buf *to, uint64_t wall_ns, const struct gpu_sample *gpu);
void hardware_file_put_dmon(struct buf *to, const struct gpu_sample *gpu);
#define HARDWARE_FILE_DMON_HEAD                                                                    \
	"# gpu     sm    mem     fb\n"                                                             \
	"# Idx      %      %     MB\n"
/* Adds a value of the GPU to its series, as these lines show it; nothing when it is not known. */
void hardware_file_add_gpu(struct resource_summary *sums, const struct gpu_sample *gpu,
                           enum hardware_file_role role);
