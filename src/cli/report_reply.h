/* SPDX-License-Identifier: MIT */
/* report_reply.h - the report of a recorded job as an answer to who asked a socket for it: as text
 * for identities and agents, and as `proctor report --json` has it. It may run in any thread. */
#pragma once

#include "base/err.h"
#include "base/json.h"
#include "history/history.h"

int report_reply(const char *db_path, struct job_key key, const struct history_leash *leash,
                 struct json *result, struct err *err) must_check;
