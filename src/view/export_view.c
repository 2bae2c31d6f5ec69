/* SPDX-License-Identifier: MIT */
#include "view/export_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "view/job_view.h"

static struct json begin_line(struct buf *out, const char *type)
{
	struct json j = { .out = out };

	json_begin_object(&j);
	json_put_str(&j, "type", type);
	return j;
}

static void end_line(struct json *j)
{
	json_end_object(j);
	buf_putc(j->out, '\n');
}

void export_job_line(struct buf *out, const struct job *job)
{
	struct json j = begin_line(out, "job");

	json_put_u64(&j, "schema", RECORD_SCHEMA);
	field_table_json(&j, &job_fields, job);
	json_put_str(&j, "result", job_view_result(job).at);
	end_line(&j);
}

void export_record_line(struct buf *out, const char *type, const struct export_place *place,
                        const struct field_table *fields, const void *record)
{
	struct json j = begin_line(out, type);

	if (place->job_id)
		json_put_str(&j, "job_id", place->job_id);
	json_key(&j, "elapsed");
	field_figure_json(&j, UNIT_NS, place->elapsed_ns);
	field_table_json(&j, fields, record);
	end_line(&j);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_amount(struct row_writer *r, enum metric_unit unit, uint64_t value)
{
	double scale = metric_unit_scale(unit);

	if (scale > 1)
		row_writer_real(r, (double)value / scale);
	else
		row_writer_i64(r, (int64_t)value);
}

static void put_integer(struct row_writer *r, const struct field *f, int64_t value)
{
	if (f->type == FIELD_ORDINAL && !value)
		row_writer_null(r);
	else if (f->unit == UNIT_NS) /* a time: to the microsecond, as everywhere */
		row_writer_real(r, (double)((uint64_t)value / NS_PER_US) / 1e6);
	else
		put_amount(r, f->unit, (uint64_t)value);
}

static void put_figure(struct row_writer *r, enum metric_unit unit, struct figure figure)
{
	if (figure.quality == QUALITY_MISSING)
		row_writer_null(r);
	else
		put_amount(r, unit, figure.value);
}

static void put_field(struct row_writer *r, const struct field *f, const void *record)
{
	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_CHARS:
	case FIELD_STRING:
	case FIELD_WORDS:
	case FIELD_NAME:
		row_writer_str(r, field_text(f, record));
		break;
	case FIELD_LETTER:
		row_writer_text(r, (char[]){ field_letter(f, record) }, 1);
		break;
	case FIELD_NUMBER:
	case FIELD_ORDINAL:
	case FIELD_BOOL:
		put_integer(r, f, field_integer(f, record));
		break;
	case FIELD_CODE:
		if (field_has_code(f, record))
			row_writer_i64(r, field_integer(f, record));
		else
			row_writer_null(r);
		break;
	case FIELD_FIGURE:
		put_figure(r, f->unit, field_figure(f, record));
		break;
	case FIELD_RATIO:
	case FIELD_REAL:
		/* 40.4, not 40.400000000000006 */
		row_writer_real(r, round(field_real(f, record) * 1000) / 1000);
		break;
	case FIELD_PUT:
	case FIELD_QUALITY:
	case FIELD_READINGS:
		row_writer_null(r); /* objects have no column, and no layout has readings */
		break;
	}
}

#define QUALITY_NAME_MAX 64

/* Of "cpu_seconds" it is "cpu_quality"; a count has no unit in its name. */
static const char *put_quality_name(char to[QUALITY_NAME_MAX], const char *key, bool has_unit)
{
	const char *unit = has_unit ? strrchr(key, '_') : NULL;
	size_t stem = unit ? (size_t)(unit - key) : strlen(key);

	snprintf(to, QUALITY_NAME_MAX, "%.*s_quality", (int)stem, key);
	return to;
}

static void add_column(struct csv *csv, const struct field *f, bool is_quality)
{
	if (csv->n == CSV_COLUMNS_MAX)
		return;
	csv->columns[csv->n].field = f;
	csv->columns[csv->n++].is_quality = is_quality;
}

/* A quality follows its value; those of what is no figure come last. */
static void add_columns(struct csv *csv, const struct csv_layout *layout)
{
	const struct field *end = layout->fields->at + layout->fields->n;

	for (size_t i = 0; layout->columns && i < layout->n; i++)
		add_column(csv, field_find(layout->fields, layout->columns[i]), false);
	if (layout->columns)
		return;
	for (const struct field *f = layout->fields->at; f < end; f++) {
		if (!layout->has_qualities || f->in & IN_CSV)
			add_column(csv, f, false);
		if (layout->has_qualities && field_has_quality(f) && !f->quality)
			add_column(csv, f, true);
	}
	for (const struct field *f = layout->fields->at; f < end; f++)
		if (layout->has_qualities && f->quality)
			add_column(csv, f, true);
}

void export_csv_begin(struct csv *csv, const struct csv_layout *layout, struct row_writer *r)
{
	const char *names[CSV_COLUMNS_MAX + 2];
	char qualities[CSV_COLUMNS_MAX][QUALITY_NAME_MAX];
	size_t n = 0;

	*csv = (struct csv){ .r = r };
	add_columns(csv, layout);
	for (; n < csv->n; n++)
		names[n] = csv->columns[n].is_quality
		                   ? put_quality_name(qualities[n], csv->columns[n].field->key,
		                                      true)
		                   : csv->columns[n].field->key;
	for (size_t i = 0; i < export_fields.n; i++)
		names[n++] = export_fields.at[i].key;
	row_writer_begin(r, names, n);
}

void export_csv_put(struct csv *csv, const struct export_place *place, const void *record)
{
	for (size_t i = 0; i < csv->n; i++) {
		const struct field *f = csv->columns[i].field;

		if (csv->columns[i].is_quality)
			row_writer_str(csv->r, quality_key(field_quality(f, record)));
		else
			put_field(csv->r, f, record);
	}
	for (size_t i = 0; i < export_fields.n; i++)
		put_field(csv->r, &export_fields.at[i], place);
	row_writer_end_row(csv->r);
}

/* ---- CSV of jobs ----------------------------------------------------------------------------- */

void export_jobs_csv_begin(struct row_writer *r)
{
	const char *names[CSV_COLUMNS_MAX + (size_t)2 * JOB_FIGURE_COUNT];
	char qualities[JOB_FIGURE_COUNT][QUALITY_NAME_MAX];
	size_t n = 0;

	for (size_t i = 0; i < job_fields.n; i++)
		if (job_fields.at[i].in & IN_CSV && n < CSV_COLUMNS_MAX)
			names[n++] = job_fields.at[i].key;
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		names[n++] = job_figures[i].key;
		names[n++] = put_quality_name(qualities[i], job_figures[i].key,
		                              job_figures[i].unit != UNIT_COUNT);
	}
	row_writer_begin(r, names, n);
}

void export_jobs_csv_put(struct row_writer *r, const struct job *job)
{
	for (size_t i = 0; i < job_fields.n; i++)
		if (job_fields.at[i].in & IN_CSV)
			put_field(r, &job_fields.at[i], job);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		put_figure(r, job_figures[i].unit, job->figures[i]);
		row_writer_str(r, quality_key(job->figures[i].quality));
	}
	row_writer_end_row(r);
}

/* ---- columns in another order than that of JSON ------------------------------------------------ */

static const char *const event_columns[] = {
	"timestamp",  "event_type", "pid",   "sheet_num", "exit_code",
	"signal_num", "name",       "count", "inferred",  "details",
};

const struct csv_layout csv_processes = { &process_fields, .has_qualities = true };
const struct csv_layout csv_events = { &event_fields, event_columns, ARRAY_LEN(event_columns) };
const struct csv_layout csv_samples = { &job_sum_fields };
const struct csv_layout csv_process_samples = { &process_sample_fields };
const struct csv_layout csv_gpus = { &gpu_sample_fields };
