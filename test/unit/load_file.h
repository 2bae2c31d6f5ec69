/* SPDX-License-Identifier: MIT */
/* load_file.h - reads a whole file, for tests and fuzz targets. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/io.h"

static inline int load_file(int dir_fd, const char *path, struct buf *to, struct err *err)
{
	cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC);
	int r = fd < 0 ? -errno : io_load_fd(fd, to);

	return r < 0 ? err_set(err, -r, "read '%s': %s", path, strerror(-r)) : 0;
}
