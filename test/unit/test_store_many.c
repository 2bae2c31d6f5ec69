/* SPDX-License-Identifier: MIT */
/* Many short jobs into one store, each with a recorder of its own. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <sys/wait.h>

#include "store_kit.h"

#define MANY 80 /* `run` is tried with 200 at once: test_run_crowd */
#define SEEN 200

static struct store *open_brief(const char *dir, struct err *err)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = {
		.path = path, .kind = "run", .is_brief = true, .interval_ns = NS_PER_S
	};
	const char *notice = NULL;
	struct store *st = NULL;

	if (AT_LAST(store_open(&o, &st, &notice, err)) < 0)
		st = NULL;
	free(path);
	return st;
}

static void must(int r, const char *what, const struct err *err)
{
	if (r >= 0)
		return;
	fprintf(stderr, "child: %s: %s\n", what, err->msg);
	_exit(1);
}

/* A tick while the job runs may come to nothing when everybody writes: the next one is as good. */
static void put_tick(struct store *st, struct world *w, const struct job *job)
{
	struct err err = { 0 };
	int r;

	world_tick(w);
	*(struct job *)world_push(&w->snap.jobs) = *job;
	*(struct job_sum *)world_push(&w->snap.sums) = (struct job_sum){ .procs = 1,
		                                                         .rss_bytes = 4096,
		                                                         .cpu_ratio = 0.5 };
	r = store_put(st, &w->snap, &err);
	must(r == -EBUSY ? 0 : r, "tick", &err);
}

static void live_one_job(const char *dir, uint64_t number, bool is_doomed)
{
	struct err err = { 0 };
	bool changed;
	struct world w;
	struct job job;
	struct store *st;

	world_init(&w, number);
	job = some_job(&w, "job", "type");
	st = open_brief(dir, &err);
	must(st ? 0 : -1, "open", &err);
	must(AT_LAST(store_claim_job_id(st, job.uid, job.id, &changed, &err)), "claim", &err);
	must(AT_LAST(store_put_job(st, &job, NULL, &err)), "start", &err);
	for (int i = 0; i < 2; i++)
		put_tick(st, &w, &job);
	if (is_doomed)
		raise(SIGKILL);
	job.figures[JOB_FIGURE_CPU] = (struct figure){ number * NS_PER_S, QUALITY_EXACT };
	job.status = JOB_COMPLETED;
	job.has_exit_code = true;
	job.ended_ns = w.wall_ns;
	snapshot_reset(&w.snap);
	must(AT_LAST(store_put_job(st, &job, NULL, &err)), "end", &err);
	store_close(st);
	_exit(0);
}

/* All at once: they wait for the pipe to close. */
static size_t run_many(const char *dir, size_t doomed)
{
	size_t good = 0;
	int gate[2];

	assert_int_equal(pipe(gate), 0);
	for (size_t i = 1; i <= MANY; i++) {
		pid_t pid = fork();

		assert_true(pid >= 0);
		if (pid)
			continue;
		close(gate[1]);
		if (read(gate[0], &(char){ 0 }, 1) < 0)
			_exit(1);
		live_one_job(dir, i, i <= doomed);
	}
	close(gate[0]);
	close(gate[1]);
	for (size_t i = 0; i < MANY; i++) {
		int status;

		assert_true(wait(&status) > 0);
		good += status == 0;
	}
	return good;
}

static void test_store__keeps_every_one_of_many_jobs_at_once(void **state)
{
	char *dir = world_dir();

	(void)state;
	assert_int_equal(run_many(dir, 0), MANY);
	assert_int_equal(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE status = 'completed'"
	                              " AND cpu_seconds_quality = 'exact'"),
	                 MANY);
	assert_int_equal(ask_int(dir, "SELECT count(DISTINCT cpu_seconds) FROM jobs"), MANY);
	assert_string_equal(find_job(dir, "job.80").id, "job.80");
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM keyframe WHERE last IS NULL"), 0);
	world_rmdir(dir);
}

static void test_store__outlives_those_of_many_that_are_killed(void **state)
{
	char *dir = world_dir();
	struct world w;

	(void)state;
	world_init(&w, 1);
	assert_int_equal(run_many(dir, 30), MANY - 30);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE status = 'completed'"),
	                 MANY - 30);
	store_close(world_open(&w, dir)); /* which marks the rest as ended */
	assert_int_equal(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM jobs WHERE status = 'lost'"), 30);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process WHERE first IS NOT NULL"
	                              " AND last IS NULL"),
	                 0);
	world_rmdir(dir);
}

static void test_store__writes_all_of_a_brief_job_with_its_end(void **state)
{
	char *dir = world_dir();
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct job job;

	(void)state;
	world_init(&w, 2);
	st = open_brief(dir, &err);
	assert_non_null(st);
	job = some_job(&w, "blink", "x");
	put_job(st, &job);
	assert_int_equal(find_job(dir, "blink").status, JOB_RUNNING);
	set_end(&job, JOB_COMPLETED);
	put_job(st, &job);
	/* Its recorder could die here, and nothing would be missing. */
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	/* If it has more to report after all, it may. */
	world_put(&w, st);
	world_put(&w, st);
	store_close(st);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM keyframe WHERE last IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process WHERE first IS NOT NULL"
	                              " AND last IS NULL"),
	                 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots s WHERE child_count <>"
	                              " (SELECT count(*) FROM process_metrics pm"
	                              " WHERE pm.snapshot_id = s.id)"),
	                 0);
	world_done(&w);
	world_rmdir(dir);
}

static void test_store__a_brief_one_that_reports_nothing_leaves_nothing(void **state)
{
	char *dir = world_dir();
	struct err err = { 0 };

	(void)state;
	store_close(open_brief(dir, &err));
	store_close(open_brief(dir, &err));
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder"), 0);
	world_rmdir(dir);
}

static void assert_rows(struct store *st, const struct world *w)
{
	struct err err = { 0 };

	for (size_t i = 0; i < w->jobs.len; i++) {
		const struct job_seen *seen = job_table_seen(st, KEY(w->jobs.at[i].id));

		assert_non_null(seen);
		assert_string_equal(seen->id, w->jobs.at[i].id);
		assert_int_equal(seen->row, job_table_find(st, KEY(w->jobs.at[i].id), &err));
		assert_int_equal(seen->status, w->jobs.at[i].status);
	}
	assert_null(job_table_seen(st, KEY("somebody-else")));
}

static void test_job_find_seen__knows_each_of_many_also_when_others_are_forgotten(void **state)
{
	char *dir = world_dir(), id[16];
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 4);
	for (int i = 0; i < SEEN; i++) {
		snprintf(id, sizeof id, "j%d", i);
		world_add_job(&w, id);
	}
	st = world_open(&w, dir);
	world_put(&w, st);
	assert_rows(st, &w);
	memmove(w.jobs.at, w.jobs.at + SEEN - 10, 10 * sizeof *w.jobs.at);
	w.jobs.len = 10;
	set_end(&w.jobs.at[3], JOB_FAILED);
	world_put(&w, st);
	assert_rows(st, &w);
	assert_null(job_table_seen(st, KEY("j0")));
	job_table_roll_back(st);
	assert_null(job_table_seen(st, KEY(w.jobs.at[0].id)));
	world_put(&w, st);
	assert_rows(st, &w);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM job"), SEEN);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_store__keeps_every_one_of_many_jobs_at_once),
          TEST(test_store__outlives_those_of_many_that_are_killed),
          TEST(test_store__writes_all_of_a_brief_job_with_its_end),
          TEST(test_store__a_brief_one_that_reports_nothing_leaves_nothing),
          TEST(test_job_find_seen__knows_each_of_many_also_when_others_are_forgotten))
