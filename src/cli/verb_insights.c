/* SPDX-License-Identifier: MIT */
/* verb_insights.c - what goes with the failures of recorded jobs. */
#include "base/clock.h"
#include "base/time_parse.h"
#include "cli/job_selection.h"
#include "view/insights_view.h"

static int show(const struct cli *cli, uint64_t since_ns, uint64_t now_ns)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(insights_done) struct insights found = { 0 };
	struct config config;
	struct cli_page page;
	struct err err;
	int status = cli_config_to_read(cli, &config);

	if (status == CLI_OK)
		status = job_selection_open(cli, &recorded);
	if (status != CLI_OK)
		return status;
	if (!recorded.reader)
		return job_selection_no_store(recorded.path);
	if (insights_gather(recorded.reader, since_ns, config.correlation.min_sample_size, &found,
	                    &err) < 0)
		return cli_failed(&err);
	cli_page_begin(&page, cli);
	if (cli->json)
		insights_json(&found, &page.json);
	else
		insights_view(&found, now_ns, &page.canvas);
	return cli_page_end(&page);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const char *since = NULL;
	const struct opt opts[] = {
		{ "since", 0, OPT_TEXT, &since, "TIME",
		  "jobs that finished since then (default: 7d ago)" },
		CLI_COMMON_OPTS(cli),
	};
	uint64_t now_ns = clock_wall_ns(), since_ns = now_ns - INSIGHTS_LOOKBACK_NS;
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "takes options only");
	if (since && !time_parse(scan_str(since), now_ns, &since_ns))
		return cli_usage(cli, "--since '%s': not a time; write " TIME_GRAMMAR, since);
	return show(cli, since_ns, now_ns);
}

const struct verb verb_insights = {
	.name = "insights",
	.summary = "what goes with failure: memory, time, tags, anomalies of the jobs of each type",
	.usage = "[--since TIME] [--json]",
	.about =
		"Compares the jobs of each type that failed with those that did not. All properties of all types\n"
		"are judged together: where failures are independent of them, at most 5 % of histories yield a\n"
		"finding. q is the probability of a finding this strong by chance. docs/learning.md has the method.",
	.run = run,
};
