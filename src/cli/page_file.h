/* SPDX-License-Identifier: MIT */
/* page_file.h - the files of --html: the template that the build made, and the page that is written. */
#pragma once

#include "cli/cli.h"

/* The template as text. CLI_OK, or CLI_FAILED, logged: proctor was built without it. */
int page_file_load(struct buf *ret);
/* "-": to stdout. CLI_OK, or CLI_FAILED, logged. */
int page_file_write(const char *path, const struct buf *page);
