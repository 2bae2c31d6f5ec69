/* SPDX-License-Identifier: MIT */
#include "base/log.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/text.h"

/* Messages may quote names from outside, so they are made safe for a terminal like all output. */
printf_like(2, 0) static void write_message(const char *prefix, const char *fmt, va_list ap)
{
	char raw[1024];
	struct buf line = { .max = 8192 };

	vsnprintf(raw, sizeof raw, fmt, ap);
	buf_puts(&line, prefix);
	text_display(&line, raw, strlen(raw), SIZE_MAX);
	buf_putc(&line, '\n');
	(void)io_write_timeout(STDERR_FILENO, line.at, line.len, LOG_TIMEOUT_NS);
	buf_done(&line);
}

#define DEFINE_LOG(name, prefix)                                                                   \
	void name(const char *fmt, ...)                                                            \
	{                                                                                          \
		va_list ap;                                                                        \
                                                                                                   \
		va_start(ap, fmt);                                                                 \
		write_message(prefix, fmt, ap);                                                    \
		va_end(ap);                                                                        \
	}

DEFINE_LOG(log_error, "proctor: ")
DEFINE_LOG(log_warn, "proctor: warning: ")
DEFINE_LOG(log_info, "proctor: ")
