/* SPDX-License-Identifier: MIT */
#include "base/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

int err_set(struct err *err, int code, const char *fmt, ...)
{
	va_list ap;

	err->code = code;
	va_start(ap, fmt);
	vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	return -code;
}

int err_wrap(struct err *err, const char *fmt, ...)
{
	char inner[sizeof err->msg];
	va_list ap;
	int n;

	memcpy(inner, err->msg, sizeof inner);
	va_start(ap, fmt);
	n = vsnprintf(err->msg, sizeof err->msg, fmt, ap);
	va_end(ap);
	if (n >= 0 && (size_t)n < sizeof err->msg)
		snprintf(err->msg + n, sizeof err->msg - (size_t)n, ": %s", inner);
	return -err->code;
}
