/* SPDX-License-Identifier: MIT */
/* job_filter_options.h - the options that select recorded jobs, the same in every verb that has them. */
#pragma once

#include "cli/cli.h"
#include "history/job_query.h"

/* Initialised with zeros. */
struct job_filter_options {
	const char *type, *tag, *outcome, *since, *until;
	char *tag_key; /* owned: what the filter borrows */
};

/* For the list of a verb's options. */
#define JOB_FILTER_OPTIONS(o)                                                                      \
	{ "type", 0, OPT_TEXT, &(o)->type, "TYPE", "only jobs of this type" },                     \
		{ "tag", 't', OPT_TEXT, &(o)->tag, "K[=V]", "only jobs with this tag" },           \
		{ "outcome",     0,      OPT_TEXT,                                                 \
		  &(o)->outcome, "WORD", "only ok, failed, running, lost, signal, oom or limit", \
		  "ok failed running lost signal oom limit" },                                      \
		{ "since",     0,      OPT_TEXT,                                                   \
		  &(o)->since, "TIME", "only jobs started at this time or later" },                \
	{                                                                                          \
		"until", 0, OPT_TEXT, &(o)->until, "TIME", "only jobs started before this time"    \
	}

bool job_filter_options_given(const struct job_filter_options *o);
/* CLI_OK, or CLI_USAGE, logged. The filter borrows from `o`. */
int job_filter_options_make(const struct cli *cli, struct job_filter_options *o, uint64_t now_ns,
                            struct job_filter *ret);
void job_filter_options_done(struct job_filter_options *o);
