/* SPDX-License-Identifier: MIT */
/* line_file.h - a new file of whole lines that grows while others follow it (tail -f). Each line is
 * one write; a partial write is undone, so the file never ends in half a line. One writer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct line_file {
	int fd;           /* -1: not open */
	const char *name; /* borrowed, for messages */
	bool is_torn;     /* the file ends in half a line that could not be removed */
	uint64_t lost;    /* lines that could not be written */
};

/* Creates the file; -EEXIST if the name exists already, even as a symlink. */
int line_file_create(int dir_fd, const char *name, struct line_file *ret, struct err *err)
	must_check;
/* `line` includes its newline. A failure is counted in `lost`; -ENOSPC: the disk is full. */
int line_file_put(struct line_file *f, const char *line, size_t len, struct err *err) must_check;
void line_file_close(struct line_file *f);
