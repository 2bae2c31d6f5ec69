/* SPDX-License-Identifier: MIT */
/* db_file.h - the database as a file, checked before SQLite may touch it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "sqlite/db.h"

/* The path of "name" beside the file. */
void db_file_beside(const char *path, const char *name, char *to, size_t cap);

/* Makes an empty file unless there is one. Refuses what is not a regular file, and what has another name
 * somewhere, as the log beside it may (-EINVAL): writing would change a file of someone else. */
int db_file_make(const char *path, struct err *err) must_check;

/* A reader met damage. The writer may never read that page, so a note is left for it: PATH.suspect. */
void db_file_suspect(const char *path);
/* Whether there is a note, which is removed. */
bool db_file_take_suspicion(const char *path);

/* Whether the file behind the connection may be used as ours; nothing is written, not even beside
 * it. `ret_is_new`: it holds nothing yet.
 *   -EUCLEAN  damaged: not a database at all, or too short
 *   -EINVAL   a good database that is not ours
 *   -EPROTONOSUPPORT  ours, of a version newer than we know */
int db_file_judge(sqlite3 *db, bool *ret_is_new, struct err *err) must_check;

/* Opens a recorded database for reading. -ENOENT: there is none; -EINVAL: not ours, or
 * newer. */
int db_file_open_to_read(const char *path, sqlite3 **ret, struct err *err) must_check;

/* Renames the database, its -wal and its -shm to PATH.corrupt-<UTC time>; nothing is deleted.
 * The name goes to `ret`. */
int db_file_set_aside(const char *path, uint64_t wall_ns, char *ret, size_t cap, struct err *err)
	must_check;

/* Whether the file system has room for so much more and keeps 256 MiB or 1 % free, whichever is less,
 * but at least what the ends of jobs may need. */
bool db_file_has_room(const char *path, uint64_t more_bytes);
