/* SPDX-License-Identifier: MIT */
/* insights.h - what the finished jobs of a store teach: which of their properties go with failure
 * (analyze/correlation.h), and which anomalies recur. */
#pragma once

#include "model/pattern.h"
#include "report/property_table.h"

#define INSIGHTS_LOOKBACK_NS (UINT64_C(7) * 86400 * 1000000000)
#define INSIGHTS_JOBS_MAX 50000 /* the newest; of each type CORRELATION_JOBS_MAX */
#define INSIGHTS_TYPES_MAX 1000

/* One pattern, and what its sentence needs. */
struct insight {
	struct pattern pattern; /* its description is the view's */
	struct property property;
	struct rate inside, outside; /* failed jobs; of an anomaly: those that had it, of all */
};

struct insights {
	VEC(struct insight) list;         /* correlations by q, then anomalies */
	VEC(struct property_table) types; /* with jobs that finished in time */
	uint64_t since_ns;
	size_t min_jobs;
	size_t jobs;         /* … in all */
	size_t judged_types; /* that have enough jobs, of which some failed and some did not */
	size_t judged_jobs;
	size_t small_types, even_types; /* too few jobs; all ended alike */
	uint64_t dropped;               /* jobs beyond the bounds */
	struct map by_type;             /* hash of user and type → index */
};

/* Jobs that finished since then, and imported runs; a type needs min_jobs. Lost jobs are left out. */
int insights_gather(struct history *r, uint64_t since_ns, size_t min_jobs, struct insights *ret,
                    struct err *err) must_check;
void insights_done(struct insights *i);
