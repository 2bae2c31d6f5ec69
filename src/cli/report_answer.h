/* SPDX-License-Identifier: MIT */
/* report_answer.h - the report of a recorded job as an answer to who asked a socket for it: as text
 * for people and agents, and as `proctor report --json` has it. It may run in any thread. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "store/reader.h"

int report_answer(const char *db_path, const char *job_id, const struct reader_leash *leash,
                  struct json *result, struct err *err) must_check;
