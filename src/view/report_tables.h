/* SPDX-License-Identifier: MIT */
/* report_tables.h - the tables of a report: sheets, programs, costly processes, marks and notes. */
#pragma once

#include "report/job_report.h"
#include "view/canvas.h"

void report_tables(const struct report *r, struct canvas *to);
