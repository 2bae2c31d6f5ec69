/* SPDX-License-Identifier: MIT */
/* report_view.h - everything known about one job, for people and as JSON. */
#pragma once

#include "base/json.h"
#include "model/verdict.h"
#include "report/report.h"
#include "view/canvas.h"

#define REPORT_TEXT_COLUMNS 100 /* without a terminal: in a file, in an answer to a client */

void report_view(const struct report *r, struct canvas *to);
void report_view_json(const struct report *r, struct json *j);
/* For pages, in three parts: what became of it, and why it failed if it did; what it used; all else. */
void report_view_verdict(const struct report *r, const struct verdict *v, struct canvas *to);
void report_view_totals(const struct report *r, struct canvas *to);
void report_view_details(const struct report *r, struct canvas *to);
/* All of them as Markdown. */
void report_view_markdown(const struct report *r, const struct verdict *v, struct buf *to);
/* The report as plain text, as wide as REPORT_TEXT_COLUMNS. */
void report_view_text(const struct report *r, struct buf *to);
