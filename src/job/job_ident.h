/* SPDX-License-Identifier: MIT */
/* job_ident.h - ids, types and tags of jobs. Pure. */
#pragma once

#include "base/err.h"
#include "model/job.h"

#define JOB_TAG_KEY_MAX 64

/* "train.py-7f3a9c2k": the type, cut to fit, and eight random characters. At most 48
 * characters, so that a socket's path has room for it; only what a file name takes without quotes.
 */
void job_ident_new(const char *type, uint64_t wall_ns, pid_t pid, uint64_t random,
                   char ret[JOB_ID_MAX]);

/* Whether a type or id that a user chose can be one: 1 to JOB_NAME_MAX letters, digits and . _ +
 * - : @ and begins with none of . - (ids are names of directories, and are typed after options). */
#define JOB_NAME_MAX 96
int job_ident_check(const char *name, struct err *err) must_check;
/* The same for an id: it has no colon, so that USER:ID cannot be one. */
int job_ident_check_id(const char *id, struct err *err) must_check;

int job_ident_check_tag_key(const char *key, struct err *err) must_check;
/* "K=V" texts to the JSON object of struct job's tags; none: "". Keys have letters, digits and . _
 * -; of equal ones the last counts. */
int job_ident_tags_json(const char *const *texts, size_t n, char ret[JOB_TAGS_MAX], struct err *err)
	must_check;
