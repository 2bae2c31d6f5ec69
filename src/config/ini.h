/* SPDX-License-Identifier: MIT */
/* ini.h - parses the text of one configuration file into settings and problems. It reads no files.
 *
 * [section], then key = value. Comments start with # or ; on lines of their own. Lines may end in
 * CR LF and may have any length. A key may occur once per file. */
#pragma once

#include "base/scan.h"
#include "base/vec.h"
#include "config/config.h"

#define CONFIG_FILE_MAX ((size_t)1 << 20) /* bytes */
#define CONFIG_PROBLEMS_MAX 20            /* listed, over all files; the rest is counted */

struct config_problem {
	char text[512]; /* "file:line: [section] key: reason" */
};

struct config_problems {
	VEC(struct config_problem) list;
	size_t dropped;
};

void ini_problems_done(struct config_problems *p);
void ini_problem_add(struct config_problems *p, const char *fmt, ...) printf_like(2, 3);

/* Applies valid settings and reports the others. `file` is its name in the reports. */
void ini_read(struct scan text, const char *file, struct config *to,
              struct config_problems *problems);
