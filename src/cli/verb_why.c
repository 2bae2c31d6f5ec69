/* SPDX-License-Identifier: MIT */
/* verb_why.c - why a job ended as it did, on one page. */
#include "analyze/verdict_rules.h"
#include "base/log.h"
#include "cli/job_selection.h"
#include "cli/verb_report.h"
#include "view/verdict_view.h"

static int show(const struct cli *cli, const char *name)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report report = { 0 };
	struct verdict verdict = { 0 };
	const struct verdict_page shown = { &report, &verdict };
	struct cli_page page;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_report(&recorded, name, &report);
	if (status != CLI_OK)
		return status;
	verb_report_add_blocked(&report);
	if (report.job.status != JOB_RUNNING)
		verdict_rules_judge(&report.job, &report.facts, &verdict);
	cli_page_begin(&page, cli);
	if (cli->json)
		verdict_view_json(&shown, &page.json);
	else
		verdict_view(&shown, &page.canvas);
	return cli_page_end(&page);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only: proctor why JOB");
	return show(cli, words ? argv[1] : NULL);
}

const struct verb verb_why = {
	.name = "why",
	.summary = "why a job failed: the cause, the evidence, and what to do about it",
	.usage = "[JOB] [--json]",
	.about = CLI_JOB_HELP
	"\nThe cause is that of the process that failed first; docs/verdicts.md has the rules.\n"
	"Confidence is high where the kernel reported the cause, medium where the state at the end suggests\n"
	"it, else low.",
	.example = "proctor why last",
	.run = run,
};
