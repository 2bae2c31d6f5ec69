/* SPDX-License-Identifier: MIT */
/* log.h - words for the process_identity who started us, on stderr. Only daemon/ and cli/ use it; all else
 * returns errors. Nobody's work hangs on them: to a reader who does not read they are lost. */
#pragma once

#include "base/defs.h"

#define LOG_PATIENCE_NS UINT64_C(1000000000)

void log_error(const char *fmt, ...) printf_like(1, 2);
void log_warn(const char *fmt, ...) printf_like(1, 2);
void log_info(const char *fmt, ...) printf_like(1, 2);
