/* SPDX-License-Identifier: MIT */
/* next_request.h - how much memory to request for the next run of a job, learned from this run and the others of its
 * type. */
#pragma once

#include "base/err.h"
#include "history/history.h"
#include "model/job.h"
#include "report/type_estimate.h"

struct next_request {
	uint64_t memory_bytes;  /* a round size; 0: not known */
	uint64_t largest_bytes; /* of the runs that it was learned from */
	uint64_t runs;          /* how many these are */
};

int next_request_gather(struct history *history, const struct job *job, struct next_request *ret,
                        struct err *err) must_check;
/* From what was learned. Pure. */
struct next_request next_request_of(const struct job *job, const struct type_estimate *learned);
