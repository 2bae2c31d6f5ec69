/* SPDX-License-Identifier: MIT */
/* Our own CSV. */
#include <errno.h>
#include <string.h>

#include "model/past_run_format.h"

#define MIB 1048576.0

static bool read_seconds(struct scan s, uint64_t *ret_ns)
{
	return run_field_scaled(s, 1e9, ret_ns);
}

static bool read_peak(struct scan s, uint64_t *ret_bytes)
{
	return run_field_scaled(s, MIB, ret_bytes);
}

static bool read_cpu(struct scan s, uint64_t took_ns, uint64_t *ret_ns)
{
	(void)took_ns;
	return read_seconds(s, ret_ns);
}

static bool read_requested(struct scan s, uint64_t cpus, uint64_t *ret_bytes)
{
	(void)cpus;
	return run_field_scaled(s, MIB, ret_bytes);
}

/* "ok", "failed" or the code of a cause: small letters and '_'. */
static int read_outcome(struct scan s, char ret[static RUN_OUTCOME_MAX], struct err *err)
{
	size_t n = scan_left(&s);

	(void)err;
	for (const char *p = s.p; p < s.end; p++)
		if ((*p < 'a' || *p > 'z') && *p != '_')
			return -EINVAL;
	if (n >= RUN_OUTCOME_MAX)
		return -EINVAL;
	memcpy(ret, s.p, n);
	ret[n] = '\0';
	return 0;
}

const struct run_format run_format_csv = {
	.names = {
		[RUN_COLUMN_TYPE] = { "job_type" },
		[RUN_COLUMN_STARTED] = { "started_at" },
		[RUN_COLUMN_TOOK] = { "duration_seconds" },
		[RUN_COLUMN_PEAK_USED] = { "peak_used_mb" },
		[RUN_COLUMN_PEAK_RSS] = { "peak_rss_mb" },
		[RUN_COLUMN_ID] = { "job_id" },
		[RUN_COLUMN_SHEET] = { "sheet", "sheet_num" },
		[RUN_COLUMN_CPU] = { "cpu_seconds" },
		[RUN_COLUMN_INPUT] = { "input_bytes" },
		[RUN_COLUMN_REQUESTED] = { "requested_mb" },
		[RUN_COLUMN_OUTCOME] = { "outcome" },
		[RUN_COLUMN_EXIT_CODE] = { "exit_code" },
		[RUN_COLUMN_TAGS] = { "tags" },
	},
	.is_strict = true,
	.started = run_field_instant,
	.took = read_seconds,
	.peak = read_peak,
	.cpu = read_cpu,
	.requested = read_requested,
	.outcome = read_outcome,
};
