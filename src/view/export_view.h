/* SPDX-License-Identifier: MIT */
/* export_view.h - the records of a job as lines of JSON, each with its `type`, or as CSV. Record by
 * record: `out` may be emptied in between. */
#pragma once

#include "model/history_record.h"
#include "view/query_result.h"

void jsonl_job(struct buf *out, const struct job *job);
void jsonl_sheet(struct buf *out, const char *job_id, const struct sheet_record *s);
void jsonl_process(struct buf *out, const char *job_id, const struct process_record *p);
void jsonl_event(struct buf *out, const struct event_record *e);
void jsonl_sample(struct buf *out, const char *job_id, const struct job_sum_record *s);

/* One table a file; `r` has its format and its buffer. */
void csv_processes(struct query_result *r);
void csv_process(struct query_result *r, const struct process_record *p);
void csv_events(struct query_result *r);
void csv_event(struct query_result *r, const struct event_record *e);
void csv_samples(struct query_result *r);
void csv_sample(struct query_result *r, const struct job_sum_record *s);
