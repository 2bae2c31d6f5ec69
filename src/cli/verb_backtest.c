/* SPDX-License-Identifier: MIT */
/* verb_backtest.c - replays a history of runs: what our estimates, and simple rules, would have wasted. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/run_file.h"
#include "model/past_run_list.h"
#include "view/backtest_view.h"

struct order {
	uint64_t last_ns;
	bool is_broken;
};

static int check_order(void *self, const struct past_run *run, uint64_t line, struct err *err)
{
	struct order *o = self;

	(void)line, (void)err;
	o->is_broken |= run->started_ns < o->last_ns;
	o->last_ns = run->started_ns;
	return 0;
}

static int replay(void *self, const struct past_run *run, uint64_t line, struct err *err)
{
	(void)line, (void)err;
	backtest_add(self, run);
	return 0;
}

static int collect(void *self, const struct past_run *run, uint64_t line, struct err *err)
{
	(void)line;
	if (past_run_list_add(self, run))
		return 0;
	return err_set(
		err, EFBIG,
		"more than %zu rows that are not in the order of their starts: sort the file first",
		PAST_RUN_LIST_MAX);
}

/* In time order: as the file has them or, if it is not sorted, from memory. */
static int replay_file(int fd, bool is_quiet, struct backtest *b,
                       struct run_file_counts *counts, struct err *err)
{
	cleanup(past_run_list_done) struct past_run_list runs = { 0 };
	struct order order = { 0 };
	struct progress progress;
	int r = run_file_read(fd, is_quiet ? NULL : "rows checked", check_order, &order, counts, err);

	if (r < 0)
		return r;
	if (!order.is_broken)
		return run_file_read(fd, is_quiet ? NULL : "rows replayed", replay, b, counts, err);
	r = run_file_read(fd, is_quiet ? NULL : "rows read", collect, &runs, counts, err);
	past_run_list_sort(&runs);
	progress_begin(&progress, !is_quiet, runs.runs.len, "rows replayed");
	for (size_t i = 0; r == 0 && i < runs.runs.len; i++) {
		struct past_run run;

		past_run_list_get(&runs, i, &run);
		backtest_add(b, &run);
		progress_step(&progress, i, i);
	}
	progress_end(&progress);
	return r;
}

static int print(const struct cli *cli, const struct backtest *b,
                 const struct run_file_counts *counts)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json) {
		json_begin_object(&page.json);
		json_put_u64(&page.json, "schema", 1);
		backtest_view_json(b, &page.json);
		run_file_rejected_json(counts, &page.json);
		json_end_object(&page.json);
	} else {
		backtest_view(b, &page.canvas);
	}
	return cli_page_end(&page);
}

static int backtest_file(const struct cli *cli, const char *path, enum peak_policy policy)
{
	cleanup(closep) int fd = -1;
	struct run_file_counts counts = { 0 };
	struct backtest b;
	struct err err;
	int status, r = run_file_open(path, &fd, &err);

	if (r < 0) {
		cli_failed_then(&err, RUN_FILE_NEXT);
		return r == -ENOENT ? CLI_NOT_FOUND : CLI_FAILED;
	}
	backtest_init(&b, policy);
	r = replay_file(fd, cli->json, &b, &counts, &err);
	if (r < 0)
		log_error("%s: %s; see: proctor import --help", path, err.msg);
	else
		run_file_log_rejected(path, &counts);
	if (r == 0 && !b.total.runs)
		log_error("%s: no run could be read; see: proctor import --help", path);
	status = r == 0 && b.total.runs ? print(cli, &b, &counts) : CLI_FAILED;
	backtest_done(&b);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const char *policy = "low-waste";
	const struct opt opts[] = {
		{ "policy", 0, OPT_TEXT, &policy, "POLICY", "low-waste (default) or low-failure",
		  "low-waste low-failure" },
		CLI_COMMON_OPTS(cli),
	};
	bool is_low_failure;
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	is_low_failure = strcmp(policy, "low-failure") == 0;
	if (!is_low_failure && strcmp(policy, "low-waste") != 0)
		return cli_usage(cli, "--policy '%s': write low-waste or low-failure", policy);
	if (words != 1)
		return cli_usage(cli, words ? "one file only" : "no file given");
	return backtest_file(cli, argv[1], is_low_failure ? PEAK_LOW_FAILURE : PEAK_LOW_WASTE);
}

const struct verb verb_backtest = {
	.name = "backtest",
	.summary = "replay a history: what requests by estimates would have wasted",
	.usage = "[--policy POLICY] [--json] FILE",
	.about =
		"FILE is a CSV file as `proctor import` reads it, `sacct --parsable2` output or a Nextflow trace.\n"
		"Each run is predicted from earlier ones only. A failed attempt wastes its allocation times its run\n"
		"time, the last attempt what it did not use; GB are 10^9 bytes. Nothing is stored.",
	.example = "proctor backtest history.csv",
	.run = run,
};
