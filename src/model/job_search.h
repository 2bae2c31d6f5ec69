/* SPDX-License-Identifier: MIT */
/* job_search.h - which job a user means. The jobs that may be meant are offered newest first, from one store
 * or from several; the first of these rules that fits any of them decides:
 *
 *	an id in full, one's own before that of others
 *	"last": the latest job that no other job started
 *	a job type in full, else the beginning of a single type: its latest run
 *	the beginning of one id, else any part of one id, or its two ends around "…"
 *
 * NAME~N is the Nth run before that, of a type and of "last". USER:NAME means only that user's jobs: nobody else can have a
 * job that is found by it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "model/job.h"

#define JOB_SEARCH_SHOWN 10 /* of the jobs that an ambiguous name could mean */

/* A job that may be meant. */
struct job_offer {
	uint32_t uid;
	uint64_t started_ns;
	char id[JOB_ID_MAX], type[JOB_ID_MAX];
	int source; /* the caller's own */
};

enum job_search_rule {
	JOB_BY_OWN_ID,
	JOB_BY_ID,
	JOB_BY_LAST,
	JOB_BY_TYPE,
	JOB_BY_TYPE_BEGINNING,
	JOB_BY_ID_BEGINNING,
	JOB_BY_ID_PART,
	JOB_SEARCH_RULES
};

/* The result of one rule. */
struct job_matches {
	uint64_t n;
	bool of_several_types;
	struct job_offer shown[JOB_SEARCH_SHOWN]; /* the newest */
	struct job_offer nth;                     /* the run that ~N counts back to, if n > N */
};

/* One way to read what was typed. Inside. */
struct job_search_reading {
	const char *in_full; /* without USER: */
	struct scan text;    /* … and ~N */
	uint64_t back;    /* ~N */
	bool has_back, of_one_user;
	uint32_t uid;
	struct job_matches by[JOB_SEARCH_RULES];
};

struct job_search {
	uint32_t uid;
	struct job_search_reading readings[2]; /* as it is; as USER:NAME */
	size_t n_readings;
};

/* `typed` is borrowed; bare ids are those of user `uid` first. False: it cannot name a job. */
bool job_search_init(struct job_search *s, const char *typed, uint32_t uid);
/* USER:ID, an id in full; that of the key is borrowed. False: it has another form, or there is no such user. */
bool job_search_parse_key(const char *typed, struct job_key *ret);
/* Whether it means "last": then only jobs which no other job started are to be offered, and no more than the
 * latest `count`, of that user if it names one. */
struct job_search_last {
	size_t count;
	bool of_one_user;
	uint32_t uid;
};
bool job_search_is_last(const struct job_search *s, struct job_search_last *ret);
/* A text that is part of the id or of the type of every job that may be meant: others need not be
 * offered. "" if there is none. */
struct scan job_search_part(const struct job_search *s);
void job_search_offer(struct job_search *s, const struct job_offer *offer);

/* The only job that is meant, or NULL. Then either several are, and *ret_several has them, or none is. */
const struct job_offer *job_search_end(const struct job_search *s,
                                       const struct job_matches **ret_several);
