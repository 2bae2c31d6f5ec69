/* SPDX-License-Identifier: MIT */
/* job_selection.h - what the verbs that read recorded jobs share: the store, and the job that was meant.
 * If it is not there, the other stores of this machine are named. */
#pragma once

#include "cli/cli.h"
#include "history/job_query.h"
#include "report/job_report.h"

/* Initialised with zeros. */
struct job_selection {
	char *path;
	struct history *reader;
};

/* CLI_OK, or another status, logged. Close it even on failure. */
int job_selection_open(const struct cli *cli, struct job_selection *ret);
void job_selection_close(struct job_selection *r);
/* Finds the job that the user named; NULL: the last one. CLI_OK, or CLI_NOT_FOUND or CLI_FAILED,
 * logged. */
int job_selection_find(struct job_selection *r, const char *name, struct job *ret);
/* Whether it is there; nothing is logged. False also if the store cannot be read. */
bool job_selection_has(const struct cli *cli, const char *name);
/* All that is known about the job that the user named. */
int job_selection_report(const struct cli *cli, const char *name, struct report *ret);
/* Logs that there is no store at `path`, and which others this user can read; returns
 * CLI_NOT_FOUND. */
int job_selection_no_store(const char *path);
