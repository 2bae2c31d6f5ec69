/* SPDX-License-Identifier: MIT */
/* diff_report.h - two jobs compared: which of their parts belong together, and how their figures compare. */
#pragma once

#include "report/report.h"

struct diff_pair {
	struct figure a, b;
};

/* Whether they can be compared: both are known, and not both are lower bounds, above which each may
 * be anything. */
bool diff_is_comparable(struct diff_pair pair);
/* b / a; NAN when they cannot be compared or a is 0. */
double diff_ratio(struct diff_pair pair);
/* The relation of the ratio to that of the true figures: that of a lower bound below or above it,
 * or roughly (of samples). */
enum diff_bound { DIFF_EXACT, DIFF_AT_LEAST, DIFF_AT_MOST, DIFF_ROUGH };
enum diff_bound diff_bound(struct diff_pair pair);
const char *diff_bound_key(enum diff_bound bound); /* "at_most" */
/* By the monotonic clock, so exact; missing while it has not ended. */
struct diff_pair diff_took(const struct report *a, const struct report *b);

/* One sheet, by its number, and one program, by its name, in both jobs. A job that had none has an
 * empty record instead: its number is 0, its name "". */
struct diff_sheet {
	const struct sheet_record *a, *b;
};
struct diff_program {
	const struct report_program *a, *b;
};

struct diff {
	VEC(struct diff_sheet) sheets;     /* as in a, then those of b alone */
	VEC(struct diff_program) programs; /* those that differ most in CPU time first */
};

void diff_match(const struct report *a, const struct report *b, struct diff *ret);
void diff_done(struct diff *d);
/* Missing when the sheet has not ended. */
struct diff_pair diff_sheet_took(const struct diff_sheet *s);
