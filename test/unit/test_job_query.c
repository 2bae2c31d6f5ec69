/* SPDX-License-Identifier: MIT */
/* Jobs go in through a recorder and come back through a reader, with all that is known of them. */
#include <errno.h>
#include <sys/wait.h>

#include "store_kit.h"

/* Everything that a job can have. */
static struct job full_job(const struct world *w)
{
	struct job job = { .id = "train-7",
		           .type = "train",
		           .type_is_given = true,
		           .parent = "night-1",
		           .command = "python train.py --epochs 3",
		           .cwd = "/srv/models",
		           .uid = 1000,
		           .tags = "{\"team\":\"vision\",\"run\":\"a b\"}",
		           .tier = "BPF tracepoints, cgroup v2",
		           .interval_ns = NS_PER_S / 4,
		           .started_ns = w->wall_ns,
		           .total_sheets = 4,
		           .last_completed_sheet = 1,
		           .current_sheet = 2,
		           .limits_hit = 1 << JOB_LIMIT_MEM | 1 << JOB_LIMIT_TIME,
		           .root = { 4700, 12345 },
		           .largest_pid = 4711,
		           .largest_name = "python" };

	for (uint64_t i = 0; i < JOB_LIMIT_COUNT; i++)
		job.limit[i] = 1000 + i;
	for (uint64_t i = 0; i < JOB_FIGURE_COUNT; i++) /* whole in every unit */
		job.figures[i] = (struct figure){ (i + 1) * 1024 * 1000, 1 + i % 3 };
	return job;
}

static void assert_same_job(const struct job *is, const struct job *was)
{
	assert_string_equal(is->id, was->id);
	assert_string_equal(is->type, was->type);
	assert_int_equal(is->type_is_given, was->type_is_given);
	assert_string_equal(is->parent, was->parent);
	assert_string_equal(is->command, was->command);
	assert_string_equal(is->cwd, was->cwd);
	assert_int_equal(is->uid, was->uid);
	assert_string_equal(is->tags, was->tags);
	assert_string_equal(is->tier, was->tier);
	assert_int_equal(is->interval_ns, was->interval_ns);
	assert_int_equal(is->status, was->status);
	assert_int_equal(is->started_ns, was->started_ns);
	assert_int_equal(is->ended_ns, was->ended_ns);
	assert_int_equal(is->took_ns, was->took_ns);
	assert_int_equal(is->has_exit_code, was->has_exit_code);
	assert_int_equal(is->exit_code, was->exit_code);
	assert_int_equal(is->signal, was->signal);
	assert_int_equal(is->core_dumped, was->core_dumped);
	assert_int_equal(is->total_sheets, was->total_sheets);
	assert_int_equal(is->last_completed_sheet, was->last_completed_sheet);
	assert_int_equal(is->current_sheet, was->current_sheet);
	assert_memory_equal(is->limit, was->limit, sizeof is->limit);
	assert_int_equal(is->limits_hit, was->limits_hit);
	assert_true(proc_id_eq(is->root, was->root));
	assert_int_equal(is->largest_pid, was->largest_pid);
	assert_string_equal(is->largest_name, was->largest_name);
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++) {
		assert_int_equal(is->figures[i].quality, was->figures[i].quality);
		assert_int_equal(is->figures[i].value, was->figures[i].value);
	}
}

static struct job find_as(const char *dir, uint32_t uid, const char *name)
{
	struct history *r = open_reader(dir);
	struct err err = { 0 };
	struct job job;

	if (history_get_job(r, (struct job_key){ uid, name }, &job, &err) < 0)
		fail_msg("%s", err.msg);
	history_close(r);
	return job;
}

static void test_job__comes_back_as_it_was_stored(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	struct job job, found;

	(void)state;
	world_init(&w, 31);
	st = world_open(&w, dir);
	job = full_job(&w);
	put_job(st, &job);
	found = find_as(dir, 1000, "train-7");
	assert_same_job(&found, &job);
	/* From tick to tick its figures grow, and some are not known any more. */
	job.figures[JOB_FIGURE_CPU].value += NS_PER_S;
	job.figures[JOB_FIGURE_READ] = (struct figure){ 0 };
	put_job(st, &job);
	found = find_as(dir, 1000, "train-7");
	assert_same_job(&found, &job);
	set_end(&job, JOB_FAILED);
	job.current_sheet = 0;
	put_job(st, &job);
	job.figures[JOB_FIGURE_USED] = (struct figure){ 0 }; /* one that ended uses nothing */
	found = find_as(dir, 1000, "train-7");
	assert_same_job(&found, &job);
	store_close(st);
	found = find_as(dir, 1000, "train-7");
	assert_same_job(&found, &job);
	world_done(&w);
	world_rmdir(dir);
}

#define BOOT "6d8e1f0a-5b9c-4d27-8a43-2f1f0c9be7d1"

/* A daemon asks this of a run into its own store, which may end at any moment. */
static void test_recorder__is_known_while_it_lives_and_by_its_job_afterwards(void **state)
{
	const struct job_key other = { 1000, "train-8" }, other_users = { 1001, "train-7" };
	cleanup(history_closep) struct history *reader = NULL;
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct job job;

	(void)state;
	world_init(&w, 33);
	st = world_open(&w, dir);
	job = full_job(&w);
	assert_int_equal(store_introduce(st, BOOT, &err), 0);
	assert_int_equal(history_open(path, &reader, &err), 0);
	assert_true(history_has_recorder(reader, getpid(), BOOT, job_key_of(&job)));
	set_end(&job, JOB_COMPLETED);
	put_job(st, &job);
	store_close(st);
	assert_true(history_has_recorder(reader, getpid(), BOOT, job_key_of(&job)));
	assert_false(history_has_recorder(reader, getpid(), BOOT, other));
	assert_false(history_has_recorder(reader, getpid(), BOOT, other_users));
	assert_false(history_has_recorder(reader, getpid() + 1, BOOT, job_key_of(&job)));
	assert_false(history_has_recorder(reader, getpid(), "another boot", job_key_of(&job)));
	world_done(&w);
	free(path);
	world_rmdir(dir);
}

static void test_jobs_view__shows_friendly_units_and_qualities(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	struct job job;

	(void)state;
	world_init(&w, 32);
	st = world_open(&w, dir);
	job = full_job(&w);
	job.limit[JOB_LIMIT_MEM] = 512 << 20;
	job.limit[JOB_LIMIT_TIME] = 90 * NS_PER_S;
	job.figures[JOB_FIGURE_CPU] = (struct figure){ 1500 * NS_PER_MS, QUALITY_EXACT };
	job.figures[JOB_FIGURE_PEAK_RSS] = (struct figure){ 3 << 20, QUALITY_AT_LEAST };
	job.figures[JOB_FIGURE_READ] = (struct figure){ 0 };
	set_end(&job, JOB_FAILED);
	put_job(st, &job);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE job_id = 'train-7'"
	                              " AND status = 'failed' AND result = 'oom'"
	                              " AND duration_seconds = 89.0 AND core_dumped = 1"
	                              " AND limit_mem_mb = 512.0 AND limit_time_seconds = 90.0"
	                              " AND limits_hit = 'mem time' AND parent = 'night-1'"
	                              " AND cpu_seconds = 1.5 AND cpu_seconds_quality = 'exact'"
	                              " AND peak_rss_mb = 3.0 AND peak_rss_mb_quality = 'at_least'"
	                              " AND read_bytes IS NULL AND read_bytes_quality = 'missing'"
	                              " AND interval_seconds = 0.25 AND uid = 1000"),
	                 1);
	assert_int_equal(ask_int(dir, "SELECT cpu_time_us FROM job"), 1500000);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* What the recorder does not know is summed up from the processes when the job ends. */
static void test_job__sums_its_processes_where_the_recorder_reports_nothing(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	struct job found;

	(void)state;
	world_init(&w, 33);
	world_add_job(&w, "a");
	world_add_job(&w, "b");
	w.jobs.at[1].figures[JOB_FIGURE_CPU] = (struct figure){ 77 * NS_PER_S, QUALITY_EXACT };
	st = world_open(&w, dir);
	for (int i = 0; i < 50; i++)
		world_put(&w, st);
	found = find_job(dir, "b");
	assert_int_equal(found.figures[JOB_FIGURE_CPU].value, 77 * NS_PER_S);
	assert_int_equal(found.figures[JOB_FIGURE_PEAK_RSS].quality, QUALITY_MISSING);
	set_end(&w.jobs.at[0], JOB_COMPLETED);
	set_end(&w.jobs.at[1], JOB_COMPLETED);
	world_put(&w, st);
	found = find_job(dir, "a");
	assert_int_equal(found.figures[JOB_FIGURE_PROCESSES].quality, QUALITY_AT_LEAST);
	assert_int_equal(
		found.figures[JOB_FIGURE_PROCESSES].value,
		ask_int(dir,
	                "SELECT count(*) FROM process WHERE job = (SELECT id FROM job WHERE job_id = 'a')"));
	assert_int_equal(found.figures[JOB_FIGURE_CPU].quality, QUALITY_AT_LEAST);
	assert_int_equal(
		found.figures[JOB_FIGURE_CPU].value / NS_PER_US,
		ask_int(dir,
	                "SELECT sum(cpu_time_us) FROM process WHERE job = (SELECT id FROM job WHERE job_id = 'a')"));
	assert_int_equal(found.figures[JOB_FIGURE_PEAK_RSS].quality, QUALITY_SAMPLED);
	found = find_job(dir, "b");
	assert_int_equal(found.figures[JOB_FIGURE_CPU].value, 77 * NS_PER_S);
	assert_int_equal(found.figures[JOB_FIGURE_CPU].quality, QUALITY_EXACT);
	assert_int_equal(found.figures[JOB_FIGURE_PEAK_RSS].quality, QUALITY_SAMPLED);
	assert_true(found.figures[JOB_FIGURE_PEAK_RSS].value > 0);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct names {
	char text[512];
};

static int add_name(void *self, const struct job *job)
{
	struct names *n = self;
	size_t len = strlen(n->text);

	snprintf(n->text + len, sizeof n->text - len, "%s%s", len ? " " : "", job->id);
	return 0;
}

static void assert_listed(const char *dir, const struct job_filter *filter, size_t limit,
                          const char *wanted)
{
	struct history *r = open_reader(dir);
	struct names names = { "" };
	struct err err = { 0 };

	if (history_jobs(r, filter, limit, add_name, &names, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(names.text, wanted);
	history_close(r);
}

static void put_family(struct world *w, struct store *st)
{
	struct job job = some_job(w, "m1", "make");

	set_end(&job, JOB_COMPLETED);
	put_job(st, &job);
	job = some_job(w, "m2", "make");
	snprintf(job.tags, sizeof job.tags, "{\"k\\\"ey\":\"v1\",\"team\":\"x\"}");
	set_end(&job, JOB_FAILED);
	put_job(st, &job);
	job = some_job(w, "t-one", "train");
	snprintf(job.parent, sizeof job.parent, "m2");
	job.limits_hit = 1;
	set_end(&job, JOB_FAILED);
	job.signal = 0;
	put_job(st, &job);
	job = some_job(w, "t-two", "train");
	job.figures[JOB_FIGURE_OOM_KILLS] = (struct figure){ 1, QUALITY_EXACT };
	put_job(st, &job);
	job = some_job(w, "make", "odd");
	snprintf(job.parent, sizeof job.parent, "m2");
	put_job(st, &job);
}

static void test_reader_jobs__lists_the_newest_first_and_filters(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	uint64_t began;
	struct history *r;
	struct err err = { 0 };
	struct names names = { "" };

	(void)state;
	world_init(&w, 34);
	began = w.wall_ns;
	st = world_open(&w, dir);
	put_family(&w, st);
	assert_listed(dir, &(struct job_filter){ 0 }, 99, "make t-two t-one m2 m1");
	assert_listed(dir, &(struct job_filter){ 0 }, 2, "make t-two");
	assert_listed(dir, &(struct job_filter){ .type = "make" }, 99, "m2 m1");
	assert_listed(dir, &(struct job_filter){ .tag_key = "team" }, 99, "m2");
	assert_listed(dir, &(struct job_filter){ .tag_key = "k\"ey", .tag_value = "v1" }, 99, "m2");
	assert_listed(dir, &(struct job_filter){ .tag_key = "team", .tag_value = "y" }, 99, "");
	assert_listed(dir, &(struct job_filter){ .outcome = "ok" }, 99, "m1");
	assert_listed(dir, &(struct job_filter){ .outcome = "failed" }, 99, "t-one m2");
	assert_listed(dir, &(struct job_filter){ .outcome = "running" }, 99, "make t-two");
	assert_listed(dir, &(struct job_filter){ .outcome = "lost" }, 99, "");
	assert_listed(dir, &(struct job_filter){ .outcome = "signal" }, 99, "m2");
	assert_listed(dir, &(struct job_filter){ .outcome = "oom" }, 99, "t-two");
	assert_listed(dir, &(struct job_filter){ .outcome = "limit" }, 99, "t-one");
	assert_listed(dir, &(struct job_filter){ .parent = "m2" }, 99, "make t-one");
	assert_listed(dir,
	              &(struct job_filter){ .since_ns = began + NS_PER_S,
	                                    .until_ns = began + 2 * NS_PER_S },
	              99, "t-one m2");
	r = open_reader(dir);
	assert_int_equal(history_jobs(r, &(struct job_filter){ .outcome = "fine" }, 9, add_name,
	                              &names, &err),
	                 -EINVAL);
	history_close(r);
	store_close(st);
	/* Whoever closes without an end has lost its jobs. */
	assert_listed(dir, &(struct job_filter){ .outcome = "lost" }, 99, "make t-two");
	world_done(&w);
	world_rmdir(dir);
}

static int add_offer(void *self, const struct job_offer *offer)
{
	struct job job = { .uid = offer->uid };

	memcpy(job.id, offer->id, sizeof job.id);
	assert_true(offer->started_ns > 0);
	return add_name(self, &job);
}

static void assert_offered(const char *dir, const struct job_filter *filter, size_t limit,
                           const char *wanted)
{
	struct history *r = open_reader(dir);
	struct names names = { "" };
	struct err err = { 0 };

	if (history_offer_jobs(r, filter, limit, add_offer, &names, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(names.text, wanted);
	history_close(r);
	assert_listed(dir, filter, limit, wanted);
}

static void test_reader_offer_jobs__finds_parts_of_names_and_outermost_jobs(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 35);
	st = world_open(&w, dir);
	put_family(&w, st);
	assert_offered(dir, &(struct job_filter){ .part = "t-" }, 99, "t-two t-one");
	assert_offered(dir, &(struct job_filter){ .part = "rai" }, 99, "t-two t-one");
	assert_offered(dir, &(struct job_filter){ .part = "make" }, 99, "make m2 m1");
	assert_offered(dir, &(struct job_filter){ .part = "make" }, 2, "make m2");
	assert_offered(dir, &(struct job_filter){ .part = "%" }, 99, "");
	assert_offered(dir, &(struct job_filter){ .outermost = true }, 99, "t-two m2 m1");
	assert_offered(dir, &(struct job_filter){ .outermost = true }, 1, "t-two");
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_reader_get_job__takes_an_id_and_nothing_else(void **state)
{
	static const char *const others[] = { "last", "train", "make~1", "t-o", "", "nothing" };
	char *dir = world_dir();
	struct err err = { 0 };
	struct history *r;
	struct world w;
	struct store *st;
	struct job job;

	(void)state;
	world_init(&w, 35);
	st = world_open(&w, dir);
	put_family(&w, st);
	r = open_reader(dir);
	assert_int_equal(history_get_job(r, KEY("t-one"), &job, &err), 0);
	assert_string_equal(job.id, "t-one");
	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(history_get_job(r, KEY(others[i]), &job, &err), -ENOENT);
	assert_string_equal(job.id, "t-one");
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_job__of_two_users_may_have_the_same_id(void **state)
{
	char *dir = world_dir(), id[JOB_ID_MAX] = "build";
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct job job;
	bool changed;

	(void)state;
	world_init(&w, 37);
	st = world_open(&w, dir);
	for (uint32_t uid = 1000; uid < 1002; uid++) {
		world_tick(&w);
		job = (struct job){
			.id = "build", .type = "make", .uid = uid, .started_ns = w.wall_ns
		};
		*world_push(&w.snap.jobs) = job;
		w.snap.procs.at[uid - 1000].job = 0;
		assert_int_equal(store_put(st, &w.snap, &err), 0);
	}
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE job_id = 'build'"), 2);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process_metrics"
	                              " WHERE job_id = 'build' AND uid = 1001"
	                              " AND snapshot_id = 2"),
	                 1);
	assert_int_equal(find_as(dir, 1000, "build").uid, 1000);
	assert_int_equal(find_as(dir, 1001, "build").uid, 1001);
	assert_int_equal(find_job_error(dir, "build", &err), -ENOENT); /* root has none */
	/* Another user's job takes no id away. */
	assert_int_equal(store_claim_job_id(st, 1002, id, &changed, &err), 0);
	assert_false(changed);
	assert_int_equal(store_claim_job_id(st, 1000, id, &changed, &err), 0);
	assert_true(changed);
	assert_string_equal(id, "build.2");
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* A job has only the id of its parent, which means a job of the same user. */
static void test_job__has_a_parent_of_its_own_user_only(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;
	struct job job;

	(void)state;
	world_init(&w, 38);
	st = world_open(&w, dir);
	job = some_job(&w, "night", "cron");
	job.uid = 1000;
	job.limits_hit = 1u << JOB_LIMIT_TIME;
	set_end(&job, JOB_FAILED);
	put_job(st, &job);
	for (uint32_t uid = 1000; uid < 1002; uid++) {
		job = some_job(&w, uid == 1000 ? "inner" : "stranger", "x");
		job.uid = uid;
		snprintf(job.parent, sizeof job.parent, "night");
		set_end(&job, JOB_LOST);
		put_job(st, &job);
	}
	assert_int_equal(find_as(dir, 1000, "inner").parent_limits_hit, 1u << JOB_LIMIT_TIME);
	assert_int_equal(find_as(dir, 1001, "stranger").parent_limits_hit, 0);
	assert_offered(dir, &(struct job_filter){ .outermost = true }, 99, "stranger night");
	assert_listed(dir, &(struct job_filter){ .parent = "night", .parent_uid = 1000 }, 99,
	              "inner");
	assert_listed(dir, &(struct job_filter){ .parent = "night", .parent_uid = 1001 }, 99,
	              "stranger");
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static int keep_uid(void *self, const struct event_record *e)
{
	uint32_t *seen = self;

	if (e->kind != EVENT_MARK && e->kind != EVENT_EXIT)
		return 0;
	assert_true(e->has_job_uid == (e->job_id != NULL));
	seen[0] += e->job_id && e->job_uid == 1000;
	seen[1] += e->job_id && e->job_uid == 1001;
	seen[2] += !e->job_id;
	return 0;
}

static void test_events__name_the_user_of_their_job(void **state)
{
	char *dir = world_dir();
	struct history_cursor at = { 0 };
	uint32_t seen[3] = { 0 };
	struct history *r;
	struct err err = { 0 };
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 39);
	st = world_open(&w, dir);
	world_tick(&w);
	for (uint32_t uid = 1000; uid < 1002; uid++)
		*(struct job *)world_push(&w.snap.jobs) = (struct job){
			.id = "build", .type = "make", .uid = uid, .started_ns = w.wall_ns
		};
	for (int32_t job = -1; job < 2; job++) {
		*(struct event *)world_push(&w.snap.events) = (struct event){
			.kind = EVENT_MARK, .job = job, .wall_ns = w.wall_ns
		};
		if (job >= 0)
			w.snap.procs.at[job].job = job;
	}
	*(struct event *)world_push(&w.snap.events) = (struct event){
		.kind = EVENT_EXIT, .id = w.snap.procs.at[1].s.id, .job = 1, .wall_ns = w.wall_ns
	};
	assert_int_equal(store_put(st, &w.snap, &err), 0);
	r = open_reader(dir);
	assert_true(history_events(r, &at, 0, 1000, keep_uid, seen, &err) > 0);
	assert_int_equal(seen[0], 1);
	assert_int_equal(seen[1], 2);
	assert_int_equal(seen[2], 1);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* Nobody has buried the recorder yet, and still its job is known to be lost. */
static void test_history__reports_a_job_as_lost_whose_recorder_is_gone(void **state)
{
	char *dir = world_dir();
	struct history *r;
	struct world w;
	struct job job;
	int status;
	pid_t pid;

	(void)state;
	world_init(&w, 36);
	pid = fork();
	if (!pid) {
		struct store *st = world_open(&w, dir);
		struct err err = { 0 };

		job = some_job(&w, "doomed", "x");
		_exit(store_put_job(st, &job, NULL, &err) < 0 ||
		      find_job(dir, "doomed").status != JOB_RUNNING);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(find_job(dir, "doomed").status, JOB_LOST);
	assert_int_equal(ask_int(dir, "SELECT status FROM job"), JOB_RUNNING);
	assert_listed(dir, &(struct job_filter){ .outcome = "lost" }, 9, "doomed");
	assert_listed(dir, &(struct job_filter){ .outcome = "running" }, 9, "");
	store_close(world_open(&w, dir));
	assert_int_equal(ask_int(dir, "SELECT status FROM job"), JOB_LOST);
	r = open_reader(dir);
	history_close(r);
	world_rmdir(dir);
}

static void assert_claims(struct store *st, const char *wish, const char *got)
{
	struct err err = { 0 };
	char id[JOB_ID_MAX];
	bool changed;

	snprintf(id, sizeof id, "%s", wish);
	if (store_claim_job_id(st, 0, id, &changed, &err) < 0)
		fail_msg("%s", err.msg);
	assert_string_equal(id, got);
	assert_int_equal(changed, strcmp(wish, got) != 0);
}

static void test_store_claim_job_id__gives_every_id_once(void **state)
{
	char *dir = world_dir(), longest[JOB_ID_MAX], shortened[JOB_ID_MAX], wanted[16];
	struct world w;
	struct store *st, *other;
	struct job job;

	(void)state;
	world_init(&w, 41);
	st = world_open(&w, dir);
	other = world_open(&w, dir);
	assert_claims(st, "x", "x");
	assert_claims(other, "x", "x.2");
	assert_claims(other, "x", "x.2"); /* its job has not begun */
	for (int i = 2; i < 40; i++) {
		snprintf(wanted, sizeof wanted, "x.%d", i);
		job = some_job(&w, wanted, "type");
		put_job(other, &job);
		snprintf(wanted, sizeof wanted, "x.%d", i + 1);
		assert_claims(other, "x", wanted);
	}
	assert_claims(st, "x", "x");
	memset(longest, 'y', sizeof longest - 1);
	longest[sizeof longest - 1] = '\0';
	assert_claims(st, longest, longest);
	snprintf(shortened, sizeof shortened, "%.*s.2", JOB_ID_MAX - 3, longest);
	assert_claims(other, longest, shortened);
	/* It is no job before it starts. */
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), 38);
	job = some_job(&w, "x", "type");
	put_job(st, &job);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs"), 39);
	store_close(st);
	store_close(other);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_job__comes_back_as_it_was_stored),
          TEST(test_recorder__is_known_while_it_lives_and_by_its_job_afterwards),
          TEST(test_jobs_view__shows_friendly_units_and_qualities),
          TEST(test_job__sums_its_processes_where_the_recorder_reports_nothing),
          TEST(test_reader_jobs__lists_the_newest_first_and_filters),
          TEST(test_reader_offer_jobs__finds_parts_of_names_and_outermost_jobs),
          TEST(test_reader_get_job__takes_an_id_and_nothing_else),
          TEST(test_job__of_two_users_may_have_the_same_id),
          TEST(test_job__has_a_parent_of_its_own_user_only),
          TEST(test_events__name_the_user_of_their_job),
          TEST(test_history__reports_a_job_as_lost_whose_recorder_is_gone),
          TEST(test_store_claim_job_id__gives_every_id_once))
