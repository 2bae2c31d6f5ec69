/* SPDX-License-Identifier: MIT */
/* run_log.h - the log of one run, a JSON object a line, written as it happens:
 *
 *	{"ts":"2026-11-15T14:03:07.412Z","type":"phase","name":"load","seconds":1.25,"rows":100}
 *	{"ts":"2026-11-15T14:03:09.001Z","type":"event","event":"epoch","data":{"loss":0.3}}
 *
 * Made for `tail -f` and jq. Lines that a full disk refused are counted, and recorded in the log itself
 * (event "lines_lost") as soon as there is room again. */
#pragma once

#include "base/buf.h"
#include "base/scan.h"
#include "base/line_file.h"

#define RUN_LOG_DATA_MAX ((size_t)64 << 10) /* longer data is left out, and its size recorded */

struct run_log {
	struct line_file file;
	struct buf line;
	uint64_t unreported; /* lost lines that are not in the log yet */
};

/* run.jsonl in that directory, which must not be there yet. */
int run_log_create(int dir_fd, struct run_log *ret, struct err *err) must_check;
void run_log_close(struct run_log *log);

/* `data` is the text of a JSON object, or empty. What is not one is kept as a string. */
int run_log_event(struct run_log *log, uint64_t wall_ns, struct scan name, struct scan data,
                  struct err *err) must_check;
/* The members of data stand beside name and seconds, unless one has a name that is taken: then they
 * stand in "data". */
int run_log_phase(struct run_log *log, uint64_t wall_ns, struct scan name, uint64_t took_ns,
                  struct scan data, struct err *err) must_check;
