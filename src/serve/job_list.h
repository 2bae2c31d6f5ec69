/* SPDX-License-Identifier: MIT */
/* job_list.h - the jobs that are known right now, with their progress, as JSON. */
#pragma once

#include "base/json.h"
#include "model/job.h"

void job_list_put(const struct jobtab *t, struct json *j);
