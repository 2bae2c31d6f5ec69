/* SPDX-License-Identifier: MIT */
/* blocked_view.h - what the processes of a running job wait for. */
#pragma once

#include "model/blocked_call.h"
#include "view/canvas.h"

/* A section of a report: the most informative first, and those that only wait for their children last. */
void blocked_view(const struct blocked_call *calls, size_t n, struct canvas *to);
