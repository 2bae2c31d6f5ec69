/* SPDX-License-Identifier: MIT */
/* output.h - `proctor top` without a screen: JSON lines, one screen as text, the past as one document. Each returns the
 * exit status. */
#pragma once

#include "top/top_options.h"

int output_lines(const struct top_options *o);
int output_once(const struct top_options *o);
int output_history(const struct top_options *o); /* --history --json */
