/* SPDX-License-Identifier: MIT */
/* verb_diff.c - two jobs side by side. */
#include "view/diff_view.h"

#include "cli/job_selection.h"

static int compare(const struct cli *cli, const char *first, const char *second)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report a = { 0 };
	cleanup(report_done) struct report b = { 0 };
	struct cli_page page;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_report(&recorded, first, &a);
	if (status == CLI_OK)
		status = job_selection_report(&recorded, second, &b);
	if (status != CLI_OK)
		return status;
	cli_page_begin(&page, cli);
	if (cli->json)
		diff_json(&a, &b, &page.json);
	else
		diff_view(&a, &b, &page.canvas);
	return cli_page_end(&page);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 2)
		return cli_usage(cli, "two jobs are needed: proctor diff TYPE~1 TYPE");
	return compare(cli, argv[1], argv[2]);
}

const struct verb verb_diff = {
	.name = "diff",
	.summary = "two jobs side by side: what they used, and which sheets and programs differ",
	.usage = "JOB JOB [--json]",
	.about = CLI_JOB_HELP
	"\nA ratio is that of the second to the first, and is shown only where both are known.",
	.run = run,
};
