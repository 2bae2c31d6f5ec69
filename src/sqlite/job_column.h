/* SPDX-License-Identifier: MIT */
/* job_column.h - the columns of the job table, in the order in which they are written and read.
 * Limits and figures follow their tables in model/job.h; a figure has its quality beside it, in
 * NAME_q. */
#pragma once

#include "model/job.h"
#include "sqlite/column.h"

/* X(id, name) */
/* clang-format off */
#define JOB_COLUMNS(X)                                     \
	X(ID, "job_id")                                    \
	X(TYPE, "type")                                    \
	X(RECORDER, "recorder")                            \
	X(STATUS, "status")                                \
	X(STARTED, "started")                              \
	X(ENDED, "ended")                                  \
	X(EXIT_CODE, "exit_code")                          \
	X(SIGNAL, "signal")                                \
	X(TOTAL_SHEETS, "total_sheets")                    \
	X(LAST_COMPLETED_SHEET, "last_completed_sheet")    \
	X(CURRENT_SHEET, "current_sheet")                  \
	X(TYPE_GIVEN, "type_given")                        \
	X(PARENT, "parent")                                \
	X(COMMAND, "command")                              \
	X(CWD, "cwd")                                      \
	X(UID, "uid")                                      \
	X(TAGS, "tags")                                    \
	X(TIER, "tier")                                    \
	X(INTERVAL, "interval_us")                         \
	X(TOOK, "took_us")                                 \
	X(CORE_DUMPED, "core_dumped")                      \
	X(LIMITS_HIT, "limits_hit")                        \
	X(HUNGRIEST_PID, "hungriest_pid")                  \
	X(HUNGRIEST, "hungriest")                          \
	X(ROOT_PID, "root_pid")                            \
	X(ROOT_TICKS, "root_ticks")
/* clang-format on */

#define X(id, name) JOB_COLUMN_##id,
enum {
	JOB_COLUMNS(X) JOB_COLUMN_LIMITS,
	JOB_COLUMN_FIGURES = JOB_COLUMN_LIMITS + JOB_LIMIT_COUNT, /* value, quality, value, … */
	JOB_COLUMN_COUNT = JOB_COLUMN_FIGURES + 2 * JOB_FIGURE_COUNT,
};
#undef X

/* In `buf`, or a literal. */
const char *job_column_name(size_t column, char buf[COLUMN_NAME_MAX]);
