/* SPDX-License-Identifier: MIT */
/* report_curves.h - how the memory and the CPU of a job went over time, a line of characters each. */
#pragma once

#include "report/report.h"
#include "view/canvas.h"

void report_curves(const struct report *r, struct canvas *to);
