/* SPDX-License-Identifier: MIT */
/* verb_rm.c - deletes recorded jobs. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/job_filter_options.h"
#include "cli/job_selection.h"
#include "cli/progress.h"
#include "kernel/user_namespace.h"
#include "model/record_fields.h"
#include "store/store.h"

#define JOBS_AT_ONCE 100000
#define NOT_GIVEN UINT64_MAX

struct request {
	struct job_filter_options which;
	uint64_t older_ns;
	bool is_dry;
};

struct doomed {
	char id[JOB_ID_MAX], type[JOB_ID_MAX], recording[JOB_ID_MAX];
	uint32_t uid;
};

struct removal {
	const struct cli *cli;
	struct request *rq;
	struct job_selection recorded;
	struct store *store;
	struct cli_page page;
	VEC(struct doomed) jobs;
};

/* ---- which ----------------------------------------------------------------------------------- */

static int add_job(void *self, const struct job *job)
{
	struct removal *rm = self;
	struct doomed *slot;

	vec_each(&rm->jobs, other)
		if (other->uid == job->uid && strcmp(other->id, job->id) == 0)
			return 0;
	slot = vec_push(&rm->jobs, JOBS_AT_ONCE);
	if (!slot)
		return 0;
	slot->uid = job->uid;
	memcpy(slot->id, job->id, sizeof slot->id);
	memcpy(slot->type, job->type, sizeof slot->type);
	memcpy(slot->recording, job->recording, sizeof slot->recording);
	return 0;
}

/* A filter does not select running jobs. */
static int add_fitting(void *self, const struct job *job)
{
	return job->status == JOB_RUNNING ? 0 : add_job(self, job);
}

static int select_fitting(struct removal *rm)
{
	uint64_t now_ns = clock_wall_ns(), until_ns;
	struct job_filter filter;
	struct err err;
	int status = job_filter_options_make(rm->cli, &rm->rq->which, now_ns, &filter);

	if (status != CLI_OK)
		return status;
	until_ns = rm->rq->older_ns < now_ns ? now_ns - rm->rq->older_ns : 1;
	if (rm->rq->older_ns != NOT_GIVEN && (!filter.until_ns || until_ns < filter.until_ns))
		filter.until_ns = until_ns;
	filter.of_one_user = true;
	filter.uid = user_namespace_own_uid();
	if (history_jobs(rm->recorded.reader, &filter, JOBS_AT_ONCE, add_fitting, rm, &err) < 0)
		return cli_failed(&err);
	if (!rm->jobs.len)
		log_info("no matching job in '%s'; see: proctor ls", rm->recorded.path);
	return CLI_OK;
}

static int select_named(struct removal *rm, const char *name)
{
	bool is_daemons = false;
	struct job job = { 0 };
	int status = job_selection_find(&rm->recorded, name, &job, &is_daemons);

	if (status != CLI_OK)
		return status;
	if (is_daemons) {
		log_error("job '%s' is only in the daemon's store%s", job.id,
		          geteuid() == 0 ? ": name its directory with --state-dir"
		                         : ", where only root can delete it");
		return CLI_FAILED;
	}
	if (job.uid != user_namespace_own_uid() && geteuid() != 0) {
		log_error("job '%s' is another user's", job.id);
		return CLI_FAILED;
	}
	if (rm->rq->is_dry && job.status == JOB_RUNNING) { /* as the store would */
		log_error("job '%s' is running: not deleted", job.id);
		return CLI_FAILED;
	}
	return add_job(rm, &job);
}

/* ---- deleting them --------------------------------------------------------------------------- */

static void put_removed(struct removal *rm, const struct doomed *job,
                        const struct store_removed *removed)
{
	struct json *j = &rm->page.json;

	if (rm->cli->json) {
		json_begin_object(j);
		json_put_str(j, "job_id", job->id);
		json_put_u64(j, "uid", job->uid);
		json_put_str(j, "job_type", job->type);
		json_end_object(j);
		return;
	}
	canvas_printf(&rm->page.canvas, INK_PLAIN, "%s %s", removed ? "deleted" : "would delete",
	              job->id);
	if (removed)
		canvas_printf(&rm->page.canvas, INK_PLAIN, " with %llu process%s",
		              (unsigned long long)removed->processes,
		              removed->processes == 1 ? "" : "es");
	buf_putc(&rm->page.out, '\n');
}

static int open_to_write(struct removal *rm)
{
	char state_dir[CONFIG_PATH_MAX];
	cleanup(store_place_done) struct store_place place = { 0 };
	struct store_options options = { .kind = "rm", .is_brief = true };
	struct progress updating;
	const char *notice;
	struct config config;
	struct err err;
	int r, status = cli_config_to_read(rm->cli, &config);

	if (status == CLI_OK)
		status = cli_state_dir(rm->cli, state_dir);
	if (status != CLI_OK)
		return status;
	cli_store_place(&config, state_dir, &place);
	options.path = place.path;
	options.has_rollback_journal = place.is_per_host;
	progress_of_store(&updating, &options);
	r = store_open(&options, &rm->store, &notice, &err);
	progress_end(&updating);
	if (r < 0)
		return cli_failed(&err);
	if (!store_is_side(rm->store))
		return CLI_OK;
	log_error(
		"'%s' was written by another version of proctor, or is in use by one: delete with that version",
		place.path);
	return CLI_FAILED;
}

static int remove_one(struct removal *rm, const struct doomed *job)
{
	struct store_removed removed;
	struct err err;
	int r;

	if (rm->rq->is_dry) {
		put_removed(rm, job, NULL);
		return CLI_OK;
	}
	r = store_remove_job(rm->store, (struct job_key){ job->uid, job->id }, &removed, &err);
	if (r < 0) {
		log_error("%s: not deleted", err.msg);
		return CLI_FAILED;
	}
	put_removed(rm, job, &removed);
	return CLI_OK;
}

/* As rm(1) does, it goes on with the others. */
static int remove_all(struct removal *rm)
{
	int status = rm->rq->is_dry || !rm->jobs.len ? CLI_OK : open_to_write(rm);
	struct json *j = &rm->page.json;

	if (status != CLI_OK)
		return status;
	cli_page_begin(&rm->page, rm->cli);
	if (rm->cli->json) {
		json_begin_object(j);
		json_put_u64(j, "schema", RECORD_SCHEMA);
		json_put_bool(j, "dry_run", rm->rq->is_dry);
		json_open_array(j, "deleted");
	}
	vec_each(&rm->jobs, job)
		if (remove_one(rm, job) != CLI_OK)
			status = CLI_FAILED;
	if (rm->cli->json) {
		json_end_array(j);
		json_end_object(j);
	}
	return cli_page_end(&rm->page) == CLI_OK ? status : CLI_FAILED;
}

/* ---- what the daemon keeps ------------------------------------------------------------------- */

static const struct doomed *find_original(const struct removal *rm, const struct job *copy)
{
	vec_each(&rm->jobs, job)
		if (job_is_copy(copy, (struct job_key){ job->uid, job->id }, job->recording))
			return job;
	return NULL;
}

static void mention(const char *store, const struct job *copy, size_t n)
{
	const char *slash = strrchr(store, '/');
	int dir = slash ? (int)(slash - store) : 0;

	if (n == 1)
		log_info("the daemon has a copy of job '%s'; root can delete it: "
		         "proctor rm --state-dir %.*s %u:%s",
		         copy->id, dir, store, (unsigned)copy->uid, copy->id);
	else
		log_info("the daemon has %zu copies of these jobs; root can delete them: "
		         "proctor rm --state-dir %.*s %u:JOB…",
		         n, dir, store, (unsigned)copy->uid);
}

/* Root's daemon stores what users' runs record, too, in a store of its own. */
static void mention_copies(struct removal *rm)
{
	const struct job_filter filter = { .part = rm->jobs.len == 1 ? rm->jobs.at[0].id : NULL };
	struct daemon_jobs daemons = { 0 };
	struct job copy = { 0 };
	size_t n = 0;

	if (rm->rq->is_dry || !rm->recorded.asks_daemon)
		return;
	daemon_jobs_open(&daemons, NULL, rm->recorded.path, &filter, DAEMON_JOBS_MAX);
	for (size_t i = 0; i < daemon_jobs_count(&daemons); i++) {
		struct job job = daemon_jobs_at(&daemons, i);

		if (!find_original(rm, &job))
			continue;
		copy = job;
		n++;
	}
	if (n && daemon_jobs_store(&daemons))
		mention(daemon_jobs_store(&daemons), &copy, n);
	daemon_jobs_close(&daemons);
}

static int remove_jobs(struct removal *rm, char **names, int n)
{
	int status = job_selection_open(rm->cli, &rm->recorded), missing = CLI_OK, found;

	if (status == CLI_OK && n == 0)
		status = rm->recorded.reader ? select_fitting(rm)
		                             : job_selection_no_store(rm->recorded.path);
	for (int i = 0; status == CLI_OK && i < n; i++) {
		found = select_named(rm, names[i]);
		missing = MAX(missing, found);
	}
	if (status == CLI_OK && (n == 0 || rm->jobs.len))
		status = remove_all(rm);
	if (status == CLI_OK && rm->jobs.len)
		mention_copies(rm);
	store_close(rm->store);
	job_selection_close(&rm->recorded);
	vec_done(&rm->jobs);
	return MAX(status, missing);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .older_ns = NOT_GIVEN };
	const struct opt opts[] = {
		{ "older-than", 0, OPT_DURATION, &rq.older_ns, "AGE",
		  "only jobs started longer ago than 30d, 12h, …" },
		JOB_FILTER_OPTIONS(&rq.which),
		{ "dry-run", 0, OPT_FLAG, &rq.is_dry, NULL, "only list what would be deleted" },
		CLI_COMMON_OPTS(cli),
	};
	struct removal rm = { .cli = cli, .rq = &rq };
	int words, status;
	bool selects;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	selects = rq.older_ns != NOT_GIVEN || job_filter_options_given(&rq.which);
	if (words && selects)
		return cli_usage(cli, "name jobs or select them by options, not both");
	if (!words && !selects)
		return cli_usage(cli, "no job given");
	status = remove_jobs(&rm, argv + 1, words);
	job_filter_options_done(&rq.which);
	return status;
}

const struct verb verb_rm = {
	.name = "rm",
	.summary = "delete recorded jobs",
	.usage = "[--dry-run] [--json] JOB… | OPTION…",
	.about =
		"Deletes the jobs that are named, or those of your own that match all of the options, with their\n"
		"processes, samples, events and sheets. Running jobs are never deleted, and run folders are\n"
		"not touched.\n" CLI_JOB_HELP,
	.example = "proctor rm --older-than 90d --dry-run",
	.run = run,
};
