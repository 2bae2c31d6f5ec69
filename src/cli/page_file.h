/* SPDX-License-Identifier: MIT */
/* page_file.h - the files of --html: the template that the build made, and the page that is written. */
#pragma once

#include "cli/cli.h"
#include "view/page_view.h"

/* Fills the parts into the template. "-": to stdout. A file is replaced as a whole, or not at all. CLI_OK, or
 * CLI_FAILED, logged. */
int page_file_write(const char *path, const struct page_parts *parts);
