/* SPDX-License-Identifier: MIT */
/* store_table.h - one stored table = one file with a `const struct store_table`, and one row in the list of
 * store_tables.c. Migrations, writes, downsampling, retention and public views stand together there.
 *
 * Everything but the name may be absent. The order of the list is the order of writing; what
 * deletes or closes rows walks it backwards, so that rows go before what they refer to. */
#pragma once

#include "base/buf.h"
#include "model/snapshot.h"
#include "sqlite/db.h"
#include "store/statement.h"

struct store;

/* Brings this table from the previous version to `version`. Versions are those of the whole schema.
 * A migration never changes once it was released. */
struct migration {
	int version;
	const char *sql;
	const char *after; /* once the columns of metrics are there; NULL: nothing */
	int (*run)(sqlite3 *db, struct err *err); /* instead of sql, where SQL alone cannot do it */
};

/* A view that SQL clients see. */
struct view {
	const char *name;
	void (*put)(struct buf *sql); /* appends its CREATE VIEW */
};

/* Statistics of a table or index for the query planner of every client (sqlite_stat1). These are
 * not counts: they state that a keyframe holds few rows and that processes are many, so that a
 * snapshot is read through its keyframe, and the history of a pid or a job through its
 * processes. */
struct table_stat {
	const char *table, *index, *stat; /* index NULL: the table */
};

/* Which ids a column holds: they move when a side file is imported (side_store.c). */
enum id_kind {
	ID_NONE,
	ID_RECORDER,
	ID_KEYFRAME,
	ID_SNAPSHOT,
	ID_PROCESS,
	ID_JOB,
	ID_EVENT,
	ID_ANOMALY, /* recorder.id << SCHEMA_EPISODE_BITS, and a number */
	ID_SAMPLE,  /* keyframe.id << SCHEMA_AT_BITS, and more */
	ID_DEVICE,  /* gpu_device.id */
	ID_KINDS,
};

struct table_ids {
	const char *table;
	struct {
		const char *column;
		enum id_kind kind;
	} ids[6];
};

struct table_import {
	const char *table, *sql;
};

/* Columns of metrics: added to an SQL table that lacks some. */
struct metric_columns {
	const char *table;
	enum column_group columns;
	const char *suffix; /* of their names */
};

/* Each of these lists ends with an empty row. */
struct store_table {
	const char *name;
	const struct migration *migrations; /* ascending */
	const struct metric_columns *metrics;
	int (*add_columns)(sqlite3 *db, struct err *err); /* others that follow a table of model/ */
	const struct statement *statements;               /* all that it prepares */
	/* Within the transaction of a snapshot. With `on_flush` also for one of events only. */
	int (*put)(struct store *st, const struct snapshot *snap, struct err *err);
	bool on_flush;
	/* … when all tables have put theirs, also for events only. */
	int (*finish)(struct store *st, const struct snapshot *snap, struct err *err);
	/* A minute's rows become means in the first one. Parameters: STATEMENT_MINUTE. */
	const struct statement *downsample;
	/* Deletes some of what is older than the time for which events are kept. 1: more is left. */
	int (*retain)(struct store *st, double before, struct err *err);
	const char *end_recorder; /* SQL: closes what recorder ?1 left open */
	/* SQL: each deletes rows of job ?1, whose processes are p.job = ?1. Ends with NULL. */
	const char *const *remove_job;
	const struct view *views;
	const struct table_stat *stats;
	/* How a side file is imported (side_store.c): every SQL table of it has a row in one of these two, or is lost.
	 * `ids`: its rows are copied, and these columns moved; the first one shows how they nest in keyframes, with
	 * which they are deleted. */
	const struct table_ids *ids;
	/* … or SQL for tables whose rows are matched by content: from `side` to `main`, before the rows of `ids` that
	 * refer to them. */
	const struct table_import *imports;
};

extern const struct store_table *const store_tables[];
extern const size_t store_table_count;
