/* SPDX-License-Identifier: MIT */
/* report_tables.h - the tables of a report: sheets, programs, costly processes, marks and notes. */
#pragma once

#include "report/report.h"
#include "view/table.h"

extern const struct table_columns report_sheet_columns, report_process_columns;

void report_tables(const struct report *r, struct canvas *to);
