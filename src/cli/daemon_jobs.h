/* SPDX-License-Identifier: MIT */
/* daemon_jobs.h - jobs in the daemon's store, for the verbs that read recorded jobs: a plain user cannot
 * open that store, and the daemon shows each user their own. */
#pragma once

#include "cli/daemon_client.h"
#include "model/job.h"

/* Initialised with zeros. */
struct daemon_jobs {
	struct daemon_client ask;
	json_t *answer; /* NULL: there is no daemon, or it has no other store than ours */
};

/* The latest `count` jobs. `path` is that of our own store; no daemon is no error. Close it always. */
void daemon_jobs_open(struct daemon_jobs *d, const char *path, size_t count);
void daemon_jobs_close(struct daemon_jobs *d);
size_t daemon_jobs_count(const struct daemon_jobs *d);
/* As the daemon described it; what is not in the answer is missing. */
struct job daemon_jobs_at(const struct daemon_jobs *d, size_t i);
/* The same as JSON, with its source. */
void daemon_jobs_put(const struct daemon_jobs *d, size_t i, struct json *j);
/* Prints the report of a job that only the daemon has: a status, or -1: no daemon knows such a job. */
int daemon_jobs_report(const struct cli *cli, const char *id);
