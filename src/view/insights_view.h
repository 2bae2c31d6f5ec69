/* SPDX-License-Identifier: MIT */
/* insights_view.h - patterns in words and numbers: a page for people, a document for programs. */
#pragma once

#include "base/json.h"
#include "report/insights.h"
#include "view/canvas.h"

/* "jobs of type align that use more than 3.1 GiB failed 62 % of the time, others 14 %; n = 48; q = 0.004" */
void insight_describe(const struct insight *i, char *to, size_t size);
void insights_view(const struct insights *in, uint64_t now_ns, struct canvas *to);
void insights_view_json(const struct insights *in, struct json *j);
