/* SPDX-License-Identifier: MIT */
/* daemon_jobs.h - jobs in the daemon's store, for the verbs that read recorded jobs: a plain user cannot
 * open that store, and the daemon shows each user their own. */
#pragma once

#include "cli/daemon_client.h"
#include "history/job_query.h"
#include "model/job.h"
#include "view/page_view.h"

/* Initialised with zeros. */
struct daemon_jobs {
	struct daemon_client ask;
	json_t *answer; /* NULL: there is no daemon, or it has no other store than ours */
};

#define DAEMON_JOBS_MAX 1000 /* so many are listed at once */

/* The latest `count` jobs that fit, of the daemon at `socket` (NULL: of the usual one). `path` is that of our own store; no daemon is no error, and one that
 * hangs is a warning. Close it always. */
void daemon_jobs_open(struct daemon_jobs *d, const char *socket, const char *path,
                      const struct job_filter *filter, size_t count);
void daemon_jobs_close(struct daemon_jobs *d);
/* The database that they are in; NULL: not known. Borrowed. */
const char *daemon_jobs_store(const struct daemon_jobs *d);
size_t daemon_jobs_count(const struct daemon_jobs *d);
/* As the daemon described it; what is not in the answer is missing. */
struct job daemon_jobs_at(const struct daemon_jobs *d, size_t i);
/* The same as JSON, with its source. */
void daemon_jobs_put(const struct daemon_jobs *d, size_t i, struct json *j);
/* Prints the report of one of them. */
int daemon_jobs_report(struct daemon_jobs *d, const struct cli *cli, const struct job *job);
/* The same as Markdown, and as the parts of a page. CLI_OK, or another status, logged. */
int daemon_jobs_markdown(struct daemon_jobs *d, const struct job *job, struct buf *ret);
int daemon_jobs_page(struct daemon_jobs *d, const struct job *job, struct page_parts *ret);
