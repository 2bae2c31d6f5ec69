/* SPDX-License-Identifier: MIT */
/* runfolder_handle.h - what the files of runfolder/ share. For them only. */
#pragma once

#include <string.h>

#include "base/vec.h"
#include "runfolder/runfolder.h"
#include "runfolder/hardware_file.h"
#include "runfolder/run_log.h"

/* The machine's CPU time at one instant. */
struct runfolder_cpu {
	bool is_known;
	uint64_t boot_ns, total_ns, user_ns, idle_ns;
};

/* The state of a sheet in the run log. */
struct runfolder_sheet {
	uint32_t num;
	uint64_t started_ns, ended_ns;
};

/* Something for the run log: one of the three. */
struct runfolder_news {
	uint64_t wall_ns;
	size_t order; /* among those of one time */
	const struct event *event;
	const struct sheet *sheet;
	const struct anomaly *anomaly;
	bool is_end; /* of the sheet */
};

struct runfolder {
	char *path;
	char *moved_to; /* NULL: nothing was there */
	int dir_fd;     /* locked while we write */
	uint64_t interval_ns;

	struct run_log log;
	struct line_file files[HARDWARE_FILE_COUNT];
	struct buf text; /* a line on its way */

	struct resource_summary sums;
	uint64_t rows[HARDWARE_FILE_COUNT];
	struct runfolder_cpu row_began, now; /* the CPU line that is being gathered */
	uint64_t last_wall_ns;
	uint64_t gpu_line_boot_ns; /* of the last lines; 0: none yet */

	struct line_file job_file;
	uint64_t job_rows, began_boot_ns;
	uint64_t row_elapsed_ns; /* of the last row, … */
	struct job_sum row_sum;  /* … and what it has */

	struct job job; /* as last seen; its key is set from the start */
	bool has_job, is_start_logged;
	VEC(struct runfolder_sheet) sheets;
	VEC(struct runfolder_news) news; /* of one snapshot */
	uint64_t latest_line_ns;         /* the latest time in the run log */
};

static inline bool runfolder_is_of(const struct runfolder *f, const struct job *job)
{
	return job_key_eq(job_key_of(job), job_key_of(&f->job));
}

/* All is tried, and of several failures the first is returned: `r` is the result of the last step, with
 * its message in `later`; `before` that of the steps before it, with theirs in `err`. */
static inline int runfolder_first(int before, int r, const struct err *later, struct err *err)
{
	if (before < 0 || r == 0)
		return before;
	*err = *later;
	return r;
}

/* runfolder_hw.c: the lines of the CSV files. */
int runfolder_put_hw(struct runfolder *f, const struct snapshot *snap, struct err *err) must_check;
/* Writes the CPU line that is being gathered, if it is worth one. */
int runfolder_end_hw(struct runfolder *f, struct err *err) must_check;
/* The sums, with the line that is being gathered in them. */
struct resource_summary runfolder_sums(const struct runfolder *f);

/* runfolder_job.c: the lines of job_metrics.csv. */
int runfolder_create_job(struct runfolder *f, struct err *err) must_check;
int runfolder_put_job(struct runfolder *f, const struct snapshot *snap, struct err *err) must_check;
int runfolder_end_job(struct runfolder *f, struct err *err) must_check;

/* Makes the file, with its head, unless it is there. */
int runfolder_create(struct runfolder *f, enum hardware_file_kind kind, const char *head,
                     struct err *err) must_check;

/* runfolder_log.c: what goes to the run log. */
int runfolder_put_log(struct runfolder *f, const struct snapshot *snap, struct err *err) must_check;
int runfolder_log_end(struct runfolder *f, struct err *err) must_check;

/* runfolder_summary.c */
int runfolder_write_summary(struct runfolder *f, bool is_durable, struct err *err) must_check;
