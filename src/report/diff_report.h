/* SPDX-License-Identifier: MIT */
/* diff_report.h - two jobs compared: which of their parts belong together, and how their figures compare. */
#pragma once

#include "report/job_report.h"

struct diff_pair {
	struct figure a, b;
};

/* Whether they can be compared: both are known, and not both are lower bounds, above which each may
 * be anything. */
bool diff_can_tell(struct diff_pair pair);
/* b / a; NAN when they cannot be compared or a is 0. */
double diff_ratio(struct diff_pair pair);
/* What the ratio says about that of the true figures: that of a lower bound below or above it, or roughly
 * (of samples). */
enum diff_bound { DIFF_EXACT, DIFF_AT_LEAST, DIFF_AT_MOST, DIFF_ROUGH };
enum diff_bound diff_bound(struct diff_pair pair);
const char *diff_bound_key(enum diff_bound bound); /* "at_most" */
/* Missing when the job has not ended; by the monotonic clock, so exact. */
struct figure diff_took(const struct report *r);
struct figure diff_sheet_took(const struct sheet_record *s);

/* The sheet of that number; NULL: none. */
const struct sheet_record *diff_find_sheet(const struct report *r, uint32_t num);

/* One program in both; NULL in the one that did not run it. */
struct diff_program {
	const struct report_program *a, *b;
};

struct diff_programs {
	VEC(struct diff_program) list;
};

/* Those that differ most in CPU time first. */
void diff_match_programs(const struct report *a, const struct report *b, struct diff_programs *ret);
