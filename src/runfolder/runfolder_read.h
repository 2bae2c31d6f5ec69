/* SPDX-License-Identifier: MIT */
/* runfolder_read.h - the resource summary from the files of a run folder, whichever program wrote them.
 * Memory does not grow with the files. */
#pragma once

#include "base/err.h"
#include "runfolder/hardware_file.h"

struct runfolder_file {
	bool is_there;
	char problem[160]; /* why it could not be read to its end; "": it was */
	struct hardware_file_counts counts;
};

struct runfolder_reading {
	struct resource_summary summary;
	struct runfolder_file files[HARDWARE_FILE_COUNT];
	unsigned gpus; /* that the files number; 0: they do not */
};

/* Where two files have a figure, the better source counts: the use of GPU memory from hw_dmon.csv, the
 * rest from hw_metrics.csv. jax_peak_bytes_mb comes from run.jsonl.
 *   -ENOENT, -ENOTDIR  there is no such directory
 *   -ENODATA           it has none of the files; the message names them */
int runfolder_read(const char *path, struct runfolder_reading *ret, struct err *err) must_check;

/* The members of an open object: the keys of the summary, then "gpus" and "files" with the counts. */
void runfolder_reading_put(struct json *j, const struct runfolder_reading *reading);
