/* SPDX-License-Identifier: MIT */
/* gpu_statements.h - the writer's statements about GPUs, built from the metric tables. */
#pragma once

#include "base/buf.h"
#include "store/statements.h"

/* Appends the text of q; false: it is none of these. */
bool statement_put_gpu(struct buf *sql, enum statement q);
