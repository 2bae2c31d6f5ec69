/* SPDX-License-Identifier: MIT */
/* log.h - words for the person who started us, on stderr. Only daemon/ and cli/ use it; all else
 * returns errors. */
#pragma once

#include "base/defs.h"

void log_error(const char *fmt, ...) printf_like(1, 2);
void log_warn(const char *fmt, ...) printf_like(1, 2);
void log_info(const char *fmt, ...) printf_like(1, 2);
