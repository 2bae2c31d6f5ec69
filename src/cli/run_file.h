/* SPDX-License-Identifier: MIT */
/* run_file.h - reads the runs in a file (model/past_run_file.h), for `import` and `backtest`. Rows that cannot be used are
 * rejected with their line and the reason; reading goes on. */
#pragma once

#include "cli/cli.h"
#include "model/past_run_file.h"

#define RUN_FILE_NEXT "name a file of runs; what may be in it: proctor import --help"
#define RUN_FILE_REASONS_MAX 20 /* that are kept; all are counted */

struct run_file_reason {
	uint64_t line;
	char why[120];
};

struct run_file_counts {
	enum run_file_kind kind;
	uint64_t runs, rejected;
	struct run_file_reason reasons[RUN_FILE_REASONS_MAX];
};

/* A run and the line that it stands in. Not 0: stop. */
typedef int (*run_file_fn)(void *self, const struct past_run *run, uint64_t line, struct err *err);

/* A regular file. *ret_fd is the caller's. */
int run_file_open(const char *path, int *ret_fd, struct err *err) must_check;
/* From its beginning. `progress_of`: a bar on a terminal, and what it counts; NULL: none. */
int run_file_read(int fd, const char *progress_of, run_file_fn fn, void *self,
                  struct run_file_counts *ret, struct err *err) must_check;
/* The rejected rows, on stderr. */
void run_file_log_rejected(const char *path, const struct run_file_counts *counts);
void run_file_rejected_json(const struct run_file_counts *counts, struct json *j);
