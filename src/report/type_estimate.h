/* SPDX-License-Identifier: MIT */
/* type_estimate.h - what the next run of a job type will need, from recorded jobs and imported runs of it. */
#pragma once

#include "analyze/peak_estimator.h"
#include "history/history.h"
#include "model/past_run.h"

enum { ESTIMATE_QUANTILES = 5 };
extern const struct estimate_quantile {
	const char *key;
	double share;
} estimate_quantiles[ESTIMATE_QUANTILES]; /* p50 … max */

/* One quantity: memory in bytes, times in ns. */
struct estimate_part {
	uint64_t runs;       /* that have it; 0: nothing below is known */
	double value, upper; /* to expect, or to request; 95 % of runs stay below `upper` */
	double quantiles[ESTIMATE_QUANTILES]; /* of the latest runs */
};

struct estimate_query {
	const char *type;
	uint32_t sheet;     /* 0: the whole job */
	double input_bytes; /* 0: not known */
	enum peak_policy policy;
	uint32_t uid;          /* only jobs of this user, … */
	bool of_all_users;     /* … unless this is set */
	unsigned attempt;      /* 1: the first */
	const char *last_exit; /* why the attempt before failed; NULL: not known */
};

enum estimate_raise { RAISED_NOTHING, RAISED_MEMORY, RAISED_TIME };

struct type_estimate {
	uint64_t runs;         /* of this type that were learned from; 0: no history */
	uint64_t other_shapes; /* … that were left out, because their command had other options */
	uint64_t failed;       /* … or because they failed for another reason than memory */
	enum run_basis basis;
	struct estimate_part memory, cpu, time;
	double confidence; /* that memory.value is enough */
	struct peak_prediction rule;
	enum estimate_raise raised;
};

/* Also learns from other types, as far as the newest runs go. */
int type_estimate_gather(struct history *r, const struct estimate_query *query,
                        struct type_estimate *ret, struct err *err) must_check;
/* The options of a command, without their values: runs with other ones are not the same thing. */
uint64_t type_estimate_hash_options(const char *command);
