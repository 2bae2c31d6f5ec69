/* SPDX-License-Identifier: MIT */
#include "model/field.h"

#include <math.h>
#include <string.h>

#include "base/clock.h"

#define MIB_DECIMALS 5 /* a reader of our JSON then shows the same tenth of a KiB as we do */

/* Rounded; past 2^60 bytes the kernel lies anyway. */
static void put_mib(struct json *j, uint64_t bytes)
{
	uint64_t steps = 100000; /* in a MiB */

	bytes = MIN(bytes, UINT64_C(1) << 60);
	json_fixed(j,
	           (bytes >> 20) * steps + (((bytes & ((1 << 20) - 1)) * steps + (1 << 19)) >> 20),
	           MIB_DECIMALS);
}

void field_metric_json(struct json *j, enum metric_unit unit, uint64_t value)
{
	switch (unit) {
	case UNIT_COUNT:
	case UNIT_BYTES:
		json_u64(j, value);
		break;
	case UNIT_MIB:
		put_mib(j, value);
		break;
	case UNIT_NS:
		json_fixed(j, value / NS_PER_US, 6);
		break;
	case UNIT_MILLI:
		json_fixed(j, value, 3);
		break;
	case UNIT_PCT:
		json_fixed(j, value, 1);
		break;
	case UNIT_WH:
		json_double(j, (double)value / MJ_PER_WH, 6);
		break;
	}
}

void field_figure_json(struct json *j, enum metric_unit unit, struct figure figure)
{
	if (figure.quality == QUALITY_MISSING)
		json_nil(j);
	else
		field_metric_json(j, unit, figure.value);
}

void field_readings_json(struct json *j, const struct metric *table, size_t n, uint64_t present,
                         const uint64_t *value)
{
	for (size_t i = 0; i < n; i++) {
		if (present >> i & 1) {
			json_key(j, table[i].key);
			field_metric_json(j, table[i].unit, value[i]);
		} else if (table[i].need == METRIC_ALWAYS) {
			json_key(j, table[i].key);
			json_nil(j);
		}
	}
}

static const void *member(const struct field *f, const void *record)
{
	return (const char *)record + f->at;
}

int64_t field_integer(const struct field *f, const void *record)
{
	const void *at = member(f, record);

	if (f->size == sizeof(int64_t))
		return *(const int64_t *)at;
	return f->size == sizeof(bool) ? *(const bool *)at : *(const uint32_t *)at;
}

double field_real(const struct field *f, const void *record)
{
	double v = *(const double *)member(f, record);

	return f->type == FIELD_RATIO ? v * 100 : f->unit == UNIT_MIB ? v / (1 << 20) : v;
}

struct figure field_figure(const struct field *f, const void *record)
{
	return *(const struct figure *)member(f, record);
}

double field_shown(const struct field *f, const void *record)
{
	struct figure figure;

	if (f->type == FIELD_RATIO)
		return field_real(f, record);
	if (f->type == FIELD_NUMBER)
		return (double)field_integer(f, record) / metric_unit_scale(f->unit);
	figure = field_figure(f, record);
	return figure_is_known(figure) ? (double)figure.value / metric_unit_scale(f->unit)
	                               : (double)NAN;
}

const char *field_text(const struct field *f, const void *record)
{
	if (f->type == FIELD_TEXT || f->type == FIELD_CHARS)
		return member(f, record);
	return f->type == FIELD_NAME ? f->name(record) : *(const char *const *)member(f, record);
}

char field_letter(const struct field *f, const void *record)
{
	return *(const char *)member(f, record);
}

bool field_has_code(const struct field *f, const void *record)
{
	return *((const bool *)record + f->has);
}

bool field_has_quality(const struct field *f)
{
	return f->quality || f->is_sampled || f->type == FIELD_FIGURE;
}

enum quality field_quality(const struct field *f, const void *record)
{
	if (f->is_sampled)
		return isfinite(field_real(f, record)) ? QUALITY_SAMPLED : QUALITY_MISSING;
	return f->quality ? f->quality(record) : field_figure(f, record).quality;
}

static void put_number(struct json *j, enum metric_unit unit, int64_t value)
{
	if (unit == UNIT_COUNT)
		json_i64(j, value);
	else
		field_metric_json(j, unit, (uint64_t)value);
}

static void put_value(struct json *j, const struct field_table *table, const struct field *f,
                      const void *record)
{
	const char *text;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_STRING:
	case FIELD_NAME:
		text = field_text(f, record);
		json_str(j, text && *text ? text : NULL);
		break;
	case FIELD_CHARS:
	case FIELD_WORDS:
		text = field_text(f, record);
		json_str(j, text ? text : "");
		break;
	case FIELD_LETTER:
		json_strn(j, member(f, record), field_letter(f, record) ? 1 : 0);
		break;
	case FIELD_NUMBER:
		put_number(j, f->unit, field_integer(f, record));
		break;
	case FIELD_ORDINAL:
		if (field_integer(f, record))
			put_number(j, f->unit, field_integer(f, record));
		else
			json_nil(j);
		break;
	case FIELD_CODE:
		if (field_has_code(f, record))
			json_i64(j, field_integer(f, record));
		else
			json_nil(j);
		break;
	case FIELD_BOOL:
		json_bool(j, field_integer(f, record));
		break;
	case FIELD_FIGURE:
		field_figure_json(j, f->unit, field_figure(f, record));
		break;
	case FIELD_RATIO:
	case FIELD_REAL:
		json_double(j, field_real(f, record), f->decimals);
		break;
	case FIELD_PUT:
		f->put(j, record);
		break;
	case FIELD_QUALITY:
		json_begin_object(j);
		field_table_json_qualities(j, table, record);
		json_end_object(j);
		break;
	case FIELD_READINGS: /* members, not a value */
		break;
	}
}

static bool is_missing(const struct field *f, const void *record)
{
	const char *text;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_CHARS:
	case FIELD_STRING:
	case FIELD_WORDS:
	case FIELD_NAME:
		text = field_text(f, record);
		return !text || !*text;
	case FIELD_NUMBER:
	case FIELD_ORDINAL:
	case FIELD_BOOL:
		return !field_integer(f, record);
	case FIELD_CODE:
		return !field_has_code(f, record);
	case FIELD_FIGURE:
		return !figure_is_known(field_figure(f, record));
	case FIELD_RATIO:
	case FIELD_REAL:
		return !isfinite(field_real(f, record));
	case FIELD_PUT:
		return !f->has_any(record);
	case FIELD_LETTER:
	case FIELD_QUALITY:
	case FIELD_READINGS:
		break;
	}
	return false;
}

static void put_readings(struct json *j, const struct field *f, const void *record)
{
	const uint64_t *readings = member(f, record); /* READINGS(): the set, then the values */

	field_readings_json(j, f->metrics, f->n_metrics, readings[0], readings + 1);
}

static void put_member(struct json *j, const struct field_table *table, const struct field *f,
                       const void *record)
{
	if (f->is_optional && is_missing(f, record))
		return;
	if (f->type == FIELD_READINGS) {
		put_readings(j, f, record);
		return;
	}
	json_key(j, f->key);
	put_value(j, table, f, record);
}

void field_table_json(struct json *j, const struct field_table *table, const void *record)
{
	for (const struct field *f = table->at; f < table->at + table->n; f++)
		put_member(j, table, f, record);
}

void field_table_json_in(struct json *j, const struct field_table *table, enum field_list list,
                         const void *record)
{
	for (const struct field *f = table->at; f < table->at + table->n; f++)
		if (f->in & list)
			put_member(j, table, f, record);
}

void field_table_json_object(struct json *j, const struct field_table *table, const void *record)
{
	json_begin_object(j);
	field_table_json(j, table, record);
	json_end_object(j);
}

void field_table_json_qualities(struct json *j, const struct field_table *table, const void *record)
{
	for (const struct field *f = table->at; f < table->at + table->n; f++) {
		if (!field_has_quality(f))
			continue;
		json_key(j, f->key);
		json_str(j, quality_key(field_quality(f, record)));
	}
}

const struct field *field_find(const struct field_table *table, const char *key)
{
	for (const struct field *f = table->at; f < table->at + table->n; f++)
		if (strcmp(f->key, key) == 0)
			return f;
	return NULL;
}
