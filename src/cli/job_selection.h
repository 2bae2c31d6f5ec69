/* SPDX-License-Identifier: MIT */
/* job_selection.h - what the verbs that read recorded jobs share: the stores, and the job that was meant
 * (model/job_search.h). If it is not there, the other stores of this machine are named. */
#pragma once

#include "cli/cli.h"
#include "cli/daemon_jobs.h"
#include "history/job_query.h"
#include "report/report.h"

/* Initialised with zeros. */
struct job_selection {
	const struct cli *cli;
	char *path;
	struct history *reader;    /* NULL: there is no store */
	bool asks_daemon;          /* --state-dir means this store and no other */
	const char *socket;        /* of the daemon; NULL: the usual one */
	struct daemon_jobs others; /* what the daemon was asked for last */
	VEC(size_t) places;        /* those among them that our store does not have, newest first */
};

/* CLI_OK, also where there is no store; or another status, logged. Close it even on failure. */
int job_selection_open(const struct cli *cli, struct job_selection *ret);
void job_selection_close(struct job_selection *r);
/* Finds the job that the user named; NULL: the last one. It may be one that only the daemon has. CLI_OK, or
 * CLI_NOT_FOUND, or CLI_FAILED where several match, all logged. */
int job_selection_find(struct job_selection *r, const char *name, struct job *ret,
                       bool *ret_is_daemons);
/* The same for what the daemon's answers cannot show: the job must be in our own store. */
int job_selection_find_own(struct job_selection *r, const char *name, struct job *ret);
/* The time and this boot of the machine, into a report before it is gathered. */
void job_selection_now(struct report *ret);
/* All that is known about ret->job, which is in our own store. */
int job_selection_gather(struct job_selection *r, struct report *ret);
/* Both; of a job that only the daemon has, its totals. */
int job_selection_report(struct job_selection *r, const char *name, struct report *ret);
/* Asks the daemon for the latest `count` jobs that fit, into r->others. */
void job_selection_ask(struct job_selection *r, const struct job_filter *filter, size_t count);
/* Logs that there is no store at `path`, and which others this user can read; returns
 * CLI_NOT_FOUND. */
int job_selection_no_store(const char *path);
