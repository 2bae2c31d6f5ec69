/* SPDX-License-Identifier: MIT */
/* past_run_file.h - runs from the rows of a file that has a header: our own CSV, `sacct --parsable2` output, or a Nextflow
 * trace. The header decides which. docs/learning.md lists the columns. */
#pragma once

#include "base/csv.h"
#include "model/past_run.h"

enum run_file_kind { RUN_FILE_CSV, RUN_FILE_SACCT, RUN_FILE_NEXTFLOW, RUN_FILE_KINDS };

enum run_column {
	RUN_COLUMN_TYPE,
	RUN_COLUMN_STARTED,
	RUN_COLUMN_TOOK,
	RUN_COLUMN_PEAK_USED,
	RUN_COLUMN_PEAK_RSS,
	RUN_COLUMN_ID,
	RUN_COLUMN_SHEET,
	RUN_COLUMN_CPU,
	RUN_COLUMN_INPUT,
	RUN_COLUMN_REQUESTED,
	RUN_COLUMN_OUTCOME,
	RUN_COLUMN_EXIT_CODE,
	RUN_COLUMN_TAGS,
	RUN_COLUMN_CPUS,
	RUN_COLUMNS
};

struct run_file_columns {
	enum run_file_kind kind;
	size_t at[RUN_COLUMNS]; /* SIZE_MAX: not there */
	size_t n;               /* of the header */
};

/* -EBADMSG: a column that is needed is missing, and err names it. */
int past_run_file_parse_header(const struct csv_row *header, struct run_file_columns *ret,
                               struct err *err) must_check;

/* sacct writes a row for the job, which has its name, and then one for each of its steps, which have the peaks: a run is
 * complete when the next job begins. Initialised with zeros and the columns. */
struct run_file_reader {
	struct run_file_columns columns;
	struct past_run pending;
	bool has_pending;
	char pending_why[64]; /* why it is no run; "": it is one, if it has a peak */
	uint64_t pending_line;
};

/* Reads a row, or the end of the file (NULL), and returns the run that it completes. 1: a run; 0:
 * nothing yet; -EBADMSG: the row of *ret_line is rejected, for the reason in err. */
int past_run_file_add(struct run_file_reader *r, const struct csv_row *row, struct past_run *ret,
                      uint64_t *ret_line, struct err *err) must_check;
