/* SPDX-License-Identifier: MIT */
/* signature.h - what a process shows of the job it belongs to, when it does not descend from it. Pure:
 * texts in, answers out. */
#pragma once

#include "base/scan.h"
#include "model/job.h"

#define SIGNATURE_VARIABLE "PROCTOR_JOB_ID"

/* The value of $PROCTOR_JOB_ID in the bytes of /proc/PID/environ; of several the first, as getenv()
 * has it. False when there is none that could be an id. A last entry without its NUL was cut and
 * does not count. */
bool signature_environ(struct scan bytes, char ret[static JOB_ID_MAX]);

/* Whether a command line names this directory or something in it: "/data/run1" is named by
 * "--out=/data/run1/x" and not by "/data/run10" or "/old/data/run1". */
bool signature_workspace(struct scan command, const char *workspace);

/* Where a job works is one of its tags, so that it is stored, shown and searched for with them. */
#define SIGNATURE_WORKSPACE_TAG "workspace"
/* The path in the tags of struct job; false when there is none. */
bool signature_workspace_find(const char *tags, char ret[static JOB_CWD_MAX]);

/* Makes a path fit to be looked for: absolute, not the root, and without slashes at its end. False
 * when it is not, or goes by way of "." or "..". */
bool signature_workspace_clean(char *path);
