/* SPDX-License-Identifier: MIT */
#include "report/next_request.h"

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

/* Steps of 64 MiB below 2 GiB, whole GiB above. */
static uint64_t round_up(double bytes)
{
	uint64_t step = bytes < 2.0 * (double)GIB ? 64 * MIB : GIB;

	return ((uint64_t)bytes / step + 1) * step;
}

/* The limit that it ran into; 0: none. */
static uint64_t limit_reached(const struct job *job)
{
	if (!job_is_oom(job))
		return 0;
	if (job->cause.oom_limit_bytes)
		return job->cause.oom_limit_bytes;
	return job->allowed.memory_bytes;
}

struct next_request next_request_of(const struct job *job, const struct type_estimate *learned)
{
	double largest = learned->memory.quantiles[ESTIMATE_QUANTILES - 1];
	uint64_t limit = limit_reached(job);
	double wanted = learned->memory.value;

	if (learned->basis != RUN_BASIS_JOB)
		wanted = largest = 0;
	if (limit && largest <= 1.05 * (double)limit)
		wanted = 2 * (double)limit; /* how much it needs was never seen */
	if (wanted <= 0)
		return (struct next_request){ 0 };
	return (struct next_request){ .memory_bytes = round_up(MAX(wanted, largest)),
		                      .largest_bytes = (uint64_t)largest,
		                      .runs = learned->memory.runs };
}

int next_request_gather(struct history *history, const struct job *job, struct next_request *ret,
                        struct err *err)
{
	const struct estimate_query query = {
		.type = job->type, .policy = PEAK_LOW_FAILURE, .uid = job->uid, .attempt = 1
	};
	struct type_estimate learned = { 0 };
	int r;

	*ret = (struct next_request){ 0 };
	if (!job_shows_need(job))
		return 0;
	r = type_estimate_gather(history, &query, &learned, err);
	if (r >= 0)
		*ret = next_request_of(job, &learned);
	return r;
}
