/* SPDX-License-Identifier: MIT */
/* store_schema.h - brings a database to the schema that the tables of store_tables.c declare.
 *
 * Migrations have versions. Columns of metrics and the views have none: they follow the tables in
 * model/, and are brought up to date whenever a writer opens. */
#pragma once

#include "sqlite/column.h"
#include "sqlite/db.h"
#include "schema/schema_format.h"

/* Creates the schema in an empty database or brings an older one up to date, all or nothing. One
 * with the stamp of this program's schema that was not changed since is left as it is;
 * `thorough` also checks the planner's statistics then, which any client can change without a
 * trace. The caller holds the write lock. -EPROTONOSUPPORT for a version newer than ours. */
int store_schema_apply(sqlite3 *db, bool thorough, struct err *err) must_check;

/* For the tables' add_columns(): adds it unless it is there. */
int store_schema_add_column(sqlite3 *db, const char *table, const char *column, const char *suffix,
                            struct err *err) must_check;
