/* SPDX-License-Identifier: MIT */
/* property_table.h - the finished jobs of one type as a table: each property that could go with failure, of each job.
 * Properties that are a consequence of failure, such as exit codes, are left out. */
#pragma once

#include "analyze/correlation.h"
#include "base/map.h"
#include "history/job_query.h"
#include "model/past_run.h"

/* X(id, key, unit); tags and system calls are yes or no, one property for each that occurs */
/* clang-format off */
#define JOB_PROPERTIES(X)                      \
	X(MEMORY, "memory_used", MIB)          \
	X(LARGEST, "largest_process", MIB)     \
	X(CPU, "cpu_time", NS)                 \
	X(DURATION, "duration", NS)            \
	X(READ, "read", BYTES)                 \
	X(WRITTEN, "written", BYTES)           \
	X(INPUT, "input", BYTES)               \
	X(PROCESSES, "processes", COUNT)       \
	X(SHEETS, "sheets", COUNT)             \
	X(LOAD, "load", MILLI)                 \
	X(CALL_SHARE, "syscall_share", PCT)    \
	X(ANOMALY, "anomaly", COUNT)           \
	X(CALL, "syscall", COUNT)              \
	X(TAG, "tag", COUNT)
/* clang-format on */

#define X(id, ...) PROPERTY_##id,
enum job_property { JOB_PROPERTIES(X) JOB_PROPERTY_COUNT };
#undef X
enum { NUMBER_PROPERTIES = PROPERTY_CALL }; /* those that each job has at most one of */

extern const struct metric job_properties[JOB_PROPERTY_COUNT]; /* key and unit */

#define PROPERTY_NAME_MAX 96

/* One line of the table. */
struct property {
	enum job_property kind;
	char name[PROPERTY_NAME_MAX]; /* "shard=3", "futex"; "": a number */
};

/* One job. */
struct property_row {
	char id[JOB_ID_MAX];
	bool is_imported; /* nothing else of it is stored */
	bool failed;
	uint64_t ended_ns;
	unsigned anomalies;               /* bits 1 << ANOMALY_… */
	double number[NUMBER_PROPERTIES]; /* NAN: not known */
	char call[SYSCALL_NAME_MAX];      /* more than 35 % of the time in system calls; "": none */
	char *tags;                       /* JSON; NULL: none */
};

/* The jobs of one type and user. */
struct property_table {
	uint32_t uid;
	char type[JOB_ID_MAX];
	VEC(struct property_row) rows; /* the newest first */
	uint64_t dropped;              /* older ones */
	VEC(struct property) properties;
	VEC(double) value; /* [properties][rows] */
	VEC(bool) failed;  /* [rows] */
};

void property_table_add_job(struct property_table *t, const struct job *job);
/* Its outcome must be known. */
void property_table_add_run(struct property_table *t, const struct past_run *run);
/* The row's context, once it is known. */
void property_row_add_context(struct property_row *row, const struct job_context *context);
/* Fills properties, value and failed from the rows. */
void property_table_finish(struct property_table *t);
struct correlation_group property_table_group(const struct property_table *t);
/* The name of a pattern about it: "memory_used above", "tag shard=3 above". */
void property_subject(const struct property *p, const char *side, char *to, size_t size);
void property_table_done(struct property_table *t);
