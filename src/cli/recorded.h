/* SPDX-License-Identifier: MIT */
/* recorded.h - what the verbs that read recorded jobs share: the store, the job that was meant, and
 * how their output gets out. */
#pragma once

#include "base/buf.h"
#include "cli/cli.h"
#include "store/reader_job.h"
#include "view/report.h"

struct recorded {
	char *path;
	struct reader *reader;
};

/* CLI_OK, or how it failed: told. Close it in any case. */
int recorded_open(const struct cli *cli, struct recorded *ret);
void recorded_close(struct recorded *r);
/* By what was typed; NULL: the last one. CLI_OK, CLI_NOT_FOUND or CLI_FAILED: told. */
int recorded_find(struct recorded *r, const char *name, struct job *ret);

/* All of the job's records into a report. 0 or -errno. */
int recorded_report(struct recorded *r, struct report *report, struct err *err) must_check;
/* Its events, page by page; between pages `flush` may write. NULL: nothing to do. */
int recorded_events(struct recorded *r, const char *job_id, uint64_t kinds, size_t limit,
                    reader_event_fn fn, int (*flush)(void *self), void *self, struct err *err)
	must_check;

#define RECORDED_PROCESSES_MAX ((size_t)1 << 20)
#define RECORDED_SUMS_MAX ((size_t)1 << 20)
