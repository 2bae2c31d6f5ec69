/* SPDX-License-Identifier: MIT */
/* io.h - whole reads and writes, with EINTR and short counts dealt with. Every fd is CLOEXEC. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"

/* At most cap bytes of the file at dir_fd/path; the count, or -errno. No NUL is added. */
ssize_t io_read_at(int dir_fd, const char *path, char *to, size_t cap) must_check;
ssize_t io_read_fd(int fd, char *to, size_t cap) must_check;
/* The whole file into `to` (which has a ceiling: -EFBIG past it). Errors name the file. */
int io_load(int dir_fd, const char *path, struct buf *to, struct err *err) must_check;
int io_write_all(int fd, const void *bytes, size_t n) must_check; /* 0 or -errno */
/* The same to somebody who may never read: we wait for room for so long in all, then -EAGAIN. The
 * flags of the file are left alone, because others share them. */
int io_write_patiently(int fd, const void *bytes, size_t n, uint64_t patience_ns);
/* The file at dir_fd/name holds these bytes, all of them or what it held before, also when we die
 * on the way. A symlink of that name is replaced, not followed. `is_durable`: they are on the disk
 * when this returns. */
int io_replace(int dir_fd, const char *name, const void *bytes, size_t n, bool is_durable,
               struct err *err) must_check;
/* mkdir -p with this mode for what is missing. */
int io_mkdir_all(const char *path, mode_t mode, struct err *err) must_check;
