/* SPDX-License-Identifier: MIT */
/* past_run.h - one run of a job type as estimates learn from it: what it used, how long it took, how it ended. From a
 * recorded job, or from a file (past_run_file.h). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/job.h"

/* The basis of a peak. The two are never pooled. */
enum run_basis {
	RUN_BASIS_JOB,     /* the memory in use of the whole job: peak_used_mb */
	RUN_BASIS_PROCESS, /* its largest process, as sacct's MaxRSS: peak_rss_mb */
	RUN_BASIS_COUNT
};

/* Numbers that a run may lack; `has` is a set of 1u << these. */
enum run_number { RUN_CPU, RUN_INPUT, RUN_REQUESTED, RUN_EXIT_CODE, RUN_NUMBERS };

#define RUN_OUTCOME_MAX 32
#define RUN_TAGS_MAX 512

struct past_run {
	char type[JOB_ID_MAX], id[JOB_ID_MAX]; /* id "": none */
	uint32_t sheet;                        /* 0: the whole job */
	enum run_basis basis;
	uint64_t started_ns, took_ns, peak_bytes;
	unsigned has;
	uint64_t cpu_ns, input_bytes, requested_bytes;
	int32_t exit_code;
	char outcome[RUN_OUTCOME_MAX]; /* "ok", "failed" or the code of a cause; "": not known */
	char tags[RUN_TAGS_MAX];
	uint32_t uid; /* of one that was imported: by which user */
};

bool past_run_has(const struct past_run *run, enum run_number number);
const char *past_run_basis_name(enum run_basis basis); /* "job", "process" */
