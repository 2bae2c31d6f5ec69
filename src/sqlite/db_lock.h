/* SPDX-License-Identifier: MIT */
/* db_lock.h - write locks. Locks of open file descriptions: the kernel releases them when their holder
 * dies, however it dies.
 *
 * write.lock, byte 0: held around every transaction, checkpoint and close. Debian's SQLite has a
 * rare race between two connections that write or checkpoint; so there is only one.
 *
 * write.lock, byte n: held for life by recorder n, so that others see that it is alive.
 *
 * write.lock, byte 2^62: held by the waiter that polls most often.
 *
 * owner.lock, byte 0: held for life by a daemon, with its pid as text. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/err.h"

#define DB_LOCK_WRITING 0 /* byte of write.lock */
#define DB_LOCK_NEXT (INT64_C(1) << 62)

struct db_lock {
	int fd; /* -1: not open */
};

/* Refuses a file that is not regular or has other hard links: what is written to it would be written there. */
int db_lock_check(const char *path, const struct stat *st, struct err *err) must_check;
/* Also creates it. */
int db_lock_open(struct db_lock *lock, const char *path, struct err *err) must_check;
/* Only to query locks; the file must exist. */
int db_lock_open_to_ask(struct db_lock *lock, const char *path, struct err *err) must_check;
void db_lock_close(struct db_lock *lock); /* drops what it holds */
/* Waits up to `patience_ns`; -EBUSY when another one still holds it then. */
int db_lock_take(struct db_lock *lock, int64_t byte, uint64_t patience_ns) must_check;
void db_lock_drop(struct db_lock *lock, int64_t byte);
/* Whether another process or handle holds it now. */
bool db_lock_is_taken(const struct db_lock *lock, int64_t byte);

/* Whether the file at the path is the one that is open: another process can lock a new one. */
bool db_lock_is_in_place(const struct db_lock *lock, const char *path);

/* Takes owner.lock and writes our pid into it; -EBUSY and the owner's pid in `err` if there is
 * one. */
int db_lock_own(struct db_lock *lock, const char *path, pid_t pid, struct err *err) must_check;
