/* SPDX-License-Identifier: MIT */
/* diff_baseline.h - several runs as one to compare with: the median of each figure, sheet and program. */
#pragma once

#include "report/report.h"

#define DIFF_BASELINE_MAX 100

/* `ret` is initialised with zeros. Sheets and programs are those that more than half of the runs have. */
void diff_baseline(const struct report *const *runs, size_t n, struct report *ret);
