/* SPDX-License-Identifier: MIT */
/* verb_insights.c - what goes with the failures of recorded jobs. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/time_parse.h"
#include "cli/job_selection.h"
#include "history/pattern_query.h"
#include "report/pattern_review.h"
#include "store/store.h"
#include "view/insights_view.h"

/* As root, only into root's own stores: a file of another user stays theirs. */
static bool is_ours(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && st.st_uid == geteuid() && access(path, W_OK) == 0;
}

/* Patterns that cannot be stored are found again the next time. */
static void keep(const struct store_place *place, const struct patterns *found)
{
	const struct store_options options = { .path = place->path,
		                               .kind = "insights",
		                               .is_brief = true,
		                               .has_rollback_journal = place->is_per_host };
	cleanup(store_closep) struct store *store = NULL;
	const char *notice;
	struct err err;

	if (store_open(&options, &store, &notice, &err) < 0 ||
	    (!store_is_side(store) &&
	     store_update_patterns(store, found->list.at, found->list.len, &err) < 0))
		log_warn("patterns are not stored: %s", err.msg);
}

/* Stores what was found, and retires what it contradicts. */
static int review(const struct cli *cli, const struct config *config, struct history *reader,
                  struct insights *in, uint64_t now_ns)
{
	cleanup(store_place_done) struct store_place place = { 0 };
	struct patterns stored = { 0 }, found = { 0 };
	char state_dir[CONFIG_PATH_MAX];
	struct err err;
	int status = cli_state_dir(cli, state_dir);

	if (status != CLI_OK)
		return status;
	cli_store_place(config, state_dir, &place);
	vec_each(&in->list, i)
		insight_describe(i, i->pattern.description, sizeof i->pattern.description);
	if (is_ours(place.path) && history_patterns(reader, &stored, &err) == 0) {
		pattern_review(in, &stored, now_ns, &found);
		if (found.list.len)
			keep(&place, &found);
	}
	vec_done(&stored.list);
	vec_done(&found.list);
	return CLI_OK;
}

/* Only what the usual time shows is stored. */
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
	if (since_ns == now_ns - INSIGHTS_LOOKBACK_NS)
		status = review(cli, &config, recorded.reader, &found, now_ns);
	if (status != CLI_OK)
		return status;
	cli_page_begin(&page, cli);
	if (cli->json)
		insights_view_json(&found, &page.json);
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
	.summary = "what goes with failure: memory, time, tags, anomalies of jobs",
	.usage = "[--since TIME] [--json]",
	.about =
		"Compares the jobs of each type that failed with those that did not. All properties of all types\n"
		"are judged together: where failures are independent of them, at most 5 % of histories yield a\n"
		"finding. q is the probability of a finding this strong by chance. docs/learning.md has the method.\n"
		"Without --since, patterns are stored, if the store is the user's own (proctor sql: patterns).",
	.example = "proctor insights --since 30d",
	.run = run,
};
