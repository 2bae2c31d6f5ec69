/* SPDX-License-Identifier: MIT */
/* verb_snapshot.c - one snapshot of the machine: two samples a short while apart, so that rates are
 * known. */
#include <math.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/cli.h"
#include "base/user_names.h"
#include "engine/sampler.h"
#include "model/snapshot_json.h"
#include "view/snapshot_view.h"

#define INTERVAL_MIN_NS (NS_PER_S / 20)
#define INTERVAL_MAX_NS (3600 * NS_PER_S)
#define PATIENCE_NS (3 * NS_PER_S) /* with a GPU's driver */

struct request {
	uint64_t interval_ns, top;
	const char *sort_name;
	bool all, no_bpf;

	enum snapshot_sort sort;
};

static void sleep_until(uint64_t mono_ns)
{
	const struct timespec at = { .tv_sec = (time_t)(mono_ns / NS_PER_S),
		                     .tv_nsec = (long)(mono_ns % NS_PER_S) };

	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) != 0)
		;
}

static void on_notice(void *self, const char *text)
{
	(void)self;
	log_warn("%s", text);
}

static int take(const struct request *rq, const struct config *config, struct snapshot *ret,
                struct err *err)
{
	struct sampler_options options = { .no_bpf = rq->no_bpf };
	const struct job_roster no_jobs = { 0 };
	cleanup(sampler_closep) struct sampler *sampler = NULL;
	uint64_t second_ns;

	cli_sampler_options(config, &options);
	if (sampler_open(&options, &sampler, err) < 0)
		return -err->code;
	sampler_on_notice(sampler, on_notice, NULL);
	second_ns = clock_mono_ns() + rq->interval_ns;
	sampler_tick(sampler, &no_jobs, ret);
	sampler_await(sampler, second_ns + PATIENCE_NS);
	sleep_until(second_ns);
	sampler_tick(sampler, &no_jobs, ret);
	return 0;
}

static void put_text(const struct request *rq, const struct snapshot *snap, struct canvas *to)
{
	struct user_names users = { 0 };
	struct utsname uts = { 0 };
	struct snapshot_view view = { .top = rq->all ? SIZE_MAX : rq->top,
		                      .sort = rq->sort,
		                      .user_name = user_names_name };
	long cores = sysconf(_SC_NPROCESSORS_ONLN);

	view.self = &users;
	view.cores = cores > 0 ? (unsigned)cores : 0;
	if (uname(&uts) == 0) {
		view.host = uts.nodename;
		view.kernel = uts.release;
	}
	snapshot_view_put(snap, &view, to);
	user_names_done(&users);
}

static int show(const struct cli *cli, const struct request *rq, const struct snapshot *snap)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json)
		snapshot_json(&page.json, snap, NULL);
	else
		put_text(rq, snap, &page.canvas);
	return cli_page_end(&page);
}

static int check(struct cli *cli, struct request *rq, int words)
{
	if (words)
		return cli_usage(cli, "takes options only");
	if (rq->interval_ns < INTERVAL_MIN_NS || rq->interval_ns > INTERVAL_MAX_NS)
		return cli_usage(cli, "--interval: write a time from 0.05s to 1h");
	if (!snapshot_view_parse_sort(rq->sort_name, &rq->sort))
		return cli_usage(cli, "--sort '%s': write share, cpu, rss or pid", rq->sort_name);
	return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .interval_ns = NS_PER_S / 2, .top = 20, .sort_name = "share" };
	const struct opt opts[] = {
		{ "interval", 'i', OPT_DURATION, &rq.interval_ns, "S",
		  "time between the two samples (0.5)" },
		{ "sort", 's', OPT_TEXT, &rq.sort_name, "BY",
		  "share, cpu, rss or pid (share: of CPU or memory)", "share cpu rss pid" },
		{ "top", 'n', OPT_U64, &rq.top, "N", "processes to show (default: 20)" },
		{ "all", 'a', OPT_FLAG, &rq.all, NULL, "show all processes" },
		{ "no-bpf", 0, OPT_FLAG, &rq.no_bpf, NULL, "do not use BPF" },
		CLI_COMMON_OPTS(cli),
	};
	struct snapshot snap = { 0 };
	struct config config;
	struct err err;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	status = check(cli, &rq, words);
	if (status == CLI_OK)
		status = cli_config_to_read(cli, &config);
	if (status != CLI_OK)
		return status;
	status = take(&rq, &config, &snap, &err) < 0 ? cli_failed(&err) : show(cli, &rq, &snap);
	snapshot_done(&snap);
	return status;
}

const struct verb verb_snapshot = {
	.name = "snapshot",
	.summary = "the machine and its processes, now",
	.usage = "[--interval S] [--sort BY] [--top N | --all] [--json]",
	.about =
		"Takes two samples and shows what happened between them. '-' means not known.\n"
		"CPU% is of one core; sizes are in powers of 1024. --json always holds every process.\n"
		"What the columns mean: proctor help fields.",
	.example = "proctor snapshot --sort rss --top 10",
	.run = run,
};
