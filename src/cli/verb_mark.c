/* SPDX-License-Identifier: MIT */
/* verb_mark.c - `proctor mark`: adds an event to the surrounding job. */
#include <errno.h>

#include "base/log.h"
#include "cli/cli.h"
#include "cli/job_door.h"

static int mark(const struct cli *cli, const char *name, char *const *pairs, size_t n)
{
	struct buf params = { 0 };
	struct err err;
	int status = job_door_note(cli, name, pairs, n, &params);

	if (status == CLI_OK) {
		buf_putc(&params, '}');
		if (job_door_call(cli, "job.mark", params.at, NULL, &err) < 0) {
			log_error("%s", err.msg);
			status = err.code == ENOENT ? CLI_NOT_FOUND : CLI_DAEMON;
		}
	}
	buf_done(&params);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words == 0)
		return cli_usage(cli, "no name given");
	return mark(cli, argv[1], argv + 2, (size_t)words - 1);
}

const struct verb verb_mark = {
	.name = "mark",
	.summary = "add an event to the surrounding job",
	.usage = "NAME [KEY=VALUE…]",
	.about =
		"For programs and scripts that run under `proctor run`. Values that are numbers, true or false\n"
		"keep their type, all others are strings. Outside of a job: exit status 3.",
	.instead_of_json = "use `proctor report --json`",
	.example = "proctor mark epoch number=3 loss=0.25",
	.run = run,
};
