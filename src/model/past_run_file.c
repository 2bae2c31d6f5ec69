/* SPDX-License-Identifier: MIT */
#include "model/past_run_format.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const struct run_format *const formats[RUN_FILE_KINDS] = {
	[RUN_FILE_CSV] = &run_format_csv,
	[RUN_FILE_SACCT] = &run_format_sacct,
	[RUN_FILE_NEXTFLOW] = &run_format_nextflow,
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

int past_run_file_parse_header(const struct csv_row *header, struct run_file_columns *ret,
                               struct err *err)
{
	static const enum run_column needed[] = { RUN_COLUMN_TYPE, RUN_COLUMN_STARTED,
		                                  RUN_COLUMN_TOOK };
	struct run_file_columns found = { .kind = RUN_FILE_CSV, .n = header->n };

	if (find_column(header, run_format_sacct.names[RUN_COLUMN_PEAK_RSS]) != SIZE_MAX)
		found.kind = RUN_FILE_SACCT;
	else if (find_column(header, run_format_nextflow.names[RUN_COLUMN_PEAK_RSS]) != SIZE_MAX)
		found.kind = RUN_FILE_NEXTFLOW;
	for (size_t i = 0; i < RUN_COLUMNS; i++)
		found.at[i] = find_column(header, formats[found.kind]->names[i]);
	for (size_t i = 0; i < ARRAY_LEN(needed); i++)
		if (!has_column(&found, needed[i]))
			return err_set(err, EBADMSG, "the header has no column '%s'",
			               formats[found.kind]->names[needed[i]][0]);
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

/* ---- rows ------------------------------------------------------------------------------------- */

static int refuse(struct err *err, const struct run_file_columns *c, enum run_column column,
                  struct scan text)
{
	return err_set(err, EBADMSG, "%s '%.*s': not readable",
	               formats[c->kind]->names[column][0] ? formats[c->kind]->names[column][0]
	                                                  : "value",
	               (int)MIN(scan_left(&text), (size_t)40), text.p);
}

/* Of Nextflow the name of a process may be followed by a tag: "ALIGN (sample 1)". */
static int parse_type(const struct run_file_columns *c, const struct csv_row *row,
                      struct past_run *run, struct err *err)
{
	struct scan text;
	const char *tag;

	if (!get_field(c, row, RUN_COLUMN_TYPE, &text))
		return err_set(err, EBADMSG, "no %s", formats[c->kind]->names[RUN_COLUMN_TYPE][0]);
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
		return err_set(err, EBADMSG, "no %s",
		               formats[c->kind]->names[RUN_COLUMN_STARTED][0]);
	if (!formats[c->kind]->started(text, &run->started_ns))
		return refuse(err, c, RUN_COLUMN_STARTED, text);
	if (!get_field(c, row, RUN_COLUMN_TOOK, &text))
		return err_set(err, EBADMSG, "no %s", formats[c->kind]->names[RUN_COLUMN_TOOK][0]);
	if (!formats[c->kind]->took(text, &run->took_ns))
		return refuse(err, c, RUN_COLUMN_TOOK, text);
	return 0;
}

/* 1: there is one. */
static int parse_peak(const struct run_file_columns *c, const struct csv_row *row,
                      struct past_run *run, struct err *err)
{
	enum run_column column = RUN_COLUMN_PEAK_USED;
	struct scan text;

	run->basis = RUN_BASIS_JOB;
	if (!get_field(c, row, column, &text)) {
		column = RUN_COLUMN_PEAK_RSS;
		run->basis = RUN_BASIS_PROCESS;
		if (!get_field(c, row, column, &text))
			return 0;
	}
	if (!formats[c->kind]->peak(text, &run->peak_bytes))
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
		return formats[c->kind]->cpu(text, run->took_ns, &run->cpu_ns);
	case RUN_INPUT:
		return past_run_format_scaled(text, 1, &run->input_bytes);
	case RUN_REQUESTED:
		if (get_field(c, row, RUN_COLUMN_CPUS, &cpus_text))
			(void)scan_u64(&cpus_text, &cpus);
		return formats[c->kind]->requested(text, cpus, &run->requested_bytes);
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
		else if (formats[c->kind]->is_strict)
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
	switch (formats[c->kind]->outcome(text, run->outcome, err)) {
	case 0:
		return 0;
	case -EINVAL:
		return refuse(err, c, RUN_COLUMN_OUTCOME, text);
	default:
		return -err->code;
	}
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

int past_run_file_add(struct run_file_reader *r, const struct csv_row *row, struct past_run *ret,
                      uint64_t *ret_line, struct err *err)
{
	if (!row)
		return take_pending(r, ret, ret_line, err);
	if (r->columns.kind == RUN_FILE_SACCT)
		return add_sacct(r, row, ret, ret_line, err);
	*ret_line = row->line;
	if (row->n > r->columns.n) /* a separator within a field: those behind it are others */
		return err_set(err, EBADMSG, "%zu fields, but the header has %zu", row->n,
		               r->columns.n);
	return add_single(r, row, ret, err);
}
