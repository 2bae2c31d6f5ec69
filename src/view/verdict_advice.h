/* SPDX-License-Identifier: MIT */
/* verdict_advice.h - what to do about a job that failed, with the command or the option. */
#pragma once

#include "model/verdict.h"
#include "report/report.h"

#define ADVICE_MAX 3

struct advice {
	char text[200];
	char command[160]; /* "": none */
};

/* How many. */
size_t verdict_advice(const struct report *report, const struct verdict *v,
                      struct advice ret[static ADVICE_MAX]);
