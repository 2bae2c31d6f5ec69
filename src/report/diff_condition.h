/* SPDX-License-Identifier: MIT */
/* diff_condition.h - a condition on two jobs, as `diff --fail-if` takes it: "cpu>1.2x" and "memory>+20%" compare
 * the second job with the first, "time>10s" and "memory<500M" look at the second alone. */
#pragma once

#include "base/err.h"
#include "base/scan.h"
#include "report/diff_report.h"

struct diff_condition {
	struct scan text; /* as it was written; borrowed */
	int figure;       /* enum job_figure, or DIFF_TIME */
	bool is_above;    /* '>'; else '<' */
	double factor;    /* 0: `value` is meant */
	uint64_t value;   /* in the unit of the figure: ns, bytes, a count */
};

#define DIFF_TIME (-1)

/* The whole text must match; `text` is borrowed. -EINVAL: the message names what is wrong and a remedy. */
int diff_condition_parse(struct scan text, struct diff_condition *ret, struct err *err) must_check;
const char *diff_condition_name(const struct diff_condition *c); /* "CPU" */
enum metric_unit diff_condition_unit(const struct diff_condition *c);
struct diff_pair diff_condition_pair(const struct diff_condition *c, const struct report *a,
                                     const struct report *b);

/* A bound counts as its value: those of two jobs that were watched in the same way can be compared. Against a
 * figure of another quality it decides only what it proves. */
enum diff_answer { DIFF_NO, DIFF_YES, DIFF_UNDECIDED };
enum diff_answer diff_condition_check(const struct diff_condition *c, struct diff_pair pair);
