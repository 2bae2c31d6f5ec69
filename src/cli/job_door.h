/* SPDX-License-Identifier: MIT */
/* job_door.h - the connection to the surrounding job, for verbs that are called from within it:
 * $PROCTOR_JOB_ID names the job, jobs/<id>/sock in the state directory is its door. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"

/* One call, which takes at most a second. -ENOENT: there is no surrounding job, or it has no door any
 * more; other errors: it does not answer, or refuses. */
int job_door_call(const struct cli *cli, const char *method, const char *params,
                  json_t **ret_result, struct err *err) must_check;

/* The parameters of `mark` and `phase`: a name and KEY=VALUE words. `ret` is the text of an object
 * {"name":…,"data":{…} that is not closed yet. CLI_OK, or CLI_USAGE and logged. */
int job_door_note(const struct cli *cli, const char *name, char *const *pairs, size_t n,
                  struct buf *ret);
