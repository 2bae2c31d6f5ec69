/* SPDX-License-Identifier: MIT */
/* stats_view.h - what the jobs of each type used, as `proctor ls --stats` shows it: median, 95th percentile and
 * maximum of time, CPU and memory. */
#pragma once

#include "base/json.h"
#include "report/type_stats.h"
#include "view/canvas.h"

void stats_view(const struct all_type_stats *all, struct canvas *to);
/* The members into an open object. */
void stats_view_json(const struct all_type_stats *all, struct json *j);
