/* SPDX-License-Identifier: MIT */
/* recorder_table.h - the row of the recorder that this handle is. For the files of store/ only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"

struct store;

/* Within a transaction: ends recorders that died, and adds our row. */
int recorder_table_begin(struct store *st, struct err *err) must_check;
/* After a rollback. */
void recorder_table_undo(struct store *st);
/* Records our own end, with the last snapshot (0: none). `has_live_processes`: some process was
 * still there. */
int recorder_table_end(struct store *st, int64_t snapshot, uint64_t wall_ns,
                       bool has_live_processes, struct err *err) must_check;
/* Whether the job of a brief recorder has ended, and with it the recorder. */
bool recorder_table_is_over(const struct store *st, size_t live_processes);
