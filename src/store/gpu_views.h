/* SPDX-License-Identifier: MIT */
/* gpu_views.h - the views of GPUs. For sql_views.c only. */
#pragma once

#include "base/buf.h"

/* The columns of `snapshots` that tell GPUs, in the order of their indices, from a snapshot `s`. */
void view_put_gpu_columns(struct buf *sql);
void view_put_gpu_metrics(struct buf *sql);
void view_put_gpu_processes(struct buf *sql);
