/* SPDX-License-Identifier: MIT */
/* line_file.h - a new file of whole lines that grows while others follow it (tail -f). A line is one
 * write; one that did not fit is undone, so there is never half a line. One writer. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct line_file {
	int fd;           /* -1: not open */
	const char *name; /* borrowed, for messages */
	bool is_torn;     /* half a line stands at the end and could not be taken back */
	uint64_t lost;    /* lines that could not be written */
};

/* Makes it; -EEXIST when something of that name is there already, a symlink too. */
int line_file_create(int dir_fd, const char *name, struct line_file *ret, struct err *err)
	must_check;
/* The line comes with its newline. -ENOSPC when the disk is full; counted in `lost`. */
int line_file_put(struct line_file *f, const char *line, size_t len, struct err *err) must_check;
void line_file_close(struct line_file *f);
