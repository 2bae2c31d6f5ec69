/* SPDX-License-Identifier: MIT */
/* query_gpu.h - the writer's statements about GPUs, built from the metric tables. */
#pragma once

#include "base/buf.h"
#include "store/query.h"

/* Appends the text of q; false: it is none of these. */
bool query_put_gpu(struct buf *sql, enum query q);
