/* SPDX-License-Identifier: MIT */
/* verb_export.c - `proctor export`: writes recorded jobs for other programs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/log.h"
#include "cli/job_filter_options.h"
#include "cli/job_selection.h"
#include "cli/progress.h"
#include "view/export_view.h"
#include "view/trace_view.h"

/* A reader's call has a limit of time, and the reader of our output may be slow: so records are
 * gathered during a call and written after it. */
#define OUT_MAX ((size_t)1 << 30)
#define EXPORT_SUMS_MAX ((size_t)1 << 20)

#define FLUSH_BYTES ((size_t)1 << 20)
#define JOBS_EXPORTED 1000
#define PER_JOB 1000 /* of the progress */

struct export
{
	struct job_selection recorded;
	VEC(struct job) jobs;
	const struct job *job; /* the one that is written */
	int fd;
	struct progress progress;
	struct buf out;
	struct row_writer rows;
	struct csv csv;
	struct trace_view trace;
};

struct format {
	const char *name, *what;         /* what: NULL: everything */
	const struct csv_layout *layout; /* of CSV; NULL: jobs */
	void (*begin)(struct export *x, const struct format *f);
	/* NULL: these are not part of it. */
	void (*begin_job)(struct export *x);
	reader_sheet_fn sheet;
	reader_process_fn process;
	reader_last_call_fn last_call;
	reader_sum_fn sample;
	reader_event_fn event;
	void (*process_sample)(struct export *x, const struct process_sample_record *s);
	void (*gpu_sample)(struct export *x, const struct gpu_sample_record *s);
	void (*end_tick)(struct export *x, uint64_t wall_ns);
	void (*end_job)(struct export *x);
	void (*end)(struct export *x);
};

/* At 0: not known. To the microsecond, as everywhere. */
static struct export_place place_of(const struct export *x, uint64_t wall_ns)
{
	uint64_t elapsed = wall_ns - MIN(x->job->started_ns, wall_ns);

	return (struct export_place){
		.job_id = x->job->id,
		.elapsed_ns = { elapsed / NS_PER_US * NS_PER_US,
		                wall_ns ? QUALITY_EXACT : QUALITY_MISSING },
	};
}

/* ---- JSON lines ------------------------------------------------------------------------------ */

static void jsonl_begin(struct export *x, const struct format *f)
{
	(void)x;
	(void)f;
}

static void jsonl_begin_job(struct export *x)
{
	export_job_line(&x->out, x->job);
}

static void put_line(struct export *x, const char *type, uint64_t wall_ns,
                     const struct field_table *fields, const void *record)
{
	struct export_place place = place_of(x, wall_ns);

	export_record_line(&x->out, type, &place, fields, record);
}

static int jsonl_sheet(void *self, const struct sheet_record *s)
{
	put_line(self, "sheet", s->s.started_ns, &sheet_fields, s);
	return 0;
}

static int jsonl_process(void *self, const struct process_record *p)
{
	put_line(self, "process", p->started_ns, &process_fields, p);
	return 0;
}

static int jsonl_last_call(void *self, const struct last_call_record *c)
{
	if (c->text)
		put_line(self, "last_call", c->began_ns, &last_call_fields, c);
	return 0;
}

/* One of the recorder has no job of its own: it is exported with this one. */
static int jsonl_event(void *self, const struct event_record *e)
{
	struct export *x = self;
	struct export_place place = place_of(x, e->wall_ns);
	struct event_record record = *e;

	place.job_id = NULL;
	record.job_id = x->job->id;
	export_record_line(&x->out, "event", &place, &event_fields, &record);
	return 0;
}

static int jsonl_sample(void *self, const struct job_sum_record *s)
{
	put_line(self, "sample", s->wall_ns, &job_sum_fields, s);
	return 0;
}

static void jsonl_process_sample(struct export *x, const struct process_sample_record *s)
{
	put_line(x, "process_sample", s->wall_ns, &process_sample_fields, s);
}

static void jsonl_gpu_sample(struct export *x, const struct gpu_sample_record *s)
{
	put_line(x, "gpu_sample", s->wall_ns, &gpu_sample_fields, s);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void csv_start(struct export *x, const struct format *f)
{
	x->rows.format = ROW_WRITER_CSV;
	x->rows.out = &x->out;
	if (f->layout)
		export_csv_begin(&x->csv, f->layout, &x->rows);
	else
		export_jobs_csv_begin(&x->rows);
}

static void csv_job(struct export *x)
{
	export_jobs_csv_put(&x->rows, x->job);
}

static void put_row(struct export *x, uint64_t wall_ns, const void *record)
{
	struct export_place place = place_of(x, wall_ns);

	export_csv_put(&x->csv, &place, record);
}

static int csv_process(void *self, const struct process_record *p)
{
	put_row(self, p->started_ns, p);
	return 0;
}

static int csv_event(void *self, const struct event_record *e)
{
	put_row(self, e->wall_ns, e);
	return 0;
}

static int csv_sample(void *self, const struct job_sum_record *s)
{
	put_row(self, s->wall_ns, s);
	return 0;
}

static void csv_process_sample(struct export *x, const struct process_sample_record *s)
{
	put_row(x, s->wall_ns, s);
}

static void csv_gpu_sample(struct export *x, const struct gpu_sample_record *s)
{
	put_row(x, s->wall_ns, s);
}

/* ---- a trace --------------------------------------------------------------------------------- */

static void begin_trace(struct export *x, const struct format *f)
{
	const struct job *first = x->jobs.at;

	(void)f;
	vec_each(&x->jobs, job)
		if (job->started_ns < first->started_ns)
			first = job;
	trace_view_begin(&x->trace, &x->out, first);
}

static void begin_job_trace(struct export *x)
{
	trace_view_begin_job(&x->trace, x->job, clock_wall_ns());
}

static int put_sheet(void *self, const struct sheet_record *s)
{
	trace_view_sheet(&((struct export *)self)->trace, s);
	return 0;
}

static int put_process(void *self, const struct process_record *p)
{
	trace_view_process(&((struct export *)self)->trace, p);
	return 0;
}

static int put_event(void *self, const struct event_record *e)
{
	trace_view_event(&((struct export *)self)->trace, e);
	return 0;
}

static int put_sample(void *self, const struct job_sum_record *s)
{
	trace_view_sum(&((struct export *)self)->trace, s);
	return 0;
}

static void put_process_sample(struct export *x, const struct process_sample_record *s)
{
	trace_view_process_sample(&x->trace, s);
}

static void put_gpu_sample(struct export *x, const struct gpu_sample_record *s)
{
	trace_view_gpu_sample(&x->trace, s);
}

static void end_tick(struct export *x, uint64_t wall_ns)
{
	trace_view_end_tick(&x->trace, wall_ns);
}

static void end_job_trace(struct export *x)
{
	trace_view_end_job(&x->trace);
}

static void end_trace(struct export *x)
{
	trace_view_end(&x->trace);
}

/* ---- all formats ----------------------------------------------------------------------------- */

static const struct format formats[] = {
	{ "jsonl", NULL, NULL, jsonl_begin, jsonl_begin_job, jsonl_sheet, jsonl_process,
	  jsonl_last_call, jsonl_sample, jsonl_event, jsonl_process_sample, jsonl_gpu_sample },
	{ "csv", "processes", &csv_processes, csv_start, .process = csv_process },
	{ "csv", "samples", &csv_samples, csv_start, .sample = csv_sample },
	{ "csv", "events", &csv_events, csv_start, .event = csv_event },
	{ "csv", "process-samples", &csv_process_samples, csv_start,
	  .process_sample = csv_process_sample },
	{ "csv", "gpus", &csv_gpus, csv_start, .gpu_sample = csv_gpu_sample },
	{ "csv", "jobs", NULL, csv_start, csv_job },
	{ "chrome-trace", NULL, NULL, begin_trace, begin_job_trace, put_sheet, put_process, NULL,
	  put_sample, put_event, put_process_sample, put_gpu_sample, end_tick, end_job_trace,
	  end_trace },
};

/* The names of the formats, or of the parts of those that are written one part at a time. Equal names follow each other. */
static void list_names(bool parts, const char *between, const char *before_last, struct buf *to)
{
	const char *names[ARRAY_LEN(formats)];
	size_t n = 0;

	for (size_t i = 0; i < ARRAY_LEN(formats); i++) {
		const char *name = parts ? formats[i].what : formats[i].name;

		if (name && (!n || strcmp(name, names[n - 1]) != 0))
			names[n++] = name;
	}
	for (size_t i = 0; i < n; i++)
		buf_printf(to, "%s%s", !i ? "" : i == n - 1 ? before_last : between, names[i]);
}

/* The format that has parts, with its default, which is the first. */
static const struct format *format_with_parts(void)
{
	const struct format *f = formats;

	while (!f->what)
		f++;
	return f;
}

/* The same as options have them: as help, and as choices. */
struct format_names {
	struct buf formats, format_choices, parts, parts_help, part_choices;
};

static void format_names_init(struct format_names *n)
{
	list_names(false, ", ", " or ", &n->formats);
	list_names(false, " ", " ", &n->format_choices);
	list_names(true, ", ", " or ", &n->parts);
	buf_printf(&n->parts_help, "of %s: %s (default: %s)", format_with_parts()->name,
	           n->parts.at, format_with_parts()->what);
	list_names(true, " ", " ", &n->part_choices);
}

static void format_names_done(struct format_names *n)
{
	buf_done(&n->formats);
	buf_done(&n->format_choices);
	buf_done(&n->parts);
	buf_done(&n->parts_help);
	buf_done(&n->part_choices);
}

static int flush(void *self)
{
	struct export *x = self;
	int r = x->out.len ? io_write_all(x->fd, x->out.at, x->out.len) : 0;

	if (x->out.full)
		r = -EFBIG;
	buf_relax(&x->out);
	return r;
}

static int32_t find_job(const struct snapshot *snap, struct job_key key)
{
	for (int32_t i = 0; (size_t)i < snap->jobs.len; i++)
		if (job_key_eq(job_key_of(&snap->jobs.at[i]), key))
			return i;
	return -1;
}

static void write_snapshot(struct export *x, const struct format *f, const struct snapshot *snap)
{
	int32_t job = find_job(snap, job_key_of(x->job));

	vec_each(&snap->procs, p) {
		if (job >= 0 && p->job == job && f->process_sample) {
			struct process_sample_record s = history_record_of_process_sample(snap, p);

			f->process_sample(x, &s);
		}
	}
	for (uint32_t i = 0; f->gpu_sample && i < snap->gpus.len; i++) {
		struct gpu_sample_record s = history_record_of_gpu_sample(
			snap, i, job < 0 ? INT32_MIN : job);

		f->gpu_sample(x, &s);
	}
	if (f->end_tick)
		f->end_tick(x, snap->wall_ns);
}

/* The progress of a job is how far its snapshots are written, because they are written last. */
static void show_progress(struct export *x, uint64_t wall_ns)
{
	const struct job *job = x->job;
	size_t nth = (size_t)(job - x->jobs.at);
	uint64_t end_ns = job->ended_ns ? job->ended_ns : clock_wall_ns();
	double ratio = end_ns > job->started_ns && wall_ns > job->started_ns
	                       ? (double)(wall_ns - job->started_ns) /
	                                 (double)(end_ns - job->started_ns)
	                       : 0;

	progress_step(&x->progress, nth * PER_JOB + (uint64_t)(MIN(ratio, 1.0) * PER_JOB), nth + 1);
}

/* Its processes, and the GPUs, from snapshot to snapshot. */
static int write_series(struct export *x, const struct format *f, struct err *err)
{
	struct history_cursor at = { 0 };
	struct snapshot snap = { 0 };
	int r;

	while ((r = history_next_job_snapshot(x->recorded.reader, job_key_of(x->job), &at, &snap,
	                                      err)) > 0) {
		write_snapshot(x, f, &snap);
		show_progress(x, snap.wall_ns);
		if (x->out.len >= FLUSH_BYTES && (r = flush(x)) < 0)
			break;
	}
	snapshot_done(&snap);
	return r < 0 ? r : flush(x);
}

/* 0 or -errno. -EPIPE: the reader has closed the pipe. */
static int write_job(struct export *x, const struct format *f, struct err *err)
{
	struct history *reader = x->recorded.reader;
	struct job_key key = job_key_of(x->job);
	int r = 0;

	if (f->begin_job)
		f->begin_job(x);
	if (f->sheet && (r = history_sheets(reader, key, f->sheet, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->process &&
	    (r = history_job_processes(reader, key, REPORT_PROCESSES_MAX, f->process, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->last_call &&
	    (r = history_job_last_calls(reader, key, REPORT_CALLS_MAX, f->last_call, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->sample &&
	    (r = history_job_sums(reader, key, EXPORT_SUMS_MAX, f->sample, x, err)) >= 0)
		r = flush(x);
	if (r >= 0 && f->event)
		r = report_each_event(reader, key, 0, SIZE_MAX, f->event, flush, x, err);
	if (r >= 0 && (f->process_sample || f->gpu_sample))
		r = write_series(x, f, err);
	if (f->end_job)
		f->end_job(x);
	return r;
}

static int write_jobs(struct export *x, const struct format *f, struct err *err)
{
	int r = 0;

	x->out.max = OUT_MAX;
	f->begin(x, f);
	progress_begin(&x->progress, !isatty(x->fd), x->jobs.len * PER_JOB,
	               x->jobs.len == 1 ? "job" : "jobs");
	for (size_t i = 0; r >= 0 && i < x->jobs.len; i++) {
		x->job = &x->jobs.at[i];
		show_progress(x, x->job->started_ns);
		r = write_job(x, f, err);
	}
	progress_end(&x->progress);
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

static int write_file(struct export *x, const struct format *f, const char *file)
{
	cleanup(closep) int fd = -1;
	struct err err = { 0 };
	int r;

	x->fd = fd = open_output(file, &err);
	if (fd < 0)
		return cli_failed_then(&err, "choose another file with -o FILE");
	r = write_jobs(x, f, &err);
	row_writer_done(&x->rows);
	buf_done(&x->out);
	if (r == -EPIPE) /* a closed pipe is not worth a message */
		return CLI_FAILED;
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

/* NULL, logged: there is no such format. */
static const struct format *find_format(const struct cli *cli, const struct format_names *names,
                                        const char *name, const char *what)
{
	bool is_known = false, has_parts = false;

	if (!name) {
		cli_usage(cli, "--format is needed: %s", names->formats.at);
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
		cli_usage(cli, "--format '%s': write %s", name, names->formats.at);
	else if (has_parts)
		cli_usage(cli, "--what '%s': write %s", what, names->parts.at);
	else
		cli_usage(cli, "--what is only for %s; %s always contains everything",
		          format_with_parts()->name, name);
	return NULL;
}

static bool has_job(const struct export *x, const struct job *job)
{
	vec_each(&x->jobs, known)
		if (job_key_eq(job_key_of(known), job_key_of(job)))
			return true;
	return false;
}

static int add_job(void *self, const struct job *job)
{
	struct export *x = self;
	struct job *added = vec_push(&x->jobs, JOBS_EXPORTED);

	if (added)
		*added = *job;
	return 0;
}

/* The first one first, unlike a list of jobs. */
static int find_fitting(struct export *x, const struct job_filter *filter)
{
	struct err err = { 0 };
	int r = x->recorded.reader
	                ? history_jobs(x->recorded.reader, filter, JOBS_EXPORTED, add_job, x, &err)
	                : 0;

	if (r < 0)
		return cli_failed(&err);
	if (!x->jobs.len) {
		log_error("no matching job in '%s'; see: proctor ls", x->recorded.path);
		return CLI_NOT_FOUND;
	}
	for (size_t i = 0, j = x->jobs.len - 1; i < j; i++, j--) {
		struct job swap = x->jobs.at[i];

		x->jobs.at[i] = x->jobs.at[j];
		x->jobs.at[j] = swap;
	}
	return CLI_OK;
}

static int find_named(struct export *x, char **names, int n)
{
	for (int i = 0; i < MAX(n, 1); i++) {
		struct job job;
		int status = job_selection_find_own(&x->recorded, n ? names[i] : NULL, &job);

		if (status != CLI_OK)
			return status;
		if (!has_job(x, &job))
			add_job(x, &job);
	}
	return CLI_OK;
}

static int export_jobs(struct cli *cli, const struct format_names *names, int argc, char **argv)
{
	const char *name = NULL, *what = NULL, *file = NULL;
	struct job_filter_options which = { 0 };
	const struct opt opts[] = {
		{ "format", 0, OPT_TEXT, &name, "FORMAT", names->formats.at,
		  names->format_choices.at },
		{ "what", 0, OPT_TEXT, &what, "WHAT", names->parts_help.at,
		  names->part_choices.at },
		{ "output", 'o', OPT_PATH, &file, "FILE", "write to this file instead of stdout" },
		JOB_FILTER_OPTIONS(&which),
		CLI_COMMON_OPTS(cli),
	};
	struct export x = { 0 };
	const struct format *format;
	struct job_filter filter;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > JOBS_EXPORTED)
		return cli_usage(cli, "at most %d jobs at once", JOBS_EXPORTED);
	if (words && job_filter_options_given(&which))
		return cli_usage(cli, "name jobs or select them by options, not both");
	format = find_format(cli, names, name, what);
	if (!format)
		return CLI_USAGE;
	status = job_filter_options_make(cli, &which, clock_wall_ns(), &filter);
	if (status == CLI_OK)
		status = job_selection_open(cli, &x.recorded);
	if (status == CLI_OK)
		status = job_filter_options_given(&which) ? find_fitting(&x, &filter)
		                                          : find_named(&x, argv + 1, words);
	if (status == CLI_OK)
		status = write_file(&x, format, file);
	vec_done(&x.jobs);
	job_filter_options_done(&which);
	job_selection_close(&x.recorded);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct format_names names = { 0 };
	int status;

	format_names_init(&names);
	status = export_jobs(cli, &names, argc, argv);
	format_names_done(&names);
	return status;
}

const struct verb verb_export = {
	.name = "export",
	.summary = "export jobs as JSON lines, CSV, or a trace for Perfetto",
	.usage = "[JOB]… --format FORMAT [--what WHAT] [-o FILE]",
	.about = CLI_JOB_HELP
	"\nOpen a chrome-trace in ui.perfetto.dev or chrome://tracing: processes, sheets and phases are\n"
	"slices, and what the job and its processes used over time are counters. Several jobs, named or\n"
	"selected by options as in `proctor ls`, go into one table or trace. What the keys and columns mean:\n"
	"proctor help fields.",
	.instead_of_json = "use --format jsonl",
	.example = "proctor export train.py --format chrome-trace -o trace.json",
	.run = run,
};
