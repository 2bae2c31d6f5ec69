/* SPDX-License-Identifier: MIT */
/* past_run_query.h - what estimates learn from: recorded jobs that ended, and runs that were imported. */
#pragma once

#include "history/history.h"
#include "model/past_run.h"

typedef int (*reader_run_fn)(void *self, const struct past_run *run);

/* A sheet that ended, as one run of its job's type. */
struct sheet_run {
	struct past_run run; /* its outcome is "ok" or "failed", its basis its largest process */
	const char *command; /* of its job; valid until the function returns */
	bool type_is_given;
};
typedef int (*reader_sheet_run_fn)(void *self, const struct sheet_run *sheet);

/* Selects the sheets with one number, of jobs of one type; uid HISTORY_ANY_UID: of all users. */
struct sheet_filter {
	const char *type;
	uint32_t num, uid;
};

/* Recorded sheets, of the newest job first, at most `limit`. How many, or -errno. */
int history_sheet_runs(struct history *r, const struct sheet_filter *filter, size_t limit,
                       reader_sheet_run_fn fn, void *self, struct err *err) must_check;
/* Imported runs, newest first, at most `limit`. How many, or -errno. A store from before them has none. */
int history_imported_runs(struct history *r, size_t limit, reader_run_fn fn, void *self,
                          struct err *err) must_check;
