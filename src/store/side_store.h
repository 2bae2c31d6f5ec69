/* SPDX-License-Identifier: MIT */
/* side_store.h - a second database for recorders that cannot use the first one: it has a newer schema,
 * or an older recorder is still writing and would take a migrated database for damaged. The next
 * recorder that can use the first one imports it. */
#pragma once

#include "base/err.h"
#include "sqlite/db.h"

struct store;

/* Whether others that have this older database open stop its migration. 1, 0 or -errno. The caller holds
 * the write lock and has read nothing yet: the connection is made anew. */
int side_store_is_blocked(struct store *st, struct err *err) must_check;
/* DIR/side-v7/proctor.db for DIR/proctor.db. */
int side_store_path(const char *path, int version, char *ret, size_t size, struct err *err)
	must_check;
/* Moves what side databases of this and older versions hold into the open database. One that a live
 * recorder is writing is left for later. The caller holds the write lock. */
int side_store_import(struct store *st, struct err *err) must_check;
