/* SPDX-License-Identifier: MIT */
/* loop.h - the event loop: timers, readable fds and signals on one epoll, in one thread. A callback
 * gets its own pointer and may add and remove sources, itself included. Not sd-event, because that
 * would load six libraries at every start of `proctor run`. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include "base/err.h"

struct loop;
struct loop_source;

int loop_new(struct loop **ret, struct err *err) must_check;
void loop_free(struct loop *loop); /* NULL is fine; frees its sources too */
DEFINE_CLEANUP(struct loop *, loop_free)

int loop_run(struct loop *loop, struct err *err) must_check; /* until loop_stop() */
void loop_stop(struct loop *loop);

#define LOOP_NEVER UINT64_MAX
/* Fires once, at this time on the monotonic clock or up to a millisecond later; loop_timer_set arms
 * it again. */
struct loop_source *loop_add_timer(struct loop *loop, uint64_t mono_ns, void (*fire)(void *self),
                                   void *self);
void loop_timer_set(struct loop_source *timer, uint64_t mono_ns);
/* Calls back whenever the fd is readable or has hung up. The caller keeps the fd and removes the
 * source before closing it. */
int loop_add_reader(struct loop *loop, int fd, void (*ready)(void *self), void *self,
                    struct loop_source **ret, struct err *err) must_check;
/* Sets what to wait for from now on: reading, writing, both or neither (a hang-up is reported even
 * then). The callback is the same for all. */
#define LOOP_READ 1U
#define LOOP_WRITE 2U
#define LOOP_PAUSED 4U /* instead of the others: not even a hang-up is reported */
void loop_watch(struct loop_source *reader, unsigned events);
/* Blocks these signals and calls back when one arrives, or is already pending. */
int loop_add_signals(struct loop *loop, const sigset_t *signals,
                     void (*caught)(void *self, const struct signalfd_siginfo *info), void *self,
                     struct err *err) must_check;
void loop_remove(struct loop_source *source); /* NULL is fine; not for signals */
