/* SPDX-License-Identifier: MIT */
/* auto_tags.h - tags that `run` adds by itself: the ids of a batch system or of CI, and the git commit of
 * the working directory. docs/jobs.md lists them. */
#pragma once

#include "base/opts.h"
#include "model/job.h"

/* `given`: the user's own, which win and are valid; `tags` has them. What does not fit is left out. */
void auto_tags_add(const struct opt_list *given, char tags[JOB_TAGS_MAX]);
