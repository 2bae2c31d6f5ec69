/* SPDX-License-Identifier: MIT */
/* anomaly_hook.h - `run --on-anomaly`: passes each anomaly that begins to a command, as JSON. Nothing here waits for it: a
 * bounded number of anomalies waits in a socket, and those beyond are counted. */
#pragma once

#include "base/loop.h"
#include "model/snapshot.h"

struct anomaly_hook;

/* Call it while there is one thread, and before the environment is changed: the command gets that of now. NULL: it cannot
 * be started. `notice` reports what goes wrong: the first failure, and at the end what was not passed on. */
struct anomaly_hook *anomaly_hook_new(const char *command,
                                      void (*notice)(void *self, const char *text), void *self,
                                      struct err *err);
void anomaly_hook_watch(struct anomaly_hook *h, struct loop *loop);
/* A sink. */
void anomaly_hook_take(struct anomaly_hook *h, const struct snapshot *snap);
/* Hooks that run or wait go on without us, for 10 s at most. NULL is fine. */
void anomaly_hook_end(struct anomaly_hook *h);
