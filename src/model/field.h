/* SPDX-License-Identifier: MIT */
/* field.h - one line per fact of a record: its key, where the record holds it, its unit, what it means.
 * JSON, CSV and `proctor help fields` are walks over these tables (model/record_fields.h lists them);
 * readings and figures, which are held by id, have tables of metrics instead (model/metric.h).
 *
 *	#define RECORD struct sheet_record
 *	static const struct field rows[] = {
 *		{ "sheet_num", FIELD(NUMBER, s.num), .help = "its number" },
 *		…
 *	};
 *	#undef RECORD */
#pragma once

#include <stddef.h>

#include "base/json.h"
#include "model/metric.h"

enum field_type {
	FIELD_TEXT,    /* char[]; "" is null */
	FIELD_CHARS,   /* char[]; "" is "" */
	FIELD_STRING,  /* const char *; NULL and "" are null */
	FIELD_WORDS,   /* const char *; NULL is "" */
	FIELD_LETTER,  /* a char */
	FIELD_NUMBER,  /* an integer, in its unit */
	FIELD_ORDINAL, /* the same, but 0 is null: counted from 1, or a time */
	FIELD_CODE,    /* an int that counts only when the bool `has` is true */
	FIELD_BOOL,
	FIELD_FIGURE,  /* struct figure, in its unit */
	FIELD_RATIO,   /* a double, shown in percent; NAN is null */
	FIELD_REAL,    /* a double, bytes if the unit is UNIT_MIB; NAN is null */
	FIELD_NAME,    /* what `name` returns for the record; NULL is null */
	FIELD_PUT,     /* `put` writes the value */
	FIELD_QUALITY, /* an object with the quality of every field before it that has one */
	FIELD_READINGS /* a member for each metric of `metrics`: see FIELD_METRICS */
};

/* The shorter lists that a field of a record is in. */
enum field_list {
	IN_LIST = 1 << 0,      /* what job.list answers */
	IN_EVENT = 1 << 1,     /* what is published as it changes */
	IN_CSV = 1 << 2,       /* what has a column */
	IN_ANNOUNCED = 1 << 3, /* what its own recorder reports to the daemon */
};

struct field {
	const char *key; /* in JSON, CSV and SQL */
	enum field_type type;
	unsigned short at, size; /* of the member */
	unsigned short has;      /* FIELD_CODE: where its bool is */
	unsigned short decimals; /* FIELD_RATIO, FIELD_REAL */
	bool is_sampled;         /* FIELD_RATIO: its quality is `sampled`; NAN: missing */
	bool is_optional;        /* left out of JSON when it is missing, empty, 0 or false */
	enum metric_unit unit;
	unsigned in; /* enum field_list: the shorter lists that it is in, too */
	const char *(*name)(const void *record);         /* FIELD_NAME */
	void (*put)(struct json *j, const void *record); /* FIELD_PUT */
	bool (*has_any)(const void *record);             /* FIELD_PUT that is optional */
	enum quality (*quality)(const void *record); /* NULL: only figures and ratios have one */
	const struct metric *metrics;                /* FIELD_READINGS */
	size_t n_metrics;
	const char *help;
};

#define FIELD(type_, member) FIELD_##type_, offsetof(RECORD, member), sizeof(((RECORD *)0)->member)
#define FIELD_EXIT_CODE(member, has_member)                                                        \
	{                                                                                          \
		"exit_code", FIELD(CODE, member),                                                  \
			.has = offsetof(RECORD, has_member), .in = IN_LIST | IN_EVENT | IN_CSV,    \
			.help = "exit status; null: it has not ended, or died of a signal"         \
	}
/* The readings of one scope, between the fields before and behind them. */
#define FIELD_METRICS(member, table)                                                               \
	{                                                                                          \
		"", FIELD(READINGS, member), .metrics = (table), .n_metrics = ARRAY_LEN(table)     \
	}
/* The job of a record with the members job_id, job_uid, has_job_uid and sheet. */
#define FIELDS_JOB                                                                                 \
	{ "job_id", FIELD(STRING, job_id), .help = "the job it belongs to; null: none" },          \
		{ "job_uid", FIELD(CODE, job_uid), .has = offsetof(RECORD, has_job_uid),           \
		  .is_optional = true, .help = "the user of that job; absent: none" },             \
	{                                                                                          \
		"sheet_num", FIELD(ORDINAL, sheet), .help = "the sheet it belongs to; null: none"  \
	}

struct field_table {
	const struct field *at;
	size_t n;
};
#define FIELD_TABLE(rows)                                                                          \
	{                                                                                          \
		(rows), ARRAY_LEN(rows)                                                            \
	}

/* The members of an open object. */
void field_table_json(struct json *j, const struct field_table *table, const void *record);
/* Those that are in the list. */
void field_table_json_in(struct json *j, const struct field_table *table, enum field_list list,
                         const void *record);
/* All of them as an object. */
void field_table_json_object(struct json *j, const struct field_table *table, const void *record);
/* {"cpu_seconds": "exact", …} as the members of an open object. */
void field_table_json_qualities(struct json *j, const struct field_table *table,
                                const void *record);
/* For other walks. */
const struct field *field_find(const struct field_table *table, const char *key); /* NULL: none */
bool field_has_quality(const struct field *f);
enum quality field_quality(const struct field *f, const void *record);
int64_t field_integer(const struct field *f, const void *record);
double field_real(const struct field *f, const void *record);
/* A NUMBER, a FIGURE or a RATIO in the unit that is shown; NAN: not known. */
double field_shown(const struct field *f, const void *record);
struct figure field_figure(const struct field *f, const void *record);
const char *field_text(const struct field *f, const void *record); /* as it is held; may be NULL */
char field_letter(const struct field *f, const void *record);
bool field_has_code(const struct field *f, const void *record);

/* One value as its unit is shown outside. */
void field_metric_json(struct json *j, enum metric_unit unit, uint64_t value);
void field_figure_json(struct json *j, enum metric_unit unit, struct figure figure);
/* The members for one scope's readings, by its table, into an open object. */
void field_readings_json(struct json *j, const struct metric *table, size_t n, uint64_t present,
                         const uint64_t *value);
