/* SPDX-License-Identifier: MIT */
/* gpu_table.h - what other tables' views show of GPUs. */
#pragma once

#include "base/buf.h"

/* The columns of `snapshots` about GPUs, in the order of their indices, of a snapshot `s`. */
void gpu_table_put_snapshot_columns(struct buf *sql);
