/* SPDX-License-Identifier: MIT */
/* ini.h - the text of one configuration file → settings and problems. Knows nothing of files.
 *
 * [section], then key = value; comments on lines of their own, begun by # or ;. Lines may end in CR
 * LF and be as long as they like. A key stands once in a file. */
#pragma once

#include "base/scan.h"
#include "base/vec.h"
#include "config/config.h"

#define CONFIG_FILE_MAX ((size_t)1 << 20) /* bytes */
#define CONFIG_PROBLEMS_MAX 20            /* told one by one, over all files; the rest is counted */

struct config_problem {
	char text[512]; /* "file:line: [section] key: reason" */
};

struct config_problems {
	VEC(struct config_problem) list;
	size_t dropped;
};

void config_problems_done(struct config_problems *p);
void config_problem_add(struct config_problems *p, const char *fmt, ...) printf_like(2, 3);

/* Applies what is right and reports what is wrong; `file` is only named in the reports. */
void ini_read(struct scan text, const char *file, struct config *to,
              struct config_problems *problems);
