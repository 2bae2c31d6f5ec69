/* SPDX-License-Identifier: MIT */
#include "model/past_run_file.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/opts.h"
#include "base/time_parse.h"

/* Names of columns by kind of file, the better one first. */
static const char *const names[RUN_FILE_KINDS][RUN_COLUMNS][2] = {
	[RUN_FILE_CSV] = {
		[RUN_COLUMN_TYPE] = { "job_type" },
		[RUN_COLUMN_STARTED] = { "started_at" },
		[RUN_COLUMN_TOOK] = { "duration_seconds" },
		[RUN_COLUMN_PEAK_USED] = { "peak_used_mb" },
		[RUN_COLUMN_PEAK_RSS] = { "peak_rss_mb" },
		[RUN_COLUMN_ID] = { "job_id" },
		[RUN_COLUMN_SHEET] = { "sheet", "sheet_num" },
		[RUN_COLUMN_CPU] = { "cpu_seconds" },
		[RUN_COLUMN_INPUT] = { "input_bytes" },
		[RUN_COLUMN_REQUESTED] = { "requested_mb" },
		[RUN_COLUMN_OUTCOME] = { "outcome" },
		[RUN_COLUMN_EXIT_CODE] = { "exit_code" },
		[RUN_COLUMN_TAGS] = { "tags" },
	},
	[RUN_FILE_SACCT] = {
		[RUN_COLUMN_TYPE] = { "JobName" },
		[RUN_COLUMN_STARTED] = { "Start" },
		[RUN_COLUMN_TOOK] = { "ElapsedRaw", "Elapsed" },
		[RUN_COLUMN_PEAK_RSS] = { "MaxRSS" },
		[RUN_COLUMN_ID] = { "JobIDRaw", "JobID" },
		[RUN_COLUMN_CPU] = { "TotalCPU" },
		[RUN_COLUMN_REQUESTED] = { "ReqMem" },
		[RUN_COLUMN_OUTCOME] = { "State" },
		[RUN_COLUMN_EXIT_CODE] = { "ExitCode" },
		[RUN_COLUMN_CPUS] = { "AllocCPUS", "ReqCPUS" },
	},
	[RUN_FILE_NEXTFLOW] = {
		[RUN_COLUMN_TYPE] = { "process", "name" },
		[RUN_COLUMN_STARTED] = { "start", "submit" },
		[RUN_COLUMN_TOOK] = { "realtime", "duration" },
		[RUN_COLUMN_PEAK_RSS] = { "peak_rss" },
		[RUN_COLUMN_ID] = { "hash", "task_id" },
		[RUN_COLUMN_CPU] = { "%cpu" },
		[RUN_COLUMN_REQUESTED] = { "memory" },
		[RUN_COLUMN_OUTCOME] = { "status" },
		[RUN_COLUMN_EXIT_CODE] = { "exit" },
	},
};

static size_t find_column(const struct csv_row *header, const char *const name[2])
{
	for (size_t k = 0; k < 2 && name[k]; k++)
		for (size_t i = 0; i < header->n; i++)
			if (scan_eq(&header->field[i], name[k]))
				return i;
	return SIZE_MAX;
}

static bool has_column(const struct run_file_columns *c, enum run_column column)
{
	return c->at[column] != SIZE_MAX;
}

int run_file_columns_parse(const struct csv_row *header, struct run_file_columns *ret,
                           struct err *err)
{
	static const enum run_column needed[] = { RUN_COLUMN_TYPE, RUN_COLUMN_STARTED,
		                                  RUN_COLUMN_TOOK };
	struct run_file_columns found = { .kind = RUN_FILE_CSV };

	if (find_column(header, names[RUN_FILE_SACCT][RUN_COLUMN_PEAK_RSS]) != SIZE_MAX)
		found.kind = RUN_FILE_SACCT;
	else if (find_column(header, names[RUN_FILE_NEXTFLOW][RUN_COLUMN_PEAK_RSS]) != SIZE_MAX)
		found.kind = RUN_FILE_NEXTFLOW;
	for (size_t i = 0; i < RUN_COLUMNS; i++)
		found.at[i] = find_column(header, names[found.kind][i]);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!has_column(&found, needed[i]))
			return err_set(err, EBADMSG, "the header has no column '%s'",
			               names[found.kind][needed[i]][0]);
	if (found.kind == RUN_FILE_SACCT && !has_column(&found, RUN_COLUMN_ID))
		return err_set(err, EBADMSG, "the header has no column 'JobID'");
	if (!has_column(&found, RUN_COLUMN_PEAK_USED) && !has_column(&found, RUN_COLUMN_PEAK_RSS))
		return err_set(err, EBADMSG,
		               "the header has no column 'peak_used_mb' or 'peak_rss_mb'");
	*ret = found;
	return 0;
}

/* ---- fields ----------------------------------------------------------------------------------- */

static void trim(struct scan *s)
{
	while (s->p < s->end && (*s->p == ' ' || *s->p == '\t'))
		s->p++;
	while (s->p < s->end && (s->end[-1] == ' ' || s->end[-1] == '\t'))
		s->end--;
}

/* False: it is absent: no such column, empty, or '-'. */
static bool get_field(const struct run_file_columns *c, const struct csv_row *row,
                      enum run_column column, struct scan *ret)
{
	if (c->at[column] >= row->n)
		return false;
	*ret = row->field[c->at[column]];
	trim(ret);
	return !scan_at_end(ret) && !scan_eq(ret, "-") &&
	       !(column == RUN_COLUMN_STARTED && scan_eq(ret, "Unknown"));
}

static bool copy_text(struct scan from, char *to, size_t cap)
{
	size_t n = scan_left(&from);

	if (n >= cap || memchr(from.p, '\0', n))
		return false;
	memcpy(to, from.p, n);
	to[n] = '\0';
	return true;
}

/* "12.5" of a unit of `scale`. */
static bool parse_scaled(struct scan s, double scale, uint64_t *ret)
{
	double v;

	if (!scan_double(&s, &v) || !scan_at_end(&s) || !(v >= 0) || v * scale > 9e18)
		return false;
	*ret = (uint64_t)(v * scale + 0.5);
	return true;
}

/* "1.2 GB", "512K", "0", and a plain number of bytes: powers of 1024, as both tools mean them. */
static bool parse_bytes(struct scan s, uint64_t *ret)
{
	char text[32];
	size_t n = 0;

	for (; s.p < s.end && n < sizeof text - 1; s.p++)
		if (*s.p != ' ')
			text[n++] = *s.p;
	return scan_at_end(&s) && opts_parse_size(scan_mem(text, n), ret);
}

/* "4000M"; older versions append 'n' (per node) or 'c' (per CPU). */
static bool parse_requested(struct scan s, uint64_t cpus, uint64_t *ret)
{
	uint64_t times = 1;

	if (scan_left(&s) > 1 && (s.end[-1] == 'n' || s.end[-1] == 'c')) {
		times = s.end[-1] == 'c' ? cpus : 1;
		s.end--;
	}
	return times && parse_bytes(s, ret) && !__builtin_mul_overflow(*ret, times, ret);
}

/* "3m 4s", "1h 2m", "350ms", "2d 3h"; a plain number is milliseconds, as `trace.raw` writes it. */
static bool parse_nextflow_time(struct scan s, uint64_t *ret)
{
	char text[64];
	size_t n = 0;
	uint64_t ms;
	struct scan plain = s;

	if (scan_u64(&plain, &ms) && scan_at_end(&plain)) {
		*ret = ms;
		return !__builtin_mul_overflow(*ret, NS_PER_MS, ret);
	}
	for (; s.p < s.end && n < sizeof text; s.p++)
		if (*s.p != ' ')
			text[n++] = *s.p;
	return scan_at_end(&s) && clock_parse_duration(scan_mem(text, n), ret);
}

static bool parse_started(enum run_file_kind kind, struct scan s, uint64_t *ret)
{
	struct scan plain = s;
	uint64_t ms;

	if (kind == RUN_FILE_NEXTFLOW && scan_u64(&plain, &ms) && scan_at_end(&plain)) {
		*ret = ms;
		return !__builtin_mul_overflow(*ret, NS_PER_MS, ret);
	}
	if (parse_scaled(s, 1e9, ret))
		return true;
	/* Only an instant: what is relative to now would change with each reading. */
	return scan_left(&s) >= 10 && s.p[4] == '-' && time_parse(s, 0, ret);
}

static bool parse_took(enum run_file_kind kind, struct scan s, uint64_t *ret)
{
	if (kind == RUN_FILE_NEXTFLOW)
		return parse_nextflow_time(s, ret);
	if (kind == RUN_FILE_SACCT)
		return clock_parse_duration(s, ret);
	return parse_scaled(s, 1e9, ret);
}

/* sacct's CPU time: "1-02:03:04", "02:03.456" */
static bool parse_sacct_cpu(struct scan s, uint64_t *ret)
{
	struct scan fraction = s, whole;
	uint64_t ms = 0;

	if (!scan_until(&fraction, '.', &whole))
		return clock_parse_duration(s, ret);
	if (scan_left(&fraction) != 3 || !scan_u64(&fraction, &ms) || !scan_at_end(&fraction) ||
	    !clock_parse_duration(whole, ret))
		return false;
	*ret += ms * NS_PER_MS;
	return true;
}

/* Of Nextflow a share of one CPU: "98.5%" */
static bool parse_cpu(enum run_file_kind kind, struct scan s, uint64_t took_ns, uint64_t *ret)
{
	if (kind == RUN_FILE_CSV)
		return parse_scaled(s, 1e9, ret);
	if (kind == RUN_FILE_SACCT)
		return parse_sacct_cpu(s, ret);
	if (s.p < s.end && s.end[-1] == '%')
		s.end--;
	return parse_scaled(s, (double)took_ns / 100, ret);
}

/* "1", and of sacct "1:0", the code and a signal. */
static bool parse_exit_code(struct scan s, int32_t *ret)
{
	uint64_t code, signal;

	if (!scan_u64(&s, &code) || code > 255 ||
	    (scan_lit(&s, ":") && (!scan_u64(&s, &signal) || signal > 127)) || !scan_at_end(&s))
		return false;
	*ret = (int32_t)code;
	return true;
}

static const struct {
	enum run_file_kind kind;
	const char *word, *outcome; /* outcome NULL: no run to learn from, */
	const char *why;
} states[] = {
	{ RUN_FILE_SACCT, "COMPLETED", "ok", NULL },
	{ RUN_FILE_SACCT, "OUT_OF_MEMORY", "oom_own_limit", NULL },
	{ RUN_FILE_SACCT, "TIMEOUT", "time_limit", NULL },
	{ RUN_FILE_SACCT, "DEADLINE", "time_limit", NULL },
	{ RUN_FILE_SACCT, "NODE_FAIL", "machine_lost", NULL },
	{ RUN_FILE_SACCT, "RUNNING", NULL, "it is still running" },
	{ RUN_FILE_SACCT, "PENDING", NULL, "it has not started" },
	{ RUN_FILE_SACCT, "SUSPENDED", NULL, "it is still running" },
	{ RUN_FILE_NEXTFLOW, "COMPLETED", "ok", NULL },
	{ RUN_FILE_NEXTFLOW, "CACHED", NULL, "it was cached, not run" },
};

static int parse_state(enum run_file_kind kind, struct scan s, char ret[static RUN_OUTCOME_MAX],
                       struct err *err)
{
	struct scan word;

	if (!scan_word(&s, &word)) /* "CANCELLED by 1000" */
		return 0;
	for (size_t i = 0; i < ARRAY_LEN(states); i++) {
		if (states[i].kind != kind || !scan_eq(&word, states[i].word))
			continue;
		if (!states[i].outcome)
			return err_set(err, EBADMSG, "%s", states[i].why);
		snprintf(ret, RUN_OUTCOME_MAX, "%s", states[i].outcome);
		return 0;
	}
	snprintf(ret, RUN_OUTCOME_MAX, "failed");
	return 0;
}

/* "ok", "failed" or the code of a cause: small letters and '_'. */
static bool parse_outcome(struct scan s, char ret[static RUN_OUTCOME_MAX])
{
	for (const char *p = s.p; p < s.end; p++)
		if ((*p < 'a' || *p > 'z') && *p != '_')
			return false;
	return copy_text(s, ret, RUN_OUTCOME_MAX);
}

/* ---- rows ------------------------------------------------------------------------------------- */

static int refuse(struct err *err, const struct run_file_columns *c, enum run_column column,
                  struct scan text)
{
	return err_set(err, EBADMSG, "%s '%.*s': not readable",
	               names[c->kind][column][0] ? names[c->kind][column][0] : "value",
	               (int)MIN(scan_left(&text), (size_t)40), text.p);
}

/* Of Nextflow the name of a process may be followed by a tag: "ALIGN (sample 1)". */
static int parse_type(const struct run_file_columns *c, const struct csv_row *row,
                      struct past_run *run, struct err *err)
{
	struct scan text;
	const char *tag;

	if (!get_field(c, row, RUN_COLUMN_TYPE, &text))
		return err_set(err, EBADMSG, "no %s", names[c->kind][RUN_COLUMN_TYPE][0]);
	tag = c->kind == RUN_FILE_NEXTFLOW ? memmem(text.p, scan_left(&text), " (", 2) : NULL;
	if (tag && tag > text.p)
		text.end = tag;
	return copy_text(text, run->type, sizeof run->type) ? 0
	                                                    : refuse(err, c, RUN_COLUMN_TYPE, text);
}

static int parse_times(const struct run_file_columns *c, const struct csv_row *row,
                       struct past_run *run, struct err *err)
{
	struct scan text;

	if (!get_field(c, row, RUN_COLUMN_STARTED, &text))
		return err_set(err, EBADMSG, "no %s", names[c->kind][RUN_COLUMN_STARTED][0]);
	if (!parse_started(c->kind, text, &run->started_ns))
		return refuse(err, c, RUN_COLUMN_STARTED, text);
	if (!get_field(c, row, RUN_COLUMN_TOOK, &text))
		return err_set(err, EBADMSG, "no %s", names[c->kind][RUN_COLUMN_TOOK][0]);
	if (!parse_took(c->kind, text, &run->took_ns))
		return refuse(err, c, RUN_COLUMN_TOOK, text);
	return 0;
}

/* 1: there is one. */
static int parse_peak(const struct run_file_columns *c, const struct csv_row *row,
                      struct past_run *run, struct err *err)
{
	enum run_column column = RUN_COLUMN_PEAK_USED;
	struct scan text;
	bool is_read;

	run->basis = RUN_BASIS_JOB;
	if (!get_field(c, row, column, &text)) {
		column = RUN_COLUMN_PEAK_RSS;
		run->basis = RUN_BASIS_PROCESS;
		if (!get_field(c, row, column, &text))
			return 0;
	}
	is_read = c->kind == RUN_FILE_CSV ? parse_scaled(text, 1 << 20, &run->peak_bytes)
	                                  : parse_bytes(text, &run->peak_bytes);
	if (!is_read)
		return refuse(err, c, column, text);
	return run->peak_bytes > 0;
}

static bool parse_number(const struct run_file_columns *c, const struct csv_row *row,
                         enum run_number number, struct scan text, struct past_run *run)
{
	struct scan cpus_text;
	uint64_t cpus = 0;

	switch (number) {
	case RUN_CPU:
		return parse_cpu(c->kind, text, run->took_ns, &run->cpu_ns);
	case RUN_INPUT:
		return parse_scaled(text, 1, &run->input_bytes);
	case RUN_REQUESTED:
		if (c->kind == RUN_FILE_CSV)
			return parse_scaled(text, 1 << 20, &run->requested_bytes);
		if (get_field(c, row, RUN_COLUMN_CPUS, &cpus_text))
			(void)scan_u64(&cpus_text, &cpus);
		return parse_requested(text, cpus, &run->requested_bytes);
	case RUN_EXIT_CODE:
		return parse_exit_code(text, &run->exit_code);
	case RUN_NUMBERS:
		break;
	}
	return false;
}

/* Other tools write '?' and the like where they know nothing: absent. In a CSV file that is an error. */
static int parse_numbers(const struct run_file_columns *c, const struct csv_row *row,
                         struct past_run *run, struct err *err)
{
	static const enum run_column columns[RUN_NUMBERS] = {
		[RUN_CPU] = RUN_COLUMN_CPU,
		[RUN_INPUT] = RUN_COLUMN_INPUT,
		[RUN_REQUESTED] = RUN_COLUMN_REQUESTED,
		[RUN_EXIT_CODE] = RUN_COLUMN_EXIT_CODE,
	};
	struct scan text;

	for (enum run_number i = 0; i < RUN_NUMBERS; i++) {
		if (!get_field(c, row, columns[i], &text))
			continue;
		if (parse_number(c, row, i, text, run))
			run->has |= 1u << i;
		else if (c->kind == RUN_FILE_CSV)
			return refuse(err, c, columns[i], text);
	}
	if (!run->requested_bytes) /* sacct's 0 is no request */
		run->has &= ~(1u << RUN_REQUESTED);
	return 0;
}

static int parse_sheet(const struct run_file_columns *c, const struct csv_row *row,
                       struct past_run *run, struct err *err)
{
	struct scan text, at;
	uint64_t sheet;

	if (!get_field(c, row, RUN_COLUMN_SHEET, &text))
		return 0;
	at = text;
	if (!scan_u64(&at, &sheet) || !scan_at_end(&at) || sheet > UINT32_MAX)
		return refuse(err, c, RUN_COLUMN_SHEET, text);
	run->sheet = (uint32_t)sheet;
	return 0;
}

static int parse_texts(const struct run_file_columns *c, const struct csv_row *row,
                       struct past_run *run, struct err *err)
{
	struct scan text;

	if (get_field(c, row, RUN_COLUMN_ID, &text) && !copy_text(text, run->id, sizeof run->id))
		return refuse(err, c, RUN_COLUMN_ID, text);
	if (get_field(c, row, RUN_COLUMN_TAGS, &text) &&
	    !copy_text(text, run->tags, sizeof run->tags))
		return refuse(err, c, RUN_COLUMN_TAGS, text);
	if (!get_field(c, row, RUN_COLUMN_OUTCOME, &text))
		return 0;
	if (c->kind != RUN_FILE_CSV)
		return parse_state(c->kind, text, run->outcome, err);
	return parse_outcome(text, run->outcome) ? 0 : refuse(err, c, RUN_COLUMN_OUTCOME, text);
}

/* All but the peak. */
static int parse_rest(const struct run_file_columns *c, const struct csv_row *row,
                      struct past_run *run, struct err *err)
{
	if (parse_texts(c, row, run, err) < 0 || parse_type(c, row, run, err) < 0 ||
	    parse_times(c, row, run, err) < 0 || parse_sheet(c, row, run, err) < 0)
		return -err->code;
	return parse_numbers(c, row, run, err);
}

static int no_peak(struct err *err)
{
	return err_set(err, EBADMSG, "no peak of memory");
}

static int add_single(struct run_file_reader *r, const struct csv_row *row, struct past_run *ret,
                      struct err *err)
{
	struct past_run run = { 0 };
	int has_peak;

	if (parse_rest(&r->columns, row, &run, err) < 0)
		return -err->code;
	has_peak = parse_peak(&r->columns, row, &run, err);
	if (has_peak <= 0)
		return has_peak < 0 ? has_peak : no_peak(err);
	*ret = run;
	return 1;
}

/* The pending job, which is complete. */
static int take_pending(struct run_file_reader *r, struct past_run *ret, uint64_t *ret_line,
                        struct err *err)
{
	if (!r->has_pending)
		return 0;
	r->has_pending = false;
	*ret_line = r->pending_line;
	if (*r->pending_why)
		return err_set(err, EBADMSG, "%s", r->pending_why);
	if (!r->pending.peak_bytes)
		return no_peak(err);
	*ret = r->pending;
	return 1;
}

/* The step 12.batch or 12.0 of the job 12. */
static bool is_step_of(const struct run_file_reader *r, struct scan id)
{
	return r->has_pending && scan_lit(&id, r->pending.id) && scan_lit(&id, ".");
}

static void add_step(struct run_file_reader *r, const struct csv_row *row)
{
	struct past_run step = { 0 };
	struct err err;

	if (parse_peak(&r->columns, row, &step, &err) > 0)
		r->pending.peak_bytes = MAX(r->pending.peak_bytes, step.peak_bytes);
}

static int add_sacct(struct run_file_reader *r, const struct csv_row *row, struct past_run *ret,
                     uint64_t *ret_line, struct err *err)
{
	struct scan id = { 0 };
	struct err why;
	int result;

	if (get_field(&r->columns, row, RUN_COLUMN_ID, &id) && is_step_of(r, id)) {
		add_step(r, row);
		return 0;
	}
	result = take_pending(r, ret, ret_line, err);
	r->pending = (struct past_run){ .basis = RUN_BASIS_PROCESS };
	r->pending_why[0] = '\0';
	r->pending_line = row->line;
	r->has_pending = true;
	if (parse_rest(&r->columns, row, &r->pending, &why) < 0)
		snprintf(r->pending_why, sizeof r->pending_why, "%.63s", why.msg);
	add_step(r, row); /* without steps the job's own row may have it */
	r->pending.basis = RUN_BASIS_PROCESS;
	return result;
}

int run_file_reader_add(struct run_file_reader *r, const struct csv_row *row, struct past_run *ret,
                        uint64_t *ret_line, struct err *err)
{
	if (!row)
		return take_pending(r, ret, ret_line, err);
	if (r->columns.kind == RUN_FILE_SACCT)
		return add_sacct(r, row, ret, ret_line, err);
	*ret_line = row->line;
	return add_single(r, row, ret, err);
}
