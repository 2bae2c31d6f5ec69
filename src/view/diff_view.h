/* SPDX-License-Identifier: MIT */
/* diff_view.h - two jobs side by side: how they ended, what they took, which sheets and programs
 * made the difference. A ratio is shown only where both figures are known. */
#pragma once

#include "base/json.h"
#include "report/job_report.h"
#include "view/canvas.h"

void diff_view(const struct report *a, const struct report *b, struct canvas *to);
void diff_json(const struct report *a, const struct report *b, struct json *j);
