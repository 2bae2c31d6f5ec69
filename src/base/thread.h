/* SPDX-License-Identifier: MIT */
/* thread.h - starts threads besides the one that runs the loop. */
#pragma once

#include <pthread.h>
#include <stddef.h>

#include "base/defs.h"

/* All signals are blocked in the new thread: the first thread handles them. A stack_bytes of 0 means
 * the default. Returns 0 or -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
	must_check;
