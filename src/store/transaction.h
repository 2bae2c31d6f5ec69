/* SPDX-License-Identifier: MIT */
/* transaction.h - the write lock, BEGIN … COMMIT or ROLLBACK, and the checkpoint when it is due. For the files of store/
 * only. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/clock.h"
#include "base/err.h"

struct store;

#define TRANSACTION_WRITE_NS (500 * NS_PER_MS) /* how long a snapshot waits: another comes soon */
#define TRANSACTION_START_NS (10 * NS_PER_S)   /* … the start of a job */
#define TRANSACTION_END_NS (30 * NS_PER_S)     /* … the end of a job, which matters most */

int transaction_begin(struct store *st, uint64_t patience_ns, struct err *err) must_check;
/* result < 0: rolls back, and returns it. */
int transaction_end(struct store *st, int result, struct err *err) must_check;
/* After the end: what was committed survives a power cut when this returns. */
int transaction_sync(struct store *st, struct err *err) must_check;
void transaction_checkpoint(struct store *st, bool all);
