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

/* In a transaction: the keyframe's span becomes one-minute means (downsample.c). */
int downsample_keyframe(struct store *st, int64_t keyframe, struct err *err) must_check;

/* For the tables' retain(): runs a DELETE of at most ?2 rows older than ?1. 1: there may be more. */
int retention_delete_before(struct store *st, const char *sql, double before, struct err *err)
	must_check;
#define RETENTION_ROWS 500 /* per step */
