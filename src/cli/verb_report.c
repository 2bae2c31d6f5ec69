/* SPDX-License-Identifier: MIT */
/* verb_report.c - all there is to tell of one job. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "cli/job_selection.h"
#include "cli/verb_report.h"
#include "cli/user_names.h"

#define TEXT_COLUMNS 100

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
	const struct style plain = { .width = TEXT_COLUMNS, .unicode = true };

	(void)cli;
	report_view(report, CANVAS(&plain, arg));
	return CLI_OK;
}

/* The machine it ran on; how many CPUs that has is known only of this one. */
static void find_machine(struct job_selection *recorded, struct report *report,
                         char host[static HISTORY_HOST_MAX])
{
	char here[HISTORY_HOST_MAX] = "";
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	struct err err;

	if (history_job_host(recorded->reader, job_key_of(&report->job), host, &err) < 0 || !*host)
		return;
	report->host = host;
	if (gethostname(here, sizeof here - 1) == 0 && strcmp(here, host) == 0 && cpus > 0)
		report->cpus = (unsigned)cpus;
}

static int report_job(const struct cli *cli, struct job_selection *recorded, const char *name,
                      int (*use)(const struct cli *cli, const struct report *report, void *arg),
                      void *arg)
{
	struct report report = { .now_ns = clock_wall_ns() };
	struct user_names users = { 0 };
	char host[HISTORY_HOST_MAX] = "";
	struct err err = { 0 };
	int status = job_selection_find(recorded, name, &report.job);

	if (status != CLI_OK)
		return status;
	report.user = user_names_name(&users, report.job.uid);
	find_machine(recorded, &report, host);
	status = job_selection_report(recorded, &report, &err) < 0 ? cli_failed(&err)
	                                                           : use(cli, &report, arg);
	report_done(&report);
	user_names_done(&users);
	return status;
}

int report_text(const struct cli *cli, const char *job_id, struct buf *to)
{
	struct job_selection recorded;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = report_job(cli, &recorded, job_id, put_text, to);
	job_selection_close(&recorded);
	return status;
}

void report_totals_text(const struct job *job, struct buf *to)
{
	struct report report = { .now_ns = clock_wall_ns(), .job = *job };

	(void)put_text(NULL, &report, to);
	report_done(&report);
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
	.summary = "what a job took, sheet by sheet, and what is worth knowing of it",
	.usage = "[JOB] [--json]",
	.about = CLI_JOB_HELP
	"\nEvery figure says how far to trust it: exact, at least, sampled, missing (docs/numbers.md).",
	.run = run,
};
