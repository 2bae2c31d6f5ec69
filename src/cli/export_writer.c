/* SPDX-License-Identifier: MIT */
#include "cli/export_writer.h"

#include <errno.h>
#include <string.h>

#include "base/io.h"
#include "report/job_report.h"

/* A reader's call has a limit of time, and whoever reads our output may be slow: so records are
 * gathered during a call and written after it. */
#define OUT_MAX ((size_t)1 << 30)
#define EXPORT_SUMS_MAX ((size_t)1 << 20)

static int flush(void *self)
{
	struct export *x = self;
	int r = x->out.len ? io_write_all(x->fd, x->out.at, x->out.len) : 0;

	if (x->out.full)
		r = -EFBIG;
	buf_relax(&x->out);
	return r;
}

/* The first error of the call and of what had to be written after it. */
static int flush_after(struct export *x, int result, struct err *err)
{
	int r = result < 0 ? result : flush(x);

	if (result >= 0 && r < 0)
		return err_set(err, -r, "write: %s", strerror(-r));
	return MIN(r, 0);
}

static int read_sheets(struct export *x, reader_sheet_fn fn, struct err *err)
{
	return flush_after(x, history_sheets(x->recorded->reader, job_key_of(x->job), fn, x, err),
	                   err);
}

static int read_processes(struct export *x, reader_process_fn fn, struct err *err)
{
	return flush_after(x,
	                   history_job_processes(x->recorded->reader, job_key_of(x->job),
	                                         REPORT_PROCESSES_MAX, fn, x, err),
	                   err);
}

static int read_samples(struct export *x, reader_sum_fn fn, struct err *err)
{
	return flush_after(x,
	                   history_job_sums(x->recorded->reader, job_key_of(x->job),
	                                    EXPORT_SUMS_MAX, fn, x, err),
	                   err);
}

static int read_events(struct export *x, reader_event_fn fn, struct err *err)
{
	int r = report_each_event(x->recorded->reader, job_key_of(x->job), 0, SIZE_MAX, fn, flush,
	                          x, err);

	if (r < 0 && !err->code) /* flush() has no err */
		return err_set(err, -r, "write: %s", strerror(-r));
	return r;
}

static int jsonl_put_sheet(void *self, const struct sheet_record *s)
{
	struct export *x = self;

	export_record_line(&x->out, "sheet", x->job->id, &sheet_fields, s);
	return 0;
}

static int jsonl_put_process(void *self, const struct process_record *p)
{
	struct export *x = self;

	export_record_line(&x->out, "process", x->job->id, &process_fields, p);
	return 0;
}

static int jsonl_put_event(void *self, const struct event_record *e)
{
	struct export *x = self;

	export_record_line(&x->out, "event", NULL, &event_fields, e);
	return 0;
}

static int jsonl_put_sample(void *self, const struct job_sum_record *s)
{
	struct export *x = self;

	export_record_line(&x->out, "sample", x->job->id, &job_sum_fields, s);
	return 0;
}

int export_jsonl(struct export *x, struct err *err)
{
	int r;

	x->out.max = OUT_MAX;
	export_job_line(&x->out, x->job);
	r = read_sheets(x, jsonl_put_sheet, err);
	if (r == 0)
		r = read_processes(x, jsonl_put_process, err);
	if (r == 0)
		r = read_samples(x, jsonl_put_sample, err);
	return r < 0 ? r : read_events(x, jsonl_put_event, err);
}

static int csv_put_process(void *self, const struct process_record *p)
{
	csv_put(&((struct export *)self)->csv, p);
	return 0;
}

static int csv_put_event(void *self, const struct event_record *e)
{
	csv_put(&((struct export *)self)->csv, e);
	return 0;
}

static int csv_put_sample(void *self, const struct job_sum_record *s)
{
	csv_put(&((struct export *)self)->csv, s);
	return 0;
}

int export_csv(struct export *x, struct err *err)
{
	x->out.max = OUT_MAX;
	x->rows.format = QUERY_RESULT_CSV;
	x->rows.escapes = true; /* no process name can control a terminal that shows the file */
	x->rows.out = &x->out;
	switch (x->what) {
	case EXPORT_SAMPLES:
		csv_begin(&x->csv, &csv_samples, &x->rows);
		return read_samples(x, csv_put_sample, err);
	case EXPORT_EVENTS:
		csv_begin(&x->csv, &csv_events, &x->rows);
		return read_events(x, csv_put_event, err);
	case EXPORT_PROCESSES:
		break;
	}
	csv_begin(&x->csv, &csv_processes, &x->rows);
	return read_processes(x, csv_put_process, err);
}

static int trace_put_sheet(void *self, const struct sheet_record *s)
{
	trace_sheet(&((struct export *)self)->trace, s);
	return 0;
}

static int trace_put_process(void *self, const struct process_record *p)
{
	trace_process(&((struct export *)self)->trace, p);
	return 0;
}

static int trace_put_event(void *self, const struct event_record *e)
{
	trace_event(&((struct export *)self)->trace, e);
	return 0;
}

static int trace_put_sample(void *self, const struct job_sum_record *s)
{
	trace_sum(&((struct export *)self)->trace, s);
	return 0;
}

int export_trace(struct export *x, struct err *err)
{
	int r;

	x->out.max = OUT_MAX;
	trace_begin(&x->trace, &x->out, x->job, x->now_ns);
	r = read_sheets(x, trace_put_sheet, err);
	if (r == 0)
		r = read_processes(x, trace_put_process, err);
	if (r == 0)
		r = read_samples(x, trace_put_sample, err);
	if (r == 0)
		r = read_events(x, trace_put_event, err);
	trace_end(&x->trace);
	return r < 0 ? r : flush_after(x, 0, err);
}

void export_done(struct export *x)
{
	query_result_done(&x->rows);
	buf_done(&x->out);
}
