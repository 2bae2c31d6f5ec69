/* SPDX-License-Identifier: MIT */
/* reader_gpu.h - GPUs of a recorded snapshot. For reader_snapshot.c only. */
#pragma once

#include "store/reader_handle.h"

/* Into a snapshot that has its processes already: their jobs are the uses' jobs. */
int reader_read_gpus(struct reader *r, int64_t snapshot, struct snapshot *to, struct err *err)
	must_check;
