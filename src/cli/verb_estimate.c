/* SPDX-License-Identifier: MIT */
/* verb_estimate.c - what the next run of a job type will need. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/suggestion.h"
#include "cli/cli.h"
#include "cli/job_selection.h"
#include "kernel/user_namespace.h"
#include "model/verdict.h"
#include "view/estimate_view.h"

#define ATTEMPT_NOT_GIVEN UINT64_MAX

struct request {
	struct estimate_query query;
	const char *policy;
	uint64_t sheet, attempt, input_bytes;
	bool all_users;
	bool is_in[ESTIMATE_SYNTAXES]; /* as which scheduler wants it */
};

static int check_cause(const struct cli *cli, const char *cause)
{
	struct suggestion s = { .word = cause, .len = strlen(cause) };

	if (verdict_code_find(cause) < VERDICT_CODE_COUNT || strcmp(cause, "failed") == 0)
		return CLI_OK;
	for (enum verdict_code i = 0; i < VERDICT_CODE_COUNT; i++)
		suggestion_offer(&s, verdict_code_name(i));
	if (s.best)
		return cli_usage(cli, "--last-exit '%s': no cause; did you mean %s?", cause,
		                 s.best);
	return cli_usage(cli, "--last-exit '%s': write a cause as `proctor why --json` names it",
	                 cause);
}

/* --last-exit without --attempt means attempt 2. */
static int check(const struct cli *cli, struct request *rq)
{
	size_t syntaxes = 0;

	for (size_t i = 0; i < ESTIMATE_SYNTAXES; i++)
		syntaxes += rq->is_in[i];
	if (syntaxes + cli->json > 1)
		return cli_usage(
			cli,
			"write only one of --json, --slurm, --systemd, --snakemake and --nextflow");
	if (strcmp(rq->policy, "low-failure") != 0 && strcmp(rq->policy, "low-waste") != 0)
		return cli_usage(cli, "--policy '%s': write low-waste or low-failure", rq->policy);
	if (rq->sheet > UINT32_MAX)
		return cli_usage(cli, "--sheet: write the number of a sheet");
	if (rq->attempt == ATTEMPT_NOT_GIVEN)
		rq->attempt = rq->query.last_exit ? 2 : 1;
	if (rq->attempt < 1 || rq->attempt > 100)
		return cli_usage(cli, "--attempt: write a number from 1 to 100");
	if (rq->attempt > 1 && !rq->query.last_exit)
		return cli_usage(
			cli,
			"--attempt %llu also needs --last-exit CAUSE, as `proctor why` names it",
			(unsigned long long)rq->attempt);
	if (rq->query.last_exit && check_cause(cli, rq->query.last_exit) != CLI_OK)
		return CLI_USAGE;
	rq->query.policy = strcmp(rq->policy, "low-waste") == 0 ? PEAK_LOW_WASTE : PEAK_LOW_FAILURE;
	rq->query.sheet = (uint32_t)rq->sheet;
	rq->query.attempt = (unsigned)rq->attempt;
	rq->query.input_bytes = (double)rq->input_bytes;
	rq->query.uid = user_namespace_own_uid();
	rq->query.of_all_users = rq->all_users;
	return CLI_OK;
}

static int print(const struct cli *cli, const struct request *rq, const struct type_estimate *e)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	for (size_t i = 0; i < ESTIMATE_SYNTAXES; i++)
		if (rq->is_in[i]) {
			estimate_put_request(e, (enum estimate_syntax)i, &page.out);
			return cli_page_end(&page);
		}
	if (cli->json)
		estimate_view_json(&rq->query, e, &page.json);
	else
		estimate_view(&rq->query, e, &page.canvas);
	return cli_page_end(&page);
}

static int no_history(const struct request *rq, const struct type_estimate *e)
{
	if (e->failed)
		log_error("no history of '%s' to learn from: all its runs failed", rq->query.type);
	else if (rq->sheet)
		log_error("no history of sheet %llu of '%s'", (unsigned long long)rq->sheet,
		          rq->query.type);
	else
		log_error("no history of '%s'; see: proctor ls --stats, proctor import --help",
		          rq->query.type);
	return CLI_NOT_FOUND;
}

static int estimate(const struct cli *cli, const struct request *rq)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	struct type_estimate e = { 0 };
	struct err err;
	int status = job_selection_open(cli, &recorded);

	if (status != CLI_OK)
		return status;
	if (recorded.reader && type_estimate_gather(recorded.reader, &rq->query, &e, &err) < 0)
		return cli_failed(&err);
	if (e.runs)
		return print(cli, rq, &e);
	if (cli->json)
		(void)print(cli, rq, &e);
	return no_history(rq, &e);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .policy = "low-failure", .attempt = ATTEMPT_NOT_GIVEN };
	const struct opt opts[] = {
		{ "sheet", 0, OPT_U64, &rq.sheet, "N", "of this sheet only" },
		{ "input-bytes", 0, OPT_U64, &rq.input_bytes, "BYTES", "the size of its input" },
		{ "attempt", 0, OPT_U64, &rq.attempt, "K",
		  "the attempt to come; 1 is the first, 2 with --last-exit" },
		{ "last-exit", 0, OPT_TEXT, &rq.query.last_exit, "CAUSE",
		  "why the one before failed: oom_own_limit, time_limit, …" },
		{ "policy", 0, OPT_TEXT, &rq.policy, "POLICY",
		  "low-failure (default) or low-waste", "low-failure low-waste" },
		{ "all-users", 0, OPT_FLAG, &rq.all_users, NULL, "learn from jobs of all users" },
		{ "slurm", 0, OPT_FLAG, &rq.is_in[ESTIMATE_SLURM], NULL,
		  "print options of sbatch" },
		{ "systemd", 0, OPT_FLAG, &rq.is_in[ESTIMATE_SYSTEMD], NULL,
		  "print options of systemd-run" },
		{ "snakemake", 0, OPT_FLAG, &rq.is_in[ESTIMATE_SNAKEMAKE], NULL,
		  "print Snakemake resources" },
		{ "nextflow", 0, OPT_FLAG, &rq.is_in[ESTIMATE_NEXTFLOW], NULL,
		  "print Nextflow directives" },
		CLI_COMMON_OPTS(cli),
	};
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 1)
		return cli_usage(cli, words ? "one job type only" : "no job type given");
	rq.query.type = argv[1];
	status = check(cli, &rq);
	return status == CLI_OK ? estimate(cli, &rq) : status;
}

const struct verb verb_estimate = {
	.name = "estimate",
	.summary = "what the next run of a job type will need, from its past runs",
	.usage = "[--sheet N] [--input-bytes BYTES] [--json | --slurm | --systemd | …] TYPE",
	.about =
		"Learns from recorded jobs that succeeded, or ran out of memory, and from imported runs. Memory is\n"
		"what the whole job used. After a failure only what ran out is raised: memory after oom_…, time\n"
		"after time_limit. Without history the exit status is 3. docs/learning.md has the rules.",
	.example = "proctor estimate train.py --slurm",
	.run = run,
};
