/* SPDX-License-Identifier: MIT */
/* syscall_view.h - system calls as a table, or as the member of a report for programs. */
#pragma once

#include "model/field.h"
#include "report/report.h"
#include "view/canvas.h"

/* Most time first, as they are given; at most `shown` rows. */
void syscall_view(const struct syscall_record *calls, size_t n, size_t shown, struct canvas *to);
/* The calls that the job, its sheets and its most costly processes spent time in, and how calls
 * failed. */
void syscall_view_report(const struct report *r, struct canvas *to);
extern const struct field_table syscall_fields; /* struct syscall_record */
/* {"openat": {"count": 12, "errors": 1, "errors_by_name": {"ENOENT": 1}, "time_pct": 41.2}, …} */
void syscall_view_json(struct json *j, const struct syscall_record *calls, size_t n);
