/* SPDX-License-Identifier: MIT */
/* thread.h - a thread beside the one that has the loop. */
#pragma once

#include <pthread.h>

#include "base/defs.h"

/* Without any signal: those are the first thread's business. stack_bytes 0: as usual. -errno. */
int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
	must_check;
