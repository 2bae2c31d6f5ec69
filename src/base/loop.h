/* SPDX-License-Identifier: MIT */
/* loop.h - the event loop: sd-event behind the few calls we use. One thread; callbacks are given
 * their own pointer. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct loop;
struct loop_source;

int loop_new(struct loop **ret, struct err *err) must_check;
void loop_free(struct loop *loop); /* NULL is fine; frees its sources too */
DEFINE_CLEANUP(struct loop *, loop_free)

int loop_run(struct loop *loop, struct err *err) must_check; /* until loop_stop() */
void loop_stop(struct loop *loop);

/* Fires once, at this time on the monotonic clock; loop_timer_set arms it again. */
int loop_add_timer(struct loop *loop, uint64_t mono_ns, void (*fire)(void *self), void *self,
                   struct loop_source **ret, struct err *err) must_check;
void loop_timer_set(struct loop_source *timer, uint64_t mono_ns);
/* Calls back whenever the fd is readable. The fd stays the caller's. */
int loop_add_reader(struct loop *loop, int fd, void (*readable)(void *self), void *self,
                    struct loop_source **ret, struct err *err) must_check;
/* Blocks the signal and calls back when it comes. */
int loop_add_signal(struct loop *loop, int signo, void (*caught)(void *self), void *self,
                    struct err *err) must_check;
void loop_remove(struct loop_source *source); /* NULL is fine */
