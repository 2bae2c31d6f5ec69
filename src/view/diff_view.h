/* SPDX-License-Identifier: MIT */
/* diff_view.h - two jobs side by side: how they ended, what they took, which sheets and programs
 * made the difference, after a verdict in one sentence. A ratio is shown only where both figures are known. */
#pragma once

#include "base/json.h"
#include "report/diff_condition.h"
#include "view/canvas.h"

struct diff_input {
	const struct report *a, *b;
	size_t runs,
		wanted; /* a is the median of so many runs, of which so many were wanted; 0: a job */
	const struct diff_condition *conditions;
	size_t n_conditions;
};

void diff_view(const struct diff_input *in, struct canvas *to);
/* With a head that names them. */
void diff_markdown(const struct diff_input *in, struct buf *to);
void diff_view_json(const struct diff_input *in, struct json *j);
