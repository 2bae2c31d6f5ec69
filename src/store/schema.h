/* SPDX-License-Identifier: MIT */
/* schema.h - the tables (docs/store.md tells what they mean), their version, and the views.
 *
 * A version is a step in schema.c; old steps are never changed. Columns of metrics and the views
 * are no version: they follow the tables in model/, and are brought up to date whenever a writer
 * opens. */
#pragma once

#include "sqlite/db.h"
#include "sqlite/schema_format.h"

/* Makes the schema in an empty database or brings an older one up to date, all or nothing. One that
 * carries the stamp of this program's schema and that nobody changed since is left as it is;
 * `thorough` also looks at the planner's statistics then, which anybody may spoil without a
 * trace. The caller holds the write lock. -EINVAL for a version newer than ours. */
int schema_apply(sqlite3 *db, bool thorough, struct err *err) must_check;
