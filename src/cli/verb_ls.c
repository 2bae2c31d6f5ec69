/* SPDX-License-Identifier: MIT */
/* verb_ls.c - the jobs that were recorded. */
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/time_parse.h"
#include "cli/job_selection.h"
#include "model/record_fields.h"
#include "view/jobs_view.h"

#define SHOWN_DEFAULT 20
#define SHOWN_MAX 100000

struct request {
	const char *type, *tag, *outcome, *parent, *since, *until;
	uint64_t count;
};

struct list {
	const struct cli *cli;
	struct jobs_view view;
	struct cli_page page;
};

static int add_job(void *self, const struct job *job)
{
	struct list *list = self;

	if (list->cli->json)
		jobs_json_add(&list->page.json, job);
	else
		jobs_view_add(&list->view, job);
	return 0;
}

static int parse_time(const struct cli *cli, const char *option, const char *text, uint64_t now_ns,
                      uint64_t *ret)
{
	if (text && !time_parse(scan_str(text), now_ns, ret))
		return cli_usage(cli, "--%s '%s': not a time; write " TIME_GRAMMAR, option, text);
	return CLI_OK;
}

static bool is_outcome(const char *word)
{
	static const char *const words[] = { "ok",  "failed", "running", "lost",
		                             "oom", "signal", "limit" };

	for (size_t i = 0; i < ARRAY_LEN(words); i++)
		if (strcmp(word, words[i]) == 0)
			return true;
	return false;
}

/* What was asked for as a filter; `key` is the text the tag's key is kept in. */
static int make_filter(const struct cli *cli, const struct request *rq, uint64_t now_ns, char **key,
                       struct job_filter *ret)
{
	const char *equals = rq->tag ? strchr(rq->tag, '=') : NULL;
	int status;

	*ret = (struct job_filter){ .type = rq->type,
		                    .outcome = rq->outcome,
		                    .parent = rq->parent };
	if (rq->outcome && !is_outcome(rq->outcome))
		return cli_usage(
			cli,
			"--outcome '%s': write ok, failed, running, lost, signal, oom or limit",
			rq->outcome);
	if (rq->tag && (!*rq->tag || equals == rq->tag))
		return cli_usage(cli, "--tag '%s': write a key, or KEY=VALUE", rq->tag);
	if (rq->type && !*rq->type)
		return cli_usage(cli, "--type: write a job type, as the column TYPE shows it");
	if (rq->tag) {
		*key = xstrndup(rq->tag, equals ? (size_t)(equals - rq->tag) : strlen(rq->tag));
		ret->tag_key = *key;
		ret->tag_value = equals ? equals + 1 : NULL;
	}
	status = parse_time(cli, "since", rq->since, now_ns, &ret->since_ns);
	return status ? status : parse_time(cli, "until", rq->until, now_ns, &ret->until_ns);
}

static void log_none(const struct job_filter *filter, const char *path)
{
	if (filter->type)
		log_info("no job of the type '%s'%s in '%s'; a type is written in full",
		         filter->type, filter->tag_key || filter->outcome ? " that fits" : "",
		         path);
	else if (filter->tag_key)
		log_info("no job with the tag '%s%s%s' in '%s'", filter->tag_key,
		         filter->tag_value ? "=" : "", filter->tag_value ? filter->tag_value : "",
		         path);
	else if (filter->parent)
		log_info("no job was started in job '%s'", filter->parent);
	else
		log_info("no job that fits in '%s'", path);
}

/* A parent is named as any job is. */
static int find_parent(struct job_selection *recorded, struct job_filter *filter,
                       struct job *parent)
{
	int status = filter->parent ? job_selection_find(recorded, filter->parent, parent) : CLI_OK;

	if (filter->parent)
		filter->parent = parent->id;
	return status;
}

static int print_jobs(struct list *list, struct job_selection *recorded,
                      const struct job_filter *filter, size_t count)
{
	struct json *j = &list->page.json;
	struct err err = { 0 };
	int found;

	if (list->cli->json) {
		json_begin_object(j);
		json_put_u64(j, "schema", RECORD_SCHEMA);
		json_open_array(j, "jobs");
	}
	found = history_jobs(recorded->reader, filter, count, add_job, list, &err);
	if (found < 0)
		return cli_failed(&err);
	if (list->cli->json) {
		json_end_array(j);
		json_end_object(j);
	} else if (found == 0) {
		log_none(filter, recorded->path);
	} else {
		table_print(&list->view.table, &list->page.canvas);
	}
	return CLI_OK;
}

static int list_jobs(const struct cli *cli, struct job_filter *filter, size_t count,
                     uint64_t now_ns)
{
	struct user_names users = { 0 };
	struct list list = { .cli = cli,
		             .view = { .now_ns = now_ns, .uid = geteuid(), .users = &users } };
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	struct job parent = { 0 };
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = find_parent(&recorded, filter, &parent);
	if (status != CLI_OK)
		return status;
	cli_page_begin(&list.page, cli);
	list.view.unicode = list.page.canvas.unicode;
	status = print_jobs(&list, &recorded, filter, count);
	if (status == CLI_OK)
		status = cli_page_end(&list.page);
	else
		buf_done(&list.page.out);
	table_done(&list.view.table);
	user_names_done(&users);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .count = SHOWN_DEFAULT };
	const struct opt opts[] = {
		{ "type", 't', OPT_TEXT, &rq.type, "TYPE", "of this job type" },
		{ "tag", 0, OPT_TEXT, &rq.tag, "K[=V]", "with this tag" },
		{ "outcome", 'o', OPT_TEXT, &rq.outcome, "WORD",
		  "ok, failed, running, lost, signal, oom or limit" },
		{ "parent", 0, OPT_TEXT, &rq.parent, "JOB", "started in this job" },
		{ "since", 0, OPT_TEXT, &rq.since, "TIME", "started at this time or later" },
		{ "until", 0, OPT_TEXT, &rq.until, "TIME", "started before this time" },
		{ "count", 'n', OPT_U64, &rq.count, "N", "at most so many, the latest first (20)" },
		CLI_COMMON_OPTS(cli),
	};
	uint64_t now_ns = clock_wall_ns();
	cleanup(freep) char *key = NULL;
	struct job_filter filter;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli,
		                 "takes options only; one job: proctor report %s; those of a type: "
		                 "proctor ls --type %s",
		                 argv[1], argv[1]);
	if (rq.count == 0 || rq.count > SHOWN_MAX)
		return cli_usage(cli, "--count: write a number from 1 to %d", SHOWN_MAX);
	status = make_filter(cli, &rq, now_ns, &key, &filter);
	return status ? status : list_jobs(cli, &filter, rq.count, now_ns);
}

const struct verb verb_ls = {
	.name = "ls",
	.summary = "the jobs that were recorded",
	.usage =
		"[--type TYPE] [--tag K[=V]] [--outcome WORD] [--since TIME] [--until TIME] [-n N]",
	.about =
		"The latest first. A figure with '~' before it was sampled, one with '≥' is a lower bound. TIME is\n" TIME_GRAMMAR
		".\n--outcome failed holds all that failed; signal, oom and limit those of them that did so that way.",
	.run = run,
};
