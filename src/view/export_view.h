/* SPDX-License-Identifier: MIT */
/* export_view.h - the records of a job as lines of JSON, each with its `type`, or as CSV. Record by
 * record: `out` may be emptied in between. */
#pragma once

#include "model/record_fields.h"
#include "view/row_writer.h"

void export_job_line(struct buf *out, const struct job *job);
/* The place's job_id NULL: the record has it. */
void export_record_line(struct buf *out, const char *type, const struct export_place *place,
                        const struct field_table *fields, const void *record);

/* Which fields of a record are columns, in their order; those of its place follow. */
struct csv_layout {
	const struct field_table *fields;
	const char *const *columns; /* NULL: all fields */
	size_t n;
	bool has_qualities; /* … of those that are IN_CSV, with their qualities */
};
extern const struct csv_layout csv_processes, csv_events, csv_samples, csv_process_samples,
	csv_gpus;

#define CSV_COLUMNS_MAX 32

/* One table a file; `r` has its format and its buffer. */
struct csv {
	struct row_writer *r;
	struct {
		const struct field *field;
		bool is_quality;
	} columns[CSV_COLUMNS_MAX];
	size_t n;
};
void export_csv_begin(struct csv *csv, const struct csv_layout *layout, struct row_writer *r);
void export_csv_put(struct csv *csv, const struct export_place *place, const void *record);

/* Jobs, a row each: all figures, with the quality of each in the next column. */
void export_jobs_csv_begin(struct row_writer *r);
void export_jobs_csv_put(struct row_writer *r, const struct job *job);
