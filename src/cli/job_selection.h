/* SPDX-License-Identifier: MIT */
/* job_selection.h - what the verbs that read recorded jobs share: the store, the job that was meant, and
 * how their output gets out. */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"
#include "history/job_query.h"
#include "view/report.h"

struct job_selection {
	char *path;
	struct history *reader;
};

/* CLI_OK, or how it failed: told. Close it in any case. */
int job_selection_open(const struct cli *cli, struct job_selection *ret);
void job_selection_close(struct job_selection *r);
/* By what was typed; NULL: the last one. CLI_OK, CLI_NOT_FOUND or CLI_FAILED: told. */
int job_selection_find(struct job_selection *r, const char *name, struct job *ret);

/* All of the job's records into a report. 0 or -errno. */
int job_selection_report(struct job_selection *r, struct report *report, struct err *err)
	must_check;
/* Its events, page by page; between pages `flush` may write. NULL: nothing to do. */
int job_selection_events(struct job_selection *r, struct job_key key, uint64_t kinds, size_t limit,
                         reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
	must_check;

#define JOB_SELECTION_PROCESSES_MAX ((size_t)1 << 20)
#define JOB_SELECTION_SUMS_MAX ((size_t)1 << 20)
