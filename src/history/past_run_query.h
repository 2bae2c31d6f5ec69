/* SPDX-License-Identifier: MIT */
/* past_run_query.h - what estimates learn from: recorded jobs that ended, and runs that were imported. */
#pragma once

#include "history/history.h"
#include "model/past_run.h"

typedef int (*reader_run_fn)(void *self, const struct past_run *run);

/* Imported runs, newest first, at most `limit`. How many, or -errno. A store from before them has none. */
int history_imported_runs(struct history *r, size_t limit, reader_run_fn fn, void *self,
                          struct err *err) must_check;
