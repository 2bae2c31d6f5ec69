/* SPDX-License-Identifier: MIT */
/* gpu_query.h - GPUs of a recorded snapshot. For snapshot_query.c only. */
#pragma once

#include "history/history_handle.h"

/* Into a snapshot that has its processes already: a use belongs to the job of its process. */
int history_read_gpus(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
	must_check;
