/* SPDX-License-Identifier: MIT */
/* log.h - messages for the user, on stderr. Only daemon/ and cli/ log; other rooms return errors.
 * Logging never blocks for long: a line that stderr does not take within LOG_TIMEOUT_NS is lost. */
#pragma once

#include "base/defs.h"

#define LOG_TIMEOUT_NS UINT64_C(1000000000)

void log_error(const char *fmt, ...) printf_like(1, 2);
void log_warn(const char *fmt, ...) printf_like(1, 2);
void log_info(const char *fmt, ...) printf_like(1, 2);
