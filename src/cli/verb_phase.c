/* SPDX-License-Identifier: MIT */
/* verb_phase.c - `proctor phase`: a command, and how long it took, in the run log of the surrounding
 * job. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/job_door.h"
#include "cli/spawn_unwatched.h"
#include "rpc/key_values.h"

struct phase {
	struct cli *cli;
	const char *name;
	char **pairs, **command;
	size_t n_pairs;
};

/* How it ended is recorded only when it failed, and never over a key of the user's. */
static char *end_pair(const struct phase *p, const struct launch_end *end)
{
	const char *key = end->has_exit_code ? "exit_code" : "signal";

	for (size_t i = 0; i < p->n_pairs; i++)
		if (strncmp(p->pairs[i], key, strlen(key)) == 0 && p->pairs[i][strlen(key)] == '=')
			return NULL;
	if (end->has_exit_code && end->exit_code == 0)
		return NULL;
	return xasprintf("%s=%d", key, end->has_exit_code ? end->exit_code : end->signal);
}

static void report(const struct phase *p, uint64_t took_ns, const struct launch_end *end)
{
	char **pairs = xcalloc(p->n_pairs + 1, sizeof *pairs);
	char *last = end_pair(p, end);
	struct buf params = { 0 };
	struct err err;

	for (size_t i = 0; i < p->n_pairs; i++)
		pairs[i] = p->pairs[i];
	pairs[p->n_pairs] = last;
	if (job_door_note(p->cli, p->name, pairs, p->n_pairs + (last != NULL), &params) == CLI_OK) {
		buf_printf(&params, ",\"seconds\":%.6f}", (double)took_ns / (double)NS_PER_S);
		if (job_door_call(p->cli, "job.phase", params.at, NULL, &err) < 0)
			log_warn("%s; the phase is not recorded", err.msg);
	}
	buf_done(&params);
	free(last);
	free(pairs);
}

/* Returns only when the command did not start. */
static int run_phase(const struct phase *p)
{
	uint64_t began_ns = clock_mono_ns();
	struct spawn_end end;
	int status = spawn_unwatched(p->cli, p->command, &end);

	if (status)
		end.command = (struct launch_end){ .has_exit_code = true, .exit_code = status };
	report(p, clock_mono_ns() - began_ns, &end.command);
	if (status)
		return status;
	launch_end_alike(&end.command);
}

/* Wrong arguments are reported before the command runs, not after. */
static int check(const struct phase *p)
{
	struct buf unused = { 0 };
	int status = job_door_note(p->cli, p->name, p->pairs, p->n_pairs, &unused);

	buf_done(&unused);
	if (status == CLI_OK && !p->command[0])
		return cli_usage(p->cli, "no command given");
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	struct phase p = { .cli = cli };
	int at, status;

	if (!cli_parse_command(cli, opts, argc, argv, &at))
		return cli->status;
	if (at == argc)
		return cli_usage(cli, "no name given");
	p.name = argv[at++];
	p.pairs = argv + at;
	while (at < argc && key_values_is_one(argv[at])) {
		p.n_pairs++;
		at++;
	}
	if (at < argc && strcmp(argv[at], "--") == 0)
		at++;
	p.command = argv + at;
	status = check(&p);
	return status == CLI_OK ? run_phase(&p) : status;
}

const struct verb verb_phase = {
	.name = "phase",
	.summary = "run a command as a timed phase of the surrounding job",
	.usage = "NAME [KEY=VALUE…] -- COMMAND [ARG…]",
	.about =
		"Records how long the command took, with the given values, as an event of the job and in its run log.\n"
		"The exit status is that of the command. Outside of a job the command just runs.",
	.instead_of_json = "ask `proctor report --json`",
	.example = "proctor phase load -- python3 load.py",
	.run = run,
};
