/* SPDX-License-Identifier: MIT */
/* top_options.h - the options of proctor-top, as the verb passes them on. */
#pragma once

#include "top/link.h"
#include "view/style.h"

struct top_options {
	struct link_options link;
	const char *store;  /* the database; NULL: there is none */
	struct job_key job; /* the only one that is shown; id NULL: all are */
	uint32_t uid;       /* whose jobs bare ids are, for other verbs */
	uint64_t history_ns; /* how far back; UINT64_MAX: live */
	bool json, once;
	struct style style;
	size_t height; /* of --once */
};
