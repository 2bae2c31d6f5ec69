/* SPDX-License-Identifier: MIT */
/* process_files.h - parsers of the files in /proc/PID: text in, numbers out. False when the text is
 * short or malformed, as it is when the process ended in the middle of the read; the result is
 * untouched then. */
#pragma once

#include "base/scan.h"
#include "model/metric.h"
#include "model/process.h"

struct process_files_stat {
	pid_t pid, ppid;
	char comm[COMM_LEN];
	char state;
	uint64_t threads;
	uint64_t start_ticks;
	struct proc_readings r; /* every metric that has a field in it */
	uint64_t exec_id; /* changes when another program is executed; 0: not told to us, or no
	                     program */
};

struct process_files_statm {
	uint64_t size_pages, resident_pages;
};

bool process_files_parse_stat(struct scan text, struct process_files_stat *ret);
bool process_files_parse_statm(struct scan text, struct process_files_statm *ret);
bool process_files_parse_io(struct scan text, struct proc_readings *ret); /* adds to it */

struct process_files_rollup {
	uint64_t pss_bytes, uss_bytes;
};

bool process_files_parse_rollup(struct scan text,
                                struct process_files_rollup *ret);    /* smaps_rollup */
bool process_files_parse_peak(struct scan text, uint64_t *ret_bytes); /* VmHWM of status */
bool process_files_parse_fd_limit(struct scan text,
                                  uint64_t *ret); /* limits, soft; false: unlimited */
