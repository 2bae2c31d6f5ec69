/* SPDX-License-Identifier: MIT */
/* report_part.h - the parts of a report for identities. For the files report_*.c only. */
#pragma once

#include "view/report.h"

/* Memory and CPU over the time of the job. */
void report_put_curves(const struct report *r, struct canvas *to);
void report_put_sheets(const struct report *r, struct canvas *to);
/* By name, those that took most CPU time. */
void report_put_programs(const struct report *r, struct canvas *to);
void report_put_costly(const struct report *r, struct canvas *to);
void report_put_marks(const struct report *r, struct canvas *to);
void report_put_notes(const struct report *r, struct canvas *to);
