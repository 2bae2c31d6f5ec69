/* SPDX-License-Identifier: MIT */
/* Our own CSV. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/defs.h"
#include "model/past_run_format.h"
#include "model/verdict.h"

#define MIB 1048576.0

static bool read_seconds(struct scan s, uint64_t *ret_ns)
{
	return past_run_format_scaled(s, 1e9, ret_ns);
}

static bool read_peak(struct scan s, uint64_t *ret_bytes)
{
	return past_run_format_scaled(s, MIB, ret_bytes);
}

static bool read_cpu(struct scan s, uint64_t took_ns, uint64_t *ret_ns)
{
	(void)took_ns;
	return read_seconds(s, ret_ns);
}

static bool read_requested(struct scan s, uint64_t cpus, uint64_t *ret_bytes)
{
	(void)cpus;
	return past_run_format_scaled(s, MIB, ret_bytes);
}

/* "ok", "failed" or the code of a cause. Any other word would be taken for a failure. */
static int read_outcome(struct scan s, char ret[static RUN_OUTCOME_MAX], struct err *err)
{
	char word[RUN_OUTCOME_MAX];

	snprintf(word, sizeof word, "%.*s", (int)MIN(scan_left(&s), sizeof word), s.p);
	if (strcmp(word, "ok") != 0 && strcmp(word, "failed") != 0 &&
	    verdict_code_find(word) == VERDICT_CODE_COUNT)
		return err_set(err, EBADMSG,
		               "outcome '%s': write ok, failed or a cause as `proctor why --json` "
		               "names it",
		               word);
	memcpy(ret, word, sizeof word);
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
	.started = past_run_format_instant,
	.took = read_seconds,
	.peak = read_peak,
	.cpu = read_cpu,
	.requested = read_requested,
	.outcome = read_outcome,
};
