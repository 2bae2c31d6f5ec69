/* SPDX-License-Identifier: MIT */
/* screen.h - the screen of `proctor top` on a terminal. */
#pragma once

#include "top/top_options.h"

#define TOP_PROGRAM "proctor-top"

/* Until the user quits. The exit status. */
int screen_run(const struct top_options *o);
