/* SPDX-License-Identifier: MIT */
/* diff_verdict.h - what two jobs differ in, in one sentence, and what became of a condition on them. */
#pragma once

#include "base/buf.h"
#include "report/diff_condition.h"
#include "view/job_view.h"

/* "1.3× slower, mostly sheet 2 (fit); memory unchanged" */
void diff_verdict(const struct report *a, const struct report *b, const struct diff *d,
                  bool unicode, struct buf *to);
/* "≥1.24×", "12.3×", "<0.01×" */
struct words diff_ratio_words(const char *sign, double ratio, bool unicode);
/* "CPU 13s, 1.31× of 10s"; if it is not decided, why. */
void diff_verdict_condition_words(const struct diff_condition *c, const struct report *a,
                                  const struct report *b, bool unicode, struct buf *to);
