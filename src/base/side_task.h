/* SPDX-License-Identifier: MIT */
/* side_task.h - a function that may never return, in a thread of its own: it is waited for only so long, and left behind
 * if it hangs. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/defs.h"

struct side_task;

/* Calls run(self) in a new thread. `self` then belongs to the task; free_self(self) is called when both sides are done with
 * it. NULL: there is no thread to be had, and `self` was freed. */
struct side_task *side_task_start(void (*run)(void *self), void (*free_self)(void *self), void *self);
/* Whether it is done, after so much time at most. From then on the caller may use `self`. */
bool side_task_wait(struct side_task *t, uint64_t patience_ns);
/* NULL is fine. */
void side_task_leave(struct side_task *t);
