/* SPDX-License-Identifier: MIT */
/* io.h - complete reads and writes: EINTR and short counts are handled. Every fd is CLOEXEC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* Reads at most `cap` bytes; returns the count or -errno. No NUL is added. */
ssize_t io_read_at(int dir_fd, const char *path, char *to, size_t cap) must_check;
/* Reads the rest of the file into `to`. 0 or -errno; -EFBIG: it exceeds the ceiling of `to`. */
int io_load_fd(int fd, struct buf *to) must_check;
int io_write_all(int fd, const void *bytes, size_t n) must_check; /* 0 or -errno */
/* The same for a reader that may never read: waits at most `timeout_ns` in total, then returns
 * -EAGAIN. The file's flags are not changed, because other processes may share them. */
int io_write_timeout(int fd, const void *bytes, size_t n, uint64_t timeout_ns);
/* Replaces the contents of dir_fd/name atomically: after a crash it holds either the old or the new
 * bytes. The new file is ours. It has the mode and the group of the old one if that was ours, too; a symlink of
 * that name is replaced, not followed. Safe for concurrent writers: the last one wins. With `is_durable` the bytes
 * are on disk when this returns. */
int io_replace(int dir_fd, const char *name, const void *bytes, size_t n, bool is_durable,
               struct err *err) must_check;
/* Removes what processes that were killed during io_replace() left in the directory. */
void io_remove_abandoned(int dir_fd);
/* mkdir -p; directories that it creates get this mode. */
int io_mkdir_all(const char *path, mode_t mode, struct err *err) must_check;
