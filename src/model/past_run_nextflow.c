/* SPDX-License-Identifier: MIT */
/* A Nextflow trace: with units for people, or raw. */
#include "base/clock.h"
#include "model/past_run_format.h"

static bool read_ms(struct scan s, uint64_t *ret_ns)
{
	uint64_t ms;

	return scan_u64(&s, &ms) && scan_at_end(&s) &&
	       !__builtin_mul_overflow(ms, (uint64_t)NS_PER_MS, ret_ns);
}

static bool read_started(struct scan s, uint64_t *ret_ns)
{
	return read_ms(s, ret_ns) || past_run_format_instant(s, ret_ns);
}

/* "3m 4s", "1h 2m", "350ms", "2d 3h"; a plain number is milliseconds, as `trace.raw` writes it. */
static bool read_took(struct scan s, uint64_t *ret_ns)
{
	char text[64];
	size_t n = 0;

	if (read_ms(s, ret_ns))
		return true;
	for (; s.p < s.end && n < sizeof text; s.p++)
		if (*s.p != ' ')
			text[n++] = *s.p;
	return scan_at_end(&s) && clock_parse_duration(scan_mem(text, n), ret_ns);
}

/* A share of one CPU: "98.5%" */
static bool read_cpu(struct scan s, uint64_t took_ns, uint64_t *ret_ns)
{
	if (s.p < s.end && s.end[-1] == '%')
		s.end--;
	return past_run_format_scaled(s, (double)took_ns / 100, ret_ns);
}

static bool read_requested(struct scan s, uint64_t cpus, uint64_t *ret_bytes)
{
	(void)cpus;
	return past_run_format_bytes(s, ret_bytes);
}

static int read_outcome(struct scan s, char ret[static RUN_OUTCOME_MAX], struct err *err)
{
	static const struct run_state states[] = {
		{ "COMPLETED", "ok", NULL },
		{ "CACHED", NULL, "it was cached, not run" },
		{ 0 },
	};

	return past_run_format_state(states, s, ret, err);
}

const struct run_format run_format_nextflow = {
	.names = {
		[RUN_COLUMN_TYPE] = { "process", "name" },
		[RUN_COLUMN_STARTED] = { "start", "submit" },
		[RUN_COLUMN_TOOK] = { "realtime", "duration" },
		[RUN_COLUMN_PEAK_RSS] = { "peak_rss" },
		[RUN_COLUMN_ID] = { "hash", "task_id" },
		[RUN_COLUMN_CPU] = { "%cpu" },
		[RUN_COLUMN_REQUESTED] = { "memory" },
		[RUN_COLUMN_OUTCOME] = { "status" },
		[RUN_COLUMN_EXIT_CODE] = { "exit" },
	},
	.started = read_started,
	.took = read_took,
	.peak = past_run_format_bytes,
	.cpu = read_cpu,
	.requested = read_requested,
	.outcome = read_outcome,
};
