/* SPDX-License-Identifier: MIT */
/* err.h - an error: what failed, on which object. It never allocates, so it cannot fail itself.
 * The last parameter of every function that can fail; never NULL, unchanged on success. */
#pragma once

#include "base/defs.h"

struct err {
	int code; /* errno value, > 0 once set */
	char msg[240];
};

/* Both return -code, for use in `return err_set(...)`. */
int err_set(struct err *err, int code, const char *fmt, ...) printf_like(3, 4);
/* Puts "context: " in front of the message. */
int err_wrap(struct err *err, const char *fmt, ...) printf_like(2, 3);
