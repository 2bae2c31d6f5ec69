/* SPDX-License-Identifier: MIT */
/* verb_diff.c - two jobs side by side. */
#include "view/diff_view.h"

#include "base/clock.h"
#include "cli/job_selection.h"

static int load(struct job_selection *recorded, const char *name, struct report *ret)
{
	struct err err = { 0 };
	int status = job_selection_find(recorded, name, &ret->job);

	if (status == CLI_OK && report_gather(ret, recorded->reader, &err) < 0)
		status = cli_failed(&err);
	return status;
}

static int show(const struct cli *cli, const struct report *a, const struct report *b)
{
	struct style style = cli_style(cli);
	struct buf out = { 0 };
	struct json json = { .out = &out };
	int status;

	if (cli->json) {
		diff_json(a, b, &json);
		buf_putc(&out, '\n');
	} else {
		diff_view(a, b, CANVAS(&style, &out));
	}
	status = cli_print(&out);
	buf_done(&out);
	return status;
}

static int compare(const struct cli *cli, const char *first, const char *second)
{
	struct report a = { .now_ns = clock_wall_ns() }, b = { .now_ns = clock_wall_ns() };
	struct job_selection recorded;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = load(&recorded, first, &a);
	if (status == CLI_OK)
		status = load(&recorded, second, &b);
	if (status == CLI_OK)
		status = show(cli, &a, &b);
	job_selection_close(&recorded);
	report_done(&a);
	report_done(&b);
	return status;
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
