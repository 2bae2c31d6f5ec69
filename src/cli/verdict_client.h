/* SPDX-License-Identifier: MIT */
/* verdict_client.h - asks a daemon what killed processes of ours: job.verdict. */
#pragma once

#include "model/cause.h"

/* Takes 50 ms at most; without a daemon, or an answer, nothing is known. The first process is the
 * command, unless its pid is 0. */
void verdict_client_ask(struct proc_id command, const struct proc_id *killed, size_t n,
                        struct cause_verdict *ret);
