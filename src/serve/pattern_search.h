/* SPDX-License-Identifier: MIT */
/* pattern_search.h - the periodic search for patterns, on the store worker's thread. */
#pragma once

#include "model/pattern.h"
#include "serve/store_worker.h"

struct pattern_search {
	const char *db_path; /* borrowed; NULL: nothing is recorded */
	size_t min_jobs;
	void (*found)(void *self, struct patterns *found); /* on the loop */
	void *self;
};

int pattern_search_begin(struct store_worker *worker, const struct pattern_search *search,
                         struct err *err) must_check;
