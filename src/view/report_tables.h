/* SPDX-License-Identifier: MIT */
/* report_tables.h - the tables of a report: sheets, programs, costly processes, marks and notes. */
#pragma once

#include "model/field.h"
#include "report/report.h"
#include "view/table.h"

extern const struct table_columns report_sheet_columns, report_process_columns;

/* A report in JSON, behind its profile; and the rows of its tables. */
extern const struct field_table report_fields, report_program_fields, report_mark_fields, report_note_fields,
	report_next_request_fields;

void report_tables(const struct report *r, struct canvas *to);
