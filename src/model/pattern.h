/* SPDX-License-Identifier: MIT */
/* pattern.h - what the jobs of one type have in common, as it is stored: what goes with failure, and which anomalies
 * recur. Plain data. */
#pragma once

#include "base/vec.h"
#include "model/job.h"

/* X(id, name); stored by name */
#define PATTERN_TYPES(X)                                                                           \
	X(CORRELATION, "RESOURCE_CORRELATION")                                                     \
	X(ANOMALY, "RESOURCE_ANOMALY")

#define X(id, ...) PATTERN_##id,
enum pattern_type { PATTERN_TYPES(X) PATTERN_TYPE_COUNT };
#undef X

#define PATTERN_SUBJECT_MAX 160
#define PATTERN_DESCRIPTION_MAX 480
#define PATTERNS_MAX 1000

/* Numbers that it has not are NAN. */
struct pattern {
	enum pattern_type type;
	uint32_t uid; /* whose jobs */
	char job_type[JOB_ID_MAX];
	char subject
		[PATTERN_SUBJECT_MAX]; /* what it is about: the key of a property or of an anomaly */
	char description[PATTERN_DESCRIPTION_MAX];
	double confidence;
	uint64_t support;         /* jobs it is based on */
	double from, to;          /* values of the property; one may be infinite */
	double p, q;              /* of it alone, and of all that was judged with it */
	double effect, low, high; /* the difference of the failure rates, and its interval */
	uint64_t first_seen_ns,
		last_seen_ns; /* ends of the first and last job that failed so; wall clock */
	uint64_t retired_ns;  /* later jobs contradicted it; 0: it is valid */
};

struct patterns {
	VEC(struct pattern) list;
};

const char *pattern_type_name(enum pattern_type type);
/* PATTERN_TYPE_COUNT: there is none of this name. */
enum pattern_type pattern_type_find(const char *name);
/* Whether both are about the same: they differ in their numbers at most. */
bool pattern_eq(const struct pattern *a, const struct pattern *b);
