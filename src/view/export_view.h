/* SPDX-License-Identifier: MIT */
/* export_view.h - the records of a job as lines of JSON, each with its `type`, or as CSV. Record by
 * record: `out` may be emptied in between. */
#pragma once

#include "model/recorded.h"
#include "view/result.h"

void jsonl_job(struct buf *out, const struct job *job);
void jsonl_sheet(struct buf *out, const char *job_id, const struct reader_sheet *s);
void jsonl_process(struct buf *out, const char *job_id, const struct reader_process *p);
void jsonl_event(struct buf *out, const struct reader_event *e);
void jsonl_sample(struct buf *out, const char *job_id, const struct reader_sum *s);

/* One table a file; `r` has its format and its buffer. */
void csv_processes(struct result *r);
void csv_process(struct result *r, const struct reader_process *p);
void csv_events(struct result *r);
void csv_event(struct result *r, const struct reader_event *e);
void csv_samples(struct result *r);
void csv_sample(struct result *r, const struct reader_sum *s);
