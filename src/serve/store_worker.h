/* SPDX-License-Identifier: MIT */
/* store_worker.h - does beside the loop what would hold it up: reads of the store. One thread, which
 * exists from the first errand on; all users have their turn, however much one of them asks for. */
#pragma once

#include <stdint.h>

#include "base/json.h"
#include "base/loop.h"
#include "history/history.h"

struct store_worker;
struct errand;

/* In the thread, which has nothing but `self`: writes one value, or returns -errno and says why. It
 * heeds the leash. */
typedef int (*clerk_work_fn)(void *self, const struct history_leash *leash, struct json *result,
                             struct err *err);

struct store_worker_task {
	void *self;
	uint32_t uid; /* who it is for */
	clerk_work_fn work;
	/* On the loop: what came of it. Not called for one that was dropped. */
	void (*done)(void *self, int r, const struct buf *result, const struct err *err);
	void (*free)(void *self); /* on the loop, after all else */
};

struct store_worker *store_worker_new(struct loop *loop, size_t result_max); /* bytes of a result */
/* What is under way is called back and waited for; nobody is told. NULL is fine. */
void store_worker_free(struct store_worker *c);
/* -EAGAIN: there can be no thread. The task is freed then, too. */
int store_worker_take(struct store_worker *c, const struct store_worker_task *take_task,
                      struct errand **ret, struct err *err) must_check;
/* On the loop, before it is done: nobody wants it any more. */
void store_worker_drop(struct errand *errand);
