/* SPDX-License-Identifier: MIT */
/* job_input.h - what is reported about a job, by itself or by others: its sheets, marks and phases. The
 * same for launched and for registered jobs. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"

/* A process opened the sheet: it and its descendants belong to it from now on. pid 0: none does.
 * total 0: not given. -EALREADY: another living process has it open. A sheet that is opened again
 * begins its next attempt, and the mark `sheet.retried` records how the one before went. */
struct job_input_sheet {
	job_handle job;
	uint32_t num, total; /* num 0: the next one */
	const char *label;   /* "": none */
	struct proc_id opener; /* pid 0: none; start 0: whatever process has that pid */
	uint64_t started_ns; /* wall clock; 0: now. Else it is reported late: what descended from the
	                        opener since then is in the sheet, too */
	bool is_wrapper; /* it only waits for the command whose sheet it is, and will report what
	                    that used */
};
#define JOB_INPUT_RETRIED "sheet.retried"
/* The data of that mark. */
void job_input_attempt_json(struct json *j, const struct sheet *was, uint64_t now_ns);
int job_input_begin_sheet(struct engine *e, const struct job_input_sheet *begun, uint32_t *ret_num,
                          struct err *err) must_check;
/* Adds the usage of a wrapper's command; NULL: not reported. -ENOENT: it was never opened;
 * -EALREADY: it ended before. */
int job_input_end_sheet(struct engine *e, job_handle job, uint32_t num, const struct job_end *how,
                        const struct sheet_use *used, struct err *err) must_check;
/* A mark or a phase. */
struct job_input_event {
	job_handle job;
	enum event_kind kind;
	const char *name, *data; /* data: a JSON object */
	int64_t count;           /* of a phase its length in ns */
	uint64_t at_ns;          /* wall clock; 0: now */
};
int job_input_event(struct engine *e, const struct job_input_event *added, struct err *err)
	must_check;
