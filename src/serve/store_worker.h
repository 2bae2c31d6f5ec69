/* SPDX-License-Identifier: MIT */
/* store_worker.h - reads the store, or files of processes, for clients on a thread of its own, which is started on
 * first use, so that the loop never waits for the disk. Users take turns, however many requests one of
 * them sends. */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "base/loop.h"
#include "history/history.h"
#include "kernel/process_reader.h"

struct store_worker;
struct store_request;

/* Runs on the worker's thread and may use only `self`: writes one value, or returns -errno with a
 * message. It must end when it is cancelled. */
typedef int (*store_worker_fn)(void *self, const struct history_cancel *cancel, struct json *result,
                               struct err *err);

struct store_worker_task {
	void *self;
	uint32_t uid; /* the client's user */
	store_worker_fn work;
	/* On the loop, with the result. Not called for a task that was dropped. */
	void (*done)(void *self, int r, const struct buf *result, const struct err *err);
	void (*free)(void *self); /* on the loop, at the end */
};

struct store_worker *store_worker_new(struct loop *loop, size_t result_max); /* bytes of a result */
/* Reads files of processes for tasks, on the worker's thread. There is one for all of them: each process that hangs costs
 * one thread, once. */
struct process_reader *store_worker_process_reader(struct store_worker *c);
/* Cancels the current task and waits for it, without calling done(). NULL is fine. */
void store_worker_free(struct store_worker *c);
/* -EAGAIN: the thread cannot be started. The task is then freed, too. */
int store_worker_take(struct store_worker *c, const struct store_worker_task *take_task,
                      struct store_request **ret, struct err *err) must_check;
/* On the loop, before done(): cancels the task. */
void store_worker_drop(struct store_request *request);
