/* SPDX-License-Identifier: MIT */
/* verb_ls.c - the jobs that were recorded. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/time_parse.h"
#include "cli/job_filter_options.h"
#include "cli/job_selection.h"
#include "kernel/user_namespace.h"
#include "model/job_search.h"
#include "model/record_fields.h"
#include "view/format.h"
#include "view/jobs_view.h"
#include "view/stats_view.h"

#define SHOWN_DEFAULT 20
#define SHOWN_MAX 100000
#define NO_COUNT UINT64_MAX

struct request {
	struct job_filter_options which;
	const char *parent;
	uint64_t count;
	bool all_users, stats;
};

/* The total usage of one user's jobs. */
struct user_total {
	uint32_t uid;
	uint64_t jobs, cpu_ns, peak_bytes;
};
#define USERS_MAX 10000

struct list {
	const struct cli *cli;
	struct jobs_view view;
	struct cli_page page;
	bool all_users, is_stats;
	VEC(struct user_total) totals;
	struct all_type_stats stats;
};

static int add_job(void *self, const struct job *job)
{
	struct list *list = self;

	if (list->is_stats)
		return type_stats_all_add(&list->stats, job);
	if (list->cli->json)
		jobs_view_add_json(&list->page.json, job);
	else
		jobs_view_add(&list->view, job);
	return 0;
}

static void log_none(const struct job_filter *filter, const char *path)
{
	if (filter->type)
		log_info(
			"no job of the type '%s'%s in '%s'; a type is written in full, as proctor ls --stats lists them",
			filter->type,
			filter->tag_key || filter->outcome ? " and with these options" : "", path);
	else if (filter->tag_key)
		log_info("no job with the tag '%s%s%s' in '%s'; see: proctor ls", filter->tag_key,
		         filter->tag_value ? "=" : "", filter->tag_value ? filter->tag_value : "",
		         path);
	else if (filter->parent)
		log_info("no job was started in job '%s'; see: proctor ls", filter->parent);
	else
		log_info("no matching job in '%s'; try fewer options", path);
}

static int ignore_job(void *self, const struct job *job)
{
	(void)self, (void)job;
	return 0;
}

/* Whether a job of either store names this one as its parent. */
static bool has_inner(struct job_selection *recorded, struct job_key parent)
{
	const struct job_filter filter = { .parent = parent.id, .parent_uid = parent.uid };
	struct err err;

	if (recorded->reader &&
	    history_jobs(recorded->reader, &filter, 1, ignore_job, NULL, &err) > 0)
		return true;
	job_selection_ask(recorded, &filter, 1);
	return recorded->places.len > 0;
}

/* A parent is named as any job is. It may be another user's, and in no store that we can read: then what it
 * started names it. */
static int find_parent(struct job_selection *recorded, struct job_filter *filter,
                       struct job *parent)
{
	struct job_key key;
	bool is_daemons;
	int status;

	if (!filter->parent)
		return CLI_OK;
	if (job_search_parse_key(filter->parent, &key) && has_inner(recorded, key)) {
		filter->parent = key.id;
		filter->parent_uid = key.uid;
		return CLI_OK;
	}
	status = job_selection_find(recorded, filter->parent, parent, &is_daemons);
	filter->parent = parent->id;
	filter->parent_uid = parent->uid;
	return status;
}

static uint64_t peak_of(const struct job *job)
{
	const struct figure *f = &job->figures[JOB_FIGURE_PEAK_USED];

	return f->quality != QUALITY_MISSING ? f->value : job->figures[JOB_FIGURE_PEAK_RSS].value;
}

static int add_total(void *self, const struct job *job)
{
	struct list *list = self;
	struct user_total *of = NULL;

	vec_each(&list->totals, t)
		if (t->uid == job->uid)
			of = t;
	if (!of)
		of = vec_push(&list->totals, USERS_MAX);
	if (!of)
		return 0;
	of->uid = job->uid;
	of->jobs++;
	of->cpu_ns += job->figures[JOB_FIGURE_CPU].value;
	of->peak_bytes = MAX(of->peak_bytes, peak_of(job));
	return 0;
}

static void put_total(struct list *list, const struct user_total *of, struct table *to)
{
	const char *user = user_names_name(list->view.users, of->uid);
	double hours = (double)of->cpu_ns / 3600e9;
	struct json *j = &list->page.json;
	char text[32];

	if (list->cli->json) {
		json_begin_object(j);
		json_put_u64(j, "uid", of->uid);
		json_put_str(j, "user", user);
		json_put_u64(j, "jobs", of->jobs);
		json_put_double(j, "cpu_hours", hours, 6);
		json_put_double(j, "peak_mb", (double)of->peak_bytes / (1 << 20), 3);
		json_end_object(j);
		return;
	}
	snprintf(text, sizeof text, "%u", (unsigned)of->uid);
	table_add(to, user ? user : text, INK_PLAIN);
	table_add(to, format_count(of->jobs).at, INK_PLAIN);
	snprintf(text, sizeof text, "%.2f", hours);
	table_add(to, text, INK_PLAIN);
	table_add_figure(to, of->peak_bytes ? format_bytes(of->peak_bytes).at : NULL, INK_PLAIN);
}

/* Totals cover all jobs of both stores that fit, not only those that are listed. */
static int print_totals(struct list *list, struct job_selection *recorded,
                        const struct job_filter *filter, struct err *err)
{
	static const struct table_column columns[] = { { "USER", TABLE_LEFT },
		                                       { "JOBS", TABLE_RIGHT },
		                                       { "CPU HOURS", TABLE_RIGHT },
		                                       { "LARGEST PEAK", TABLE_RIGHT } };
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns), .indent = 2 };
	int r = recorded->reader
	                ? history_jobs(recorded->reader, filter, INT32_MAX, add_total, list, err)
	                : 0;

	job_selection_ask(recorded, filter, DAEMON_JOBS_MAX);
	vec_each(&recorded->places, place) {
		struct job job = daemon_jobs_at(&recorded->others, *place);

		(void)add_total(list, &job);
	}
	if (list->cli->json)
		json_open_array(&list->page.json, "users");
	vec_each(&list->totals, of)
		put_total(list, of, &t);
	if (list->cli->json)
		json_end_array(&list->page.json);
	table_print_section(&t, "users", list->cli->json ? 0 : list->totals.len, "user",
	                    &list->page.canvas);
	return MIN(r, 0);
}

/* Those that the daemon has and our store has not. */
static void add_daemons(struct list *list, const struct job_selection *recorded)
{
	vec_each(&recorded->places, place) {
		struct job job = daemon_jobs_at(&recorded->others, *place);

		if (list->is_stats)
			type_stats_all_add(&list->stats, &job);
		else if (list->cli->json)
			daemon_jobs_put(&recorded->others, *place, &list->page.json);
		else
			jobs_view_add(&list->view, &job);
	}
}

static void print_daemons(struct list *list, const struct job_selection *recorded)
{
	struct canvas *to = &list->page.canvas;

	if (!recorded->places.len)
		return;
	table_done(&list->view.table);
	list->view.table = (struct table){ 0 };
	add_daemons(list, recorded);
	canvas_printf(to, INK_TITLE, "%sfrom the daemon at %s\n", list->page.out.len ? "\n" : "",
	              recorded->others.ask.path);
	table_print(&list->view.table, to);
}

/* How many of our own there are, or -errno. */
static int read_jobs(struct list *list, struct job_selection *recorded,
                     const struct job_filter *filter, size_t count, struct err *err)
{
	return recorded->reader ? history_jobs(recorded->reader, filter, count, add_job, list, err)
	                        : 0;
}

static int print_jobs(struct list *list, struct job_selection *recorded,
                      const struct job_filter *filter, size_t count, struct err *err)
{
	struct json *j = &list->page.json;
	int found;

	if (list->cli->json)
		json_open_array(j, "jobs");
	found = read_jobs(list, recorded, filter, count, err);
	if (list->cli->json) {
		add_daemons(list, recorded);
		json_end_array(j);
		return found;
	}
	if (found > 0)
		table_print(&list->view.table, &list->page.canvas);
	print_daemons(list, recorded);
	return found;
}

/* Statistics cover the jobs of both stores together. */
static int print_stats(struct list *list, struct job_selection *recorded,
                       const struct job_filter *filter, size_t count, struct err *err)
{
	int found = read_jobs(list, recorded, filter, count, err);

	add_daemons(list, recorded);
	if (list->cli->json)
		stats_view_json(&list->stats, &list->page.json);
	else if (list->stats.types.len)
		stats_view(&list->stats, &list->page.canvas);
	return found;
}

static int print_page(struct list *list, struct job_selection *recorded,
                      const struct job_filter *filter, size_t count)
{
	struct json *j = &list->page.json;
	struct err err = { 0 };
	int found;

	if (list->cli->json) {
		json_begin_object(j);
		json_put_u64(j, "schema", RECORD_SCHEMA);
	}
	found = list->is_stats ? print_stats(list, recorded, filter, count, &err)
	                       : print_jobs(list, recorded, filter, count, &err);
	if (found < 0 || (list->all_users && print_totals(list, recorded, filter, &err) < 0))
		return cli_failed(&err);
	if (list->cli->json)
		json_end_object(j);
	else if (!found && !recorded->places.len)
		log_none(filter, recorded->path);
	return CLI_OK;
}

/* No store of our own is no reason not to show what the daemon has. */
static int open_stores(const struct cli *cli, struct job_filter *filter, size_t count,
                       struct job *parent, struct job_selection *recorded)
{
	int status = job_selection_open(cli, recorded);

	if (status == CLI_OK)
		status = find_parent(recorded, filter, parent);
	if (status != CLI_OK)
		return status;
	job_selection_ask(recorded, filter, count);
	return recorded->reader || recorded->places.len ? CLI_OK
	                                                : job_selection_no_store(recorded->path);
}

static int list_jobs(const struct cli *cli, struct job_filter *filter, const struct request *rq,
                     uint64_t now_ns)
{
	struct user_names users = { 0 };
	struct list list = {
		.cli = cli,
		.all_users = rq->all_users,
		.is_stats = rq->stats,
		.view = { .now_ns = now_ns, .uid = user_namespace_own_uid(), .users = &users }
	};
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	struct job parent = { 0 };
	int status = open_stores(cli, filter, rq->count, &parent, &recorded);

	if (status != CLI_OK)
		return status;
	cli_page_begin(&list.page, cli);
	list.view.unicode = list.page.canvas.unicode;
	status = print_page(&list, &recorded, filter, rq->count);
	if (status == CLI_OK)
		status = cli_page_end(&list.page);
	else
		buf_done(&list.page.out);
	table_done(&list.view.table);
	vec_done(&list.totals);
	type_stats_all_done(&list.stats);
	user_names_done(&users);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .count = NO_COUNT };
	const struct opt opts[] = {
		JOB_FILTER_OPTIONS(&rq.which),
		{ "parent", 0, OPT_TEXT, &rq.parent, "JOB", "started inside this job" },
		{ "count", 'n', OPT_U64, &rq.count, "N", "show the latest N (default: 20)" },
		{ "all-users", 0, OPT_FLAG, &rq.all_users, NULL,
		  "for root: jobs of all users, and totals per user" },
		{ "stats", 0, OPT_FLAG, &rq.stats, NULL,
		  "per job type: median, p95 and maximum of time, CPU and memory" },
		CLI_COMMON_OPTS(cli),
	};
	uint64_t now_ns = clock_wall_ns();
	struct job_filter filter;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli,
		                 "takes options only; one job: proctor report %s; those of a type: "
		                 "proctor ls --type %s",
		                 argv[1], argv[1]);
	if (rq.all_users && geteuid() != 0)
		return cli_usage(cli, "--all-users is for root; each user sees their own jobs");
	if (rq.count == NO_COUNT)
		rq.count = rq.stats ? SHOWN_MAX : SHOWN_DEFAULT;
	if (rq.count == 0 || rq.count > SHOWN_MAX)
		return cli_usage(cli, "--count: write a number from 1 to %d", SHOWN_MAX);
	status = job_filter_options_make(cli, &rq.which, now_ns, &filter);
	filter.parent = rq.parent;
	if (status == CLI_OK)
		status = list_jobs(cli, &filter, &rq, now_ns);
	job_filter_options_done(&rq.which);
	return status;
}

const struct verb verb_ls = {
	.name = "ls",
	.summary = "list recorded jobs",
	.usage =
		"[--type TYPE] [--tag K[=V]] [--outcome WORD] [--since TIME] [--until TIME] [-n N] "
		"[--stats]",
	.about =
		"Latest first. '~' marks a sampled figure, '≥' a lower bound, '≤' an upper bound.\n"
		"TIME is " TIME_GRAMMAR ".\n"
		"--outcome failed includes signal, oom (out of memory) and limit.\n"
		"--stats covers all matching jobs, or the latest N; jobs without an end are counted, but have no\n"
		"figures there. What the columns mean: proctor help fields.",
	.example = "proctor ls --outcome failed --since 7d",
	.run = run,
};
