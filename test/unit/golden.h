/* SPDX-License-Identifier: MIT */
/* golden.h - long output, compared with a file of test/golden. With PROCTOR_GOLDEN=write the files
 * are written anew: read the difference before you commit it. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/io.h"
#include "base/mem.h"
#include "check.h"

static void assert_golden(const char *name, const struct buf *text)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR"), *mode = getenv("PROCTOR_GOLDEN");
	cleanup(freep) char *path = xasprintf("%s/test/golden/%s", source ? source : ".", name);
	struct buf wanted = { 0 };
	struct err err = { 0 };

	if (mode && strcmp(mode, "write") == 0) {
		cleanup(closep) int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

		assert_int_equal(io_write_all(fd, text->at, text->len), 0);
		return;
	}
	if (io_load(AT_FDCWD, path, &wanted, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(text->at ? text->at : "", wanted.at ? wanted.at : "");
	buf_done(&wanted);
}
