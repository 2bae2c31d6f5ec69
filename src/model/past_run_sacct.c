/* SPDX-License-Identifier: MIT */
/* The output of `sacct --parsable2`. */
#include "base/clock.h"
#include "model/past_run_format.h"

static bool read_took(struct scan s, uint64_t *ret_ns)
{
	return clock_parse_duration(s, ret_ns);
}

/* "1-02:03:04", "02:03.456" */
static bool read_cpu(struct scan s, uint64_t took_ns, uint64_t *ret)
{
	struct scan fraction = s, whole;
	uint64_t ms = 0;

	(void)took_ns;
	if (!scan_until(&fraction, '.', &whole))
		return clock_parse_duration(s, ret);
	if (scan_left(&fraction) != 3 || !scan_u64(&fraction, &ms) || !scan_at_end(&fraction) ||
	    !clock_parse_duration(whole, ret))
		return false;
	*ret += ms * NS_PER_MS;
	return true;
}

/* "4000M"; older versions append 'n' (per node) or 'c' (per CPU). */
static bool read_requested(struct scan s, uint64_t cpus, uint64_t *ret)
{
	uint64_t times = 1;

	if (scan_left(&s) > 1 && (s.end[-1] == 'n' || s.end[-1] == 'c')) {
		times = s.end[-1] == 'c' ? cpus : 1;
		s.end--;
	}
	return times && past_run_format_bytes(s, ret) && !__builtin_mul_overflow(*ret, times, ret);
}

static int read_outcome(struct scan s, char ret[static RUN_OUTCOME_MAX], struct err *err)
{
	static const struct run_state states[] = {
		{ "COMPLETED", "ok", NULL },
		{ "OUT_OF_MEMORY", "oom_own_limit", NULL },
		{ "TIMEOUT", "time_limit", NULL },
		{ "DEADLINE", "time_limit", NULL },
		{ "NODE_FAIL", "machine_lost", NULL },
		{ "RUNNING", NULL, "it is still running" },
		{ "PENDING", NULL, "it has not started" },
		{ "SUSPENDED", NULL, "it is still running" },
		{ 0 },
	};

	return past_run_format_state(states, s, ret, err);
}

const struct run_format run_format_sacct = {
	.names = {
		[RUN_COLUMN_TYPE] = { "JobName" },
		[RUN_COLUMN_STARTED] = { "Start" },
		[RUN_COLUMN_TOOK] = { "ElapsedRaw", "Elapsed" },
		[RUN_COLUMN_PEAK_RSS] = { "MaxRSS" },
		[RUN_COLUMN_ID] = { "JobIDRaw", "JobID" },
		[RUN_COLUMN_CPU] = { "TotalCPU" },
		[RUN_COLUMN_REQUESTED] = { "ReqMem" },
		[RUN_COLUMN_OUTCOME] = { "State" },
		[RUN_COLUMN_EXIT_CODE] = { "ExitCode" },
		[RUN_COLUMN_CPUS] = { "AllocCPUS", "ReqCPUS" },
	},
	.started = past_run_format_instant,
	.took = read_took,
	.peak = past_run_format_bytes,
	.cpu = read_cpu,
	.requested = read_requested,
	.outcome = read_outcome,
};
