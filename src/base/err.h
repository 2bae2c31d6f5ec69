/* SPDX-License-Identifier: MIT */
/* err.h - what failed, on what. Never allocates, so it cannot itself fail.
 * The last parameter of every function that can fail; never NULL, untouched on success. */
#pragma once

#include "base/defs.h"

struct err {
	int code; /* errno value, > 0 once set */
	char msg[240];
};

/* Both return -code, so that `return err_set(...)` reads well. */
int err_set(struct err *err, int code, const char *fmt, ...) printf_like(3, 4);
int err_wrap(struct err *err, const char *fmt, ...) printf_like(2, 3); /* "context: what it said" */
