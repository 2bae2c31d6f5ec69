/* SPDX-License-Identifier: MIT */
#include "view/export_view.h"

#include <math.h>
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
	fields_json(&j, &job_fields, job);
	json_put_str(&j, "result", job_result(job).at);
	end_line(&j);
}

void export_record_line(struct buf *out, const char *type, const char *job_id,
                        const struct field_table *fields, const void *record)
{
	struct json j = begin_line(out, type);

	if (job_id)
		json_put_str(&j, "job_id", job_id);
	fields_json(&j, fields, record);
	end_line(&j);
}

/* ---- CSV ------------------------------------------------------------------------------------- */

static void put_amount(struct row_writer *r, enum metric_unit unit, uint64_t value)
{
	static const double divisors[] = {
		[UNIT_NS] = 1e9, [UNIT_MIB] = 1 << 20, [UNIT_MILLI] = 1e3,
		[UNIT_PCT] = 10, [UNIT_COUNT] = 0,     [UNIT_BYTES] = 0
	};

	if (divisors[unit] > 0)
		row_writer_real(r, (double)value / divisors[unit]);
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

static void put_field(struct row_writer *r, const struct field *f, const void *record)
{
	struct figure figure;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_CHARS:
	case FIELD_STRING:
	case FIELD_WORDS:
	case FIELD_NAME:
		row_writer_str(r, field_text(f, record));
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
		figure = field_figure(f, record);
		if (figure.quality == QUALITY_MISSING)
			row_writer_null(r);
		else
			put_amount(r, f->unit, figure.value);
		break;
	case FIELD_RATIO:
	case FIELD_REAL:
		row_writer_real(r, field_real(f, record));
		break;
	case FIELD_PUT:
	case FIELD_QUALITY:
		row_writer_null(r); /* objects have no column */
		break;
	}
}

/* "cpu_quality" is the quality of cpu_seconds: the part of the key before its unit. */
static const struct field *find_column(const struct field_table *table, const char *column,
                                       bool *ret_is_quality)
{
	const struct field *f = field_find(table, column);
	size_t stem = f ? 0 : strlen(column) - strlen("quality");

	*ret_is_quality = !f;
	for (size_t i = 0; !f && i < table->n; i++)
		if (field_has_quality(&table->at[i]) &&
		    strncmp(table->at[i].key, column, stem) == 0 &&
		    !strchr(table->at[i].key + stem, '_'))
			f = &table->at[i];
	return f;
}

void csv_begin(struct csv *csv, const struct csv_layout *layout, struct row_writer *r)
{
	csv->n = layout->n;
	csv->r = r;
	for (size_t i = 0; i < layout->n; i++)
		csv->columns[i].field = find_column(layout->fields, layout->columns[i],
		                                    &csv->columns[i].is_quality);
	row_writer_begin(r, layout->columns, layout->n);
}

void csv_put(struct csv *csv, const void *record)
{
	for (size_t i = 0; i < csv->n; i++) {
		const struct field *f = csv->columns[i].field;

		if (csv->columns[i].is_quality)
			row_writer_str(csv->r, quality_key(field_quality(f, record)));
		else
			put_field(csv->r, f, record);
	}
	row_writer_end_row(csv->r);
}

static const char *const process_columns[] = {
	"pid",
	"ppid",
	"uid",
	"sheet_num",
	"name",
	"command",
	"started_at",
	"ended_at",
	"exit_code",
	"signal_num",
	"cpu_seconds",
	"cpu_quality",
	"peak_rss_mb",
	"peak_rss_quality",
	"read_bytes",
	"read_quality",
	"written_bytes",
	"written_quality",
	"max_cpu_pct",
	"max_cpu_quality",
	"started_quality",
};
static const char *const event_columns[] = {
	"timestamp",  "event_type", "pid",   "sheet_num", "exit_code",
	"signal_num", "name",       "count", "inferred",  "details",
};
static const char *const sample_columns[] = { "timestamp",   "processes", "rss_mb",
	                                      "cpu_percent", "used_mb",   "charged_mb",
	                                      "cpu_seconds" };
static_assert(ARRAY_LEN(process_columns) <= CSV_COLUMNS_MAX, "struct csv holds them");

const struct csv_layout csv_processes = { &process_fields, process_columns,
	                                  ARRAY_LEN(process_columns) };
const struct csv_layout csv_events = { &event_fields, event_columns, ARRAY_LEN(event_columns) };
const struct csv_layout csv_samples = { &job_sum_fields, sample_columns,
	                                ARRAY_LEN(sample_columns) };
