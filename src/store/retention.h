/* SPDX-License-Identifier: MIT */
/* retention.h - old rows are thinned out and deleted, in steps that fit between two ticks. */
#pragma once

#include "store/store.h"

struct retention_run {
	struct store_retention keep;
	uint64_t now_ns; /* what "now" is for this run, on the wall clock */
	int stage;       /* 0: none is under way */
	int64_t cursor;
};

/* With its clocks as arguments. */
int retention_begin(struct store *st, const struct store_retention *keep, uint64_t wall_ns,
                    uint64_t boot_ns, struct err *err) must_check;
int retention_step(struct store *st, bool *ret_more, struct err *err) must_check;

/* For the tables' retain(): runs a DELETE of at most ?2 rows older than ?1. 1: there may be more. */
int retention_delete_before(struct store *st, const char *sql, double before, struct err *err)
	must_check;
#define RETENTION_ROWS 500 /* per step */
