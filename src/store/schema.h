/* SPDX-License-Identifier: MIT */
/* schema.h - the tables (docs/store.md tells what they mean), their version, and the views.
 *
 * A version is a step in schema.c; old steps are never changed. Columns of metrics and the views
 * are no version: they follow the tables in model/, and are brought up to date whenever a writer
 * opens. */
#pragma once

#include "sqlite/db.h"

#define SCHEMA_APPLICATION_ID 0x70726374 /* "prct" */
#define SCHEMA_VERSION 4

/* The ids nest: a keyframe's id is a multiple of 2^20; a process's row in it is at keyframe +
 * slot, the slot being the low 20 bits of process.id; its change at the n-th snapshot of the
 * keyframe is at that << 12 | n. */
#define SCHEMA_SLOT_BITS 20
#define SCHEMA_AT_BITS 12
#define SCHEMA_SLOTS ((int64_t)1 << SCHEMA_SLOT_BITS)
#define SCHEMA_ATS ((int64_t)1 << SCHEMA_AT_BITS)

/* anomaly.id is recorder.id << 32 | the number of the episode. */
#define SCHEMA_EPISODE_BITS 32

/* Makes the schema in an empty database or brings an older one up to date, all or nothing. One that
 * carries the stamp of this program's schema and that nobody changed since is left as it is;
 * `thorough` also looks at the planner's statistics then, which anybody may spoil without a
 * trace. The caller holds the write lock. -EINVAL for a version newer than ours. */
int schema_apply(sqlite3 *db, bool thorough, struct err *err) must_check;
