/* SPDX-License-Identifier: MIT */
/* verdict_view.h - why a job ended as it did: a page for people, a document for programs, and one line. */
#pragma once

#include "base/json.h"
#include "report/report.h"
#include "view/canvas.h"

struct verdict_page {
	const struct report *report;
	const struct verdict *verdict;
};

void verdict_view(const struct verdict_page *page, struct canvas *to);
/* Only what the verdict rests on, and what to do about it. */
void verdict_view_reasons(const struct verdict_page *page, struct canvas *to);
void verdict_view_json(const struct verdict_page *page, struct json *j);
/* The text after "FAILED:": how it ended and, if that does not show it, the cause. */
void verdict_view_line(const struct job *job, const struct verdict *v, struct buf *to);
