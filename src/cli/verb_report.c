/* SPDX-License-Identifier: MIT */
/* verb_report.c - everything known about one job. */
#include "base/clock.h"
#include "cli/job_selection.h"
#include "cli/verb_report.h"
#include "view/report_view.h"

static int show(const struct cli *cli, const struct report *report, void *arg)
{
	struct style style = cli_style(cli);
	struct buf out = { 0 };
	struct json json = { .out = &out };
	int status;

	(void)arg;
	if (cli->json) {
		report_json(report, &json);
		buf_putc(&out, '\n');
	} else {
		report_view(report, CANVAS(&style, &out));
	}
	status = cli_print(&out);
	buf_done(&out);
	return status;
}

static int put_text(const struct cli *cli, const struct report *report, void *arg)
{
	(void)cli;
	report_text(report, arg);
	return CLI_OK;
}

static int report_job(const struct cli *cli, struct job_selection *recorded, const char *name,
                      int (*use)(const struct cli *cli, const struct report *report, void *arg),
                      void *arg)
{
	cleanup(report_done) struct report report = { .now_ns = clock_wall_ns() };
	struct err err = { 0 };
	int status = job_selection_find(recorded, name, &report.job);

	if (status != CLI_OK)
		return status;
	return report_gather(&report, recorded->reader, &err) < 0 ? cli_failed(&err)
	                                                          : use(cli, &report, arg);
}

int verb_report_text(const struct cli *cli, const char *job_id, struct buf *to)
{
	struct job_selection recorded;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = report_job(cli, &recorded, job_id, put_text, to);
	job_selection_close(&recorded);
	return status;
}

void verb_report_totals(const struct job *job, struct buf *to)
{
	const struct report report = { .now_ns = clock_wall_ns(), .job = *job };

	report_text(&report, to);
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	struct job_selection recorded;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only; to compare two: proctor diff JOB JOB");
	status = job_selection_open(cli, &recorded);
	if (status == CLI_OK)
		status = report_job(cli, &recorded, words ? argv[1] : NULL, show, NULL);
	job_selection_close(&recorded);
	return status;
}

const struct verb verb_report = {
	.name = "report",
	.summary = "what a job used, sheet by sheet, and what is worth knowing about it",
	.usage = "[JOB] [--json]",
	.about = CLI_JOB_HELP
	"\nEvery figure says how far to trust it: exact, at least, sampled, missing (docs/numbers.md).",
	.run = run,
};
