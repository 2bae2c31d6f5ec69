/* SPDX-License-Identifier: MIT */
/* verb_export.c - `proctor export`: writes a recorded job for other programs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "cli/job_selection.h"
#include "view/export_view.h"
#include "view/trace_view.h"

/* A reader's call has a limit of time, and the reader of our output may be slow: so records are
 * gathered during a call and written after it. */
#define OUT_MAX ((size_t)1 << 30)
#define EXPORT_SUMS_MAX ((size_t)1 << 20)

struct export
{
	struct job_selection recorded;
	struct job job;
	int fd;
	struct buf out;
	struct row_writer rows;
	struct csv csv;
	struct trace trace;
};

struct format {
	const char *name, *what;         /* what: NULL: everything */
	const struct csv_layout *layout; /* of CSV */
	void (*begin)(struct export *x, const struct format *f);
	/* NULL: these are not part of it. */
	reader_sheet_fn sheet;
	reader_process_fn process;
	reader_sum_fn sample;
	reader_event_fn event;
	void (*end)(struct export *x);
};

/* ---- JSON lines ------------------------------------------------------------------------------ */

static void jsonl_begin(struct export *x, const struct format *f)
{
	(void)f;
	export_job_line(&x->out, &x->job);
}

static int jsonl_sheet(void *self, const struct sheet_record *s)
{
	struct export *x = self;

	export_record_line(&x->out, "sheet", x->job.id, &sheet_fields, s);
	return 0;
}

static int jsonl_process(void *self, const struct process_record *p)
{
	struct export *x = self;

	export_record_line(&x->out, "process", x->job.id, &process_fields, p);
	return 0;
}

static int jsonl_event(void *self, const struct event_record *e)
{
	struct export *x = self;

	export_record_line(&x->out, "event", NULL, &event_fields, e);
	return 0;
}

static int jsonl_sample(void *self, const struct job_sum_record *s)
{
	struct export *x = self;

	export_record_line(&x->out, "sample", x->job.id, &job_sum_fields, s);
	return 0;
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_start(struct export *x, const struct format *f)
{
	x->rows.format = ROW_WRITER_CSV;
	x->rows.escapes = true; /* no process name can control a terminal that shows the file */
	x->rows.out = &x->out;
	csv_begin(&x->csv, f->layout, &x->rows);
}

static int csv_process(void *self, const struct process_record *p)
{
	csv_put(&((struct export *)self)->csv, p);
	return 0;
}

static int csv_event(void *self, const struct event_record *e)
{
	csv_put(&((struct export *)self)->csv, e);
	return 0;
}

static int csv_sample(void *self, const struct job_sum_record *s)
{
	csv_put(&((struct export *)self)->csv, s);
	return 0;
}

/* ---- a trace --------------------------------------------------------------------------------- */

static void begin_trace(struct export *x, const struct format *f)
{
	(void)f;
	trace_begin(&x->trace, &x->out, &x->job, clock_wall_ns());
}

static int put_sheet(void *self, const struct sheet_record *s)
{
	trace_sheet(&((struct export *)self)->trace, s);
	return 0;
}

static int put_process(void *self, const struct process_record *p)
{
	trace_process(&((struct export *)self)->trace, p);
	return 0;
}

static int put_event(void *self, const struct event_record *e)
{
	trace_event(&((struct export *)self)->trace, e);
	return 0;
}

static int put_sample(void *self, const struct job_sum_record *s)
{
	trace_sum(&((struct export *)self)->trace, s);
	return 0;
}

static void end_trace(struct export *x)
{
	trace_end(&x->trace);
}

/* ---- all formats ----------------------------------------------------------------------------- */

static const struct format formats[] = {
	{ "jsonl", NULL, NULL, jsonl_begin, jsonl_sheet, jsonl_process, jsonl_sample, jsonl_event },
	{ "csv", "processes", &csv_processes, csv_start, .process = csv_process },
	{ "csv", "samples", &csv_samples, csv_start, .sample = csv_sample },
	{ "csv", "events", &csv_events, csv_start, .event = csv_event },
	{ "chrome-trace", NULL, NULL, begin_trace, put_sheet, put_process, put_sample, put_event,
	  end_trace },
};

static int flush(void *self)
{
	struct export *x = self;
	int r = x->out.len ? io_write_all(x->fd, x->out.at, x->out.len) : 0;

	if (x->out.full)
		r = -EFBIG;
	buf_relax(&x->out);
	return r;
}

/* 0 or -errno. -EPIPE: the reader has closed the pipe. */
static int write_records(struct export *x, const struct format *f, struct err *err)
{
	struct history *reader = x->recorded.reader;
	struct job_key key = job_key_of(&x->job);
	int r = 0;

	x->out.max = OUT_MAX;
	f->begin(x, f);
	if (f->sheet && (r = history_sheets(reader, key, f->sheet, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->process &&
	    (r = history_job_processes(reader, key, REPORT_PROCESSES_MAX, f->process, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->sample &&
	    (r = history_job_sums(reader, key, EXPORT_SUMS_MAX, f->sample, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->event)
		r = report_each_event(reader, key, 0, SIZE_MAX, f->event, flush, x, err);
	if (f->end)
		f->end(x);
	if (r >= 0)
		r = flush(x);
	if (r < 0 && !err->code) /* flush() has no err */
		return err_set(err, -r, "write: %s", strerror(-r));
	return r;
}

static int open_output(const char *file, struct err *err)
{
	int fd;

	if (!file || strcmp(file, "-") == 0)
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, errno, "open '%s': %s", file, strerror(errno));
	return fd;
}

static int write_job(struct export *x, const struct format *f, const char *file)
{
	cleanup(closep) int fd = -1;
	struct err err = { 0 };
	int r;

	x->fd = fd = open_output(file, &err);
	if (fd < 0)
		return cli_failed(&err);
	r = write_records(x, f, &err);
	row_writer_done(&x->rows);
	buf_done(&x->out);
	if (r == -EPIPE) /* a closed pipe is not worth a message */
		return CLI_FAILED;
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

/* NULL, logged: there is no such format. */
static const struct format *find_format(const struct cli *cli, const char *name, const char *what)
{
	bool is_known = false, has_parts = false;

	if (!name) {
		cli_usage(cli, "--format is needed: jsonl, csv or chrome-trace");
		return NULL;
	}
	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const struct format *f = &formats[i];

		if (strcmp(name, f->name) != 0)
			continue;
		if (!what || (f->what && strcmp(what, f->what) == 0))
			return f;
		is_known = true;
		has_parts |= f->what != NULL;
	}
	if (!is_known)
		cli_usage(cli, "--format '%s': write jsonl, csv or chrome-trace", name);
	else if (has_parts)
		cli_usage(cli, "--what '%s': write processes, samples or events", what);
	else
		cli_usage(cli, "--what is only for csv; %s always contains everything", name);
	return NULL;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const char *name = NULL, *what = NULL, *file = NULL;
	const struct opt opts[] = {
		{ "format", 0, OPT_TEXT, &name, "FORMAT", "jsonl, csv or chrome-trace" },
		{ "what", 0, OPT_TEXT, &what, "WHAT",
		  "csv: processes (default), samples or events" },
		{ "output", 'o', OPT_PATH, &file, "FILE", "write to this file instead of stdout" },
		CLI_COMMON_OPTS(cli),
	};
	struct export x = { 0 };
	const struct format *format;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only");
	format = find_format(cli, name, what);
	if (!format)
		return CLI_USAGE;
	status = job_selection_open(cli, &x.recorded);
	if (status == CLI_OK)
		status = job_selection_find_own(&x.recorded, words ? argv[1] : NULL, &x.job);
	if (status == CLI_OK)
		status = write_job(&x, format, file);
	job_selection_close(&x.recorded);
	return status;
}

const struct verb verb_export = {
	.name = "export",
	.summary = "export a job as JSON lines, CSV, or a trace for Perfetto",
	.usage = "[JOB] --format jsonl|csv|chrome-trace [--what WHAT] [-o FILE]",
	.about = CLI_JOB_HELP
	"\nOpen a chrome-trace in ui.perfetto.dev or chrome://tracing: each process is a slice, memory and\n"
	"CPU are counters, with sheets and phases above. What the keys and columns mean: proctor help fields.",
	.instead_of_json = "use --format jsonl",
	.run = run,
};
