/* SPDX-License-Identifier: MIT */
/* report_answer.h - the report of a recorded job as an answer to who asked a socket for it: as text
 * for people and agents, and as `proctor report --json` has it. */
#pragma once

#include "base/err.h"
#include "base/json.h"

int report_answer(const char *db_path, const char *job_id, struct json *result, struct err *err)
	must_check;
