/* SPDX-License-Identifier: MIT */
/* signature.h - what marks a process as a job's if it does not descend from it. Pure. */
#pragma once

#include "base/scan.h"
#include "model/job.h"

#define SIGNATURE_VARIABLE "PROCTOR_JOB_ID"

/* The value of $PROCTOR_JOB_ID in the bytes of /proc/PID/environ; of several the first, like
 * getenv(). False if there is none that could be an id. A last entry without its NUL was cut and is
 * ignored. */
bool signature_environ(struct scan bytes, char ret[static JOB_ID_MAX]);

/* Whether a command line contains this directory or a path in it: "--out=/data/run1/x" contains
 * "/data/run1", but "/data/run10" and "/old/data/run1" do not. */
bool signature_workspace(struct scan command, const char *workspace);

/* The workspace of a job is one of its tags, so that it is stored and shown with them. */
#define SIGNATURE_WORKSPACE_TAG "workspace"
/* The path in the tags of struct job; false if there is none. */
bool signature_workspace_find(const char *tags, char ret[static JOB_CWD_MAX]);

/* Removes trailing slashes. False if the path is not absolute, is the root, or contains "." or
 * "..". */
bool signature_workspace_clean(char *path);
