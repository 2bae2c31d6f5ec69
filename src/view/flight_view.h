/* SPDX-License-Identifier: MIT */
/* flight_view.h - the last system calls of processes that failed, or that still ran when their job did. */
#pragma once

#include "base/json.h"
#include "report/report.h"
#include "view/canvas.h"

/* Of a process; its calls have last_call_fields. */
extern const struct field_table flight_fields; /* struct report_flight */

/* The end of a report: of those that matter most, the last few. Nothing if there are none. */
void flight_view(const struct report *r, struct canvas *to);
/* Only those of this process, and of the latest that still ran; the same as above if it has none. */
void flight_view_of(const struct report *r, struct proc_id process, struct canvas *to);
/* All of them. */
void flight_view_all(const struct report *r, struct canvas *to);
/* What a report in JSON has of them, null without a flight recorder: the calls, and of how many processes they were not
 * kept. The fields of a struct report. */
void flight_view_json(struct json *j, const void *report);
void flight_view_left_out_json(struct json *j, const void *report);
