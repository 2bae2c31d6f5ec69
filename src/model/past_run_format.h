/* SPDX-License-Identifier: MIT */
/* past_run_format.h - how each kind of file names and writes the fields of a run. For the files of the reader only. */
#pragma once

#include "model/past_run_file.h"

struct run_format {
	const char *names[RUN_COLUMNS][2]; /* of columns, the better one first */
	bool is_strict; /* an optional field that cannot be read is an error; else it is absent, as '?' is */
	bool (*started)(struct scan s, uint64_t *ret_ns);
	bool (*took)(struct scan s, uint64_t *ret_ns);
	bool (*peak)(struct scan s, uint64_t *ret_bytes);
	bool (*cpu)(struct scan s, uint64_t took_ns, uint64_t *ret_ns);
	bool (*requested)(struct scan s, uint64_t cpus, uint64_t *ret_bytes);
	/* -EINVAL: not readable; -EBADMSG: it is no run to learn from, for the reason in err. */
	int (*outcome)(struct scan s, char ret[static RUN_OUTCOME_MAX], struct err *err);
};

extern const struct run_format run_format_csv, run_format_sacct, run_format_nextflow;

/* "12.5" of a unit of `scale`. */
bool past_run_format_scaled(struct scan s, double scale, uint64_t *ret);
/* "1.2 GB", "512K", "0", and a plain number of bytes: powers of 1024, as all these tools mean them. */
bool past_run_format_bytes(struct scan s, uint64_t *ret);
/* Seconds since 1970, or ISO 8601. */
bool past_run_format_instant(struct scan s, uint64_t *ret_ns);

/* The words of a tool for how a run ended. */
struct run_state {
	const char *word, *outcome; /* outcome NULL: no run to learn from, */
	const char *why;
};
/* By its first word; any that is not listed is "failed". The last row has no word. */
int past_run_format_state(const struct run_state *states, struct scan s,
                         char ret[static RUN_OUTCOME_MAX], struct err *err) must_check;
