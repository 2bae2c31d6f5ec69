/* SPDX-License-Identifier: MIT */
/* job_from_json.h - a job from the JSON that the fields of model/record_fields.h make of it: answers of the
 * daemon, and summary.json of a run folder. */
#pragma once

#include <jansson.h>

#include "model/job.h"

/* Members that are absent, null or of another type count as missing. */
struct job job_from_json(const json_t *from);
