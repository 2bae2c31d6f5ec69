/* SPDX-License-Identifier: MIT */
/* recorder_table.h - the row of this recorder, and the ends of others that died. */
#pragma once

#include "sqlite/db.h"

struct store;

int recorder_table_begin(struct store *st, struct err *err) must_check; /* within a transaction */
void recorder_table_undo(struct store *st);                             /* after a rollback */
/* Our own end, with the last snapshot (0: none). `has_lives`: some process was still there. */
int recorder_table_end(struct store *st, int64_t snapshot, uint64_t wall_ns, bool has_lives,
                       struct err *err) must_check;
/* Whether the job of a brief recorder has ended, and with it the recorder. */
bool recorder_table_is_over(const struct store *st, size_t live_processes);
