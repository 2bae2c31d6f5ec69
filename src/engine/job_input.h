/* SPDX-License-Identifier: MIT */
/* job_input.h - what is said of a job that the engine watches: its sheets, marks and phases. The same
 * for the host of one job and for the desk of many. */
#pragma once

#include "engine/engine.h"

/* A process opened the sheet: it and its descendants belong to it from now on. pid 0: nobody does.
 * total 0: not told. -EALREADY: another process that lives has it open. A sheet that is opened
 * again begins its next attempt, and how the one before went is told as the mark `sheet.retried`.
 */
struct job_input_sheet {
	int32_t job;
	uint32_t num, total; /* num 0: the next one */
	const char *label;   /* "": none */
	pid_t pid;
};
int job_input_begin_sheet(struct engine *e, const struct job_input_sheet *begun,
                          uint32_t *ret_num, struct err *err) must_check;
/* -ENOENT: it was never opened; -EALREADY: it ended before. */
int job_input_end_sheet(struct engine *e, int32_t job, uint32_t num, const struct sheet *how,
                        struct err *err) must_check;
/* A mark, a phase, a limit: `data` may be NULL. */
int job_input_event(struct engine *e, int32_t job, enum event_kind kind, const char *name,
                    int64_t count, const char *data, struct err *err) must_check;
