/* SPDX-License-Identifier: MIT */
#include "sqlite/record_column.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/hash.h"
#include "sqlite/column.h"

void record_columns_select(struct buf *sql, const struct field_table *table)
{
	for (size_t i = 0; i < table->n; i++)
		buf_printf(sql, "%s%s", i ? ", " : "", table->at[i].key);
}

static bool is_duration(const struct field *f)
{
	size_t len = strlen(f->key);

	return len > 3 && !strcmp(f->key + len - 3, "_us");
}

static uint64_t read_number(const struct field *f, sqlite3_stmt *stmt, int column)
{
	int64_t value = sqlite3_column_int64(stmt, column);

	if (f->unit == UNIT_NS && !is_duration(f))
		return db_time_ns(sqlite3_column_double(stmt, column));
	return column_inside(&(const struct metric){ .unit = f->unit }, value);
}

static void set_number(const struct field *f, void *member, uint64_t value)
{
	if (f->size == sizeof(uint64_t))
		*(uint64_t *)member = value;
	else if (f->size == sizeof(uint32_t))
		*(uint32_t *)member = (uint32_t)value;
	else
		*(bool *)member = value != 0;
}

static struct figure read_figure(const struct field *f, sqlite3_stmt *stmt, int column)
{
	int64_t value = db_column_or_absent(stmt, column);

	if (value < 0)
		return (struct figure){ 0 };
	return (struct figure){ column_inside(&(const struct metric){ .unit = f->unit }, value),
		                f->is_sampled ? QUALITY_SAMPLED : QUALITY_AT_LEAST };
}

static void read_field(const struct field *f, sqlite3_stmt *stmt, int column, char *record)
{
	const char *text = NULL;
	void *member = record + f->at;

	switch (f->type) {
	case FIELD_TEXT:
	case FIELD_CHARS:
		text = (const char *)sqlite3_column_text(stmt, column);
		snprintf(member, f->size, "%s", text ? text : "");
		break;
	case FIELD_STRING:
	case FIELD_WORDS:
		text = (const char *)sqlite3_column_text(stmt, column);
		*(const char **)member = text || f->type == FIELD_STRING ? text : "";
		break;
	case FIELD_CODE:
		*(bool *)(record + f->has) = sqlite3_column_type(stmt, column) == SQLITE_INTEGER;
		*(int *)member = sqlite3_column_int(stmt, column);
		break;
	case FIELD_FIGURE:
		*(struct figure *)member = read_figure(f, stmt, column);
		break;
	case FIELD_RATIO:
		*(double *)member = column_ratio_inside(db_column_or_absent(stmt, column));
		break;
	case FIELD_REAL:
		*(double *)member = db_column_real(stmt, column);
		break;
	case FIELD_NUMBER:
	case FIELD_ORDINAL:
	case FIELD_BOOL:
		set_number(f, member, read_number(f, stmt, column));
		break;
	case FIELD_NAME: /* these are only shown */
	case FIELD_PUT:
	case FIELD_LETTER:
	case FIELD_QUALITY:
	case FIELD_READINGS:
		break;
	}
}

void record_columns_read(sqlite3_stmt *stmt, int column, const struct field_table *table,
                         void *record)
{
	for (size_t i = 0; i < table->n; i++)
		read_field(&table->at[i], stmt, column + (int)i, record);
}

static struct bind bind_field(const struct field *f, const void *record)
{
	const struct metric like = { .unit = f->unit };
	uint64_t value;

	if (f->type == FIELD_TEXT)
		return bind_text_or_null(field_text(f, record), f->size);
	if (f->type == FIELD_CHARS)
		return bind_text(field_text(f, record), f->size);
	if (f->type == FIELD_CODE)
		return bind_int_if(field_has_code(f, record), field_integer(f, record));
	if (f->type == FIELD_RATIO)
		return bind_or_null(column_ratio(field_real(f, record) / 100));
	if (f->type == FIELD_FIGURE)
		return bind_int_if(figure_is_known(field_figure(f, record)),
		                   column_value(&like, field_figure(f, record).value));
	value = (uint64_t)field_integer(f, record);
	if (f->unit == UNIT_NS && !is_duration(f))
		return bind_time(value);
	return bind_int_if(column_value(&like, value) || f->type == FIELD_NUMBER,
	                   column_value(&like, value));
}

void record_columns_bind(sqlite3_stmt *stmt, int index, const struct field_table *table,
                         const void *record)
{
	for (size_t i = 0; i < table->n; i++)
		bind_value(stmt, index + (int)i, bind_field(&table->at[i], record));
}

uint64_t record_columns_hash(uint64_t hash, const struct field_table *table, const void *record)
{
	for (size_t i = 0; i < table->n; i++) {
		struct bind value = bind_field(&table->at[i], record);

		hash = hash_bytes(hash, &value.type, sizeof value.type);
		if (value.type == SQLITE_TEXT)
			hash = hash_bytes(hash, value.text, strnlen(value.text, value.len));
		else if (value.type != SQLITE_NULL)
			hash = hash_bytes(hash, &value.integer, sizeof value.integer);
	}
	return hash;
}
