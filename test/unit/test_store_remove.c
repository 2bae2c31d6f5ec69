/* SPDX-License-Identifier: MIT */
/* Deleting a job, beside a recorder that goes on. */
#include "store_kit.h"

/* Two jobs side by side in one recorder's world, and processes in none. */
static struct store_fixture two_jobs(void)
{
	struct store_fixture fx = fixture_of(7);

	world_add_job(&fx.w, "other");
	for (int i = 0; i < 300; i++)
		world_put(&fx.w, fx.st);
	return fx;
}

static void end_jobs(struct store_fixture *fx)
{
	for (size_t i = 0; i < fx->w.jobs.len; i++)
		set_end(&fx->w.jobs.at[i], JOB_COMPLETED);
	world_put(&fx->w, fx->st);
}

static struct store *remover(const char *dir)
{
	cleanup(freep) char *path = xasprintf("%s/proctor.db", dir);
	const struct store_options o = { .path = path, .kind = "rm", .is_brief = true };
	const char *notice;
	struct store *st = NULL;
	struct err err = { 0 };

	if (store_open(&o, &st, &notice, &err) < 0)
		fail_msg("%s", err.msg);
	return st;
}

static int remove_job(const char *dir, const char *id, struct store_removed *ret)
{
	cleanup(store_closep) struct store *st = remover(dir);
	struct err err = { 0 };

	return AT_LAST(store_remove_job(st, KEY(id), ret, &err));
}

/* Everything that is known of a job, and of what is in none, in one number each. */
#define FACTS                                                                                      \
	"SELECT (SELECT count(*) FROM process_metrics WHERE job_id IS %s) * 1000000000"            \
	" + (SELECT count(*) FROM process_events WHERE job_id IS %s) * 100000"                     \
	" + (SELECT count(*) FROM job_samples WHERE job_id IS %s) * 100"                           \
	" + (SELECT count(*) FROM sheets WHERE job_id IS %s)"

static int64_t facts(const char *dir, const char *job)
{
	cleanup(freep) char *sql = xasprintf(FACTS, job, job, job, job);

	return ask_int(dir, sql);
}

static int64_t sum_of(const char *dir, const char *job)
{
	cleanup(freep) char *sql = xasprintf(
		"SELECT cast(total(rss_mb * 1024 + coalesce(cpu_percent, 0) * 7 + threads) AS INTEGER)"
		" FROM process_metrics WHERE job_id IS %s",
		job);

	return ask_int(dir, sql);
}

static void test_store_remove__deletes_all_of_a_job_and_nothing_of_others(void **state)
{
	struct store_fixture fx = two_jobs();
	struct store_removed removed = { 0 };
	int64_t other, other_sum, none, base, snapshots;

	end_jobs(&fx);
	other = facts(fx.dir, "'other'");
	other_sum = sum_of(fx.dir, "'other'");
	none = sum_of(fx.dir, "NULL");
	snapshots = ask_int(fx.dir, "SELECT count(*) FROM snapshots");
	base = ask_int(fx.dir, "SELECT count(*) FROM sample_base");
	assert_true(facts(fx.dir, "'train'") > INT64_C(1000000000));
	run_sql(fx.dir, "UPDATE process SET last = (SELECT max(id) FROM snapshot)"
	                " WHERE job = 1 AND last IS NULL");
	assert_int_equal(remove_job(fx.dir, "train", &removed), 0);
	assert_true(removed.processes > 0 && removed.rows > removed.processes);
	assert_int_equal(facts(fx.dir, "'train'"), 0);
	assert_int_equal(facts(fx.dir, "'other'"), other);
	assert_int_equal(sum_of(fx.dir, "'other'"), other_sum);
	assert_int_equal(sum_of(fx.dir, "NULL"), none);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM snapshots"), snapshots);
	assert_true(ask_int(fx.dir, "SELECT count(*) FROM sample_base") < base);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM job"), 1);
	/* Nothing is left that refers to what is gone. */
	assert_int_equal(ask_int(fx.dir,
	                         "SELECT (SELECT count(*) FROM sample_base WHERE proc NOT IN"
	                         " (SELECT id FROM process)) + (SELECT count(*) FROM sample_change"
	                         " WHERE id >> 12 NOT IN (SELECT id FROM sample_base)) +"
	                         " (SELECT count(*) FROM event WHERE proc NOT IN"
	                         " (SELECT id FROM process)) + (SELECT count(*) FROM process WHERE"
	                         " job NOT IN (SELECT id FROM job))"),
	                 0);
	assert_int_equal(remove_job(fx.dir, "train", &removed), -ENOENT);
	fixture_done(&fx);
}

static void test_store_remove__leaves_living_processes_to_the_recorder_that_goes_on(void **state)
{
	struct store_fixture fx = two_jobs();
	struct store_removed removed = { 0 };
	int64_t alive;

	end_jobs(&fx);
	alive = ask_int(fx.dir, "SELECT count(*) FROM process WHERE last IS NULL AND job = 1");
	assert_true(alive > 0);
	assert_int_equal(remove_job(fx.dir, "train", &removed), 0);
	assert_int_equal(
		ask_int(fx.dir, "SELECT count(*) FROM process WHERE last IS NULL AND job = 1"), 0);
	for (size_t i = 0; i < WORLD_SLOTS; i++)
		if (fx.w.procs[i].job == 0)
			fx.w.procs[i].job = -1;
	for (int i = 0; i < 100; i++)
		world_put(&fx.w, fx.st); /* the job is shown for a while after its end */
	assert_int_equal(find_job_error(fx.dir, "train", &(struct err){ 0 }), -ENOENT);
	assert_int_equal(ask_int(fx.dir,
	                         "SELECT count(*) FROM process_metrics m WHERE m.snapshot_id ="
	                         " (SELECT max(id) FROM snapshot)"),
	                 (int64_t)fx.w.snap.procs.len);
	fixture_done(&fx);
}

static void test_store_remove__never_gives_an_id_again(void **state)
{
	struct store_fixture fx = fixture_of(3);
	struct store_removed removed;
	int64_t job, process, event;

	for (int i = 0; i < 100; i++)
		world_put(&fx.w, fx.st);
	end_jobs(&fx);
	store_close(fx.st);
	fx.st = NULL;
	run_sql(fx.dir, "UPDATE process SET job = 1");
	job = ask_int(fx.dir, "SELECT max(id) FROM job");
	process = ask_int(fx.dir, "SELECT max(id) FROM process");
	event = ask_int(fx.dir, "SELECT max(id) FROM event");
	assert_int_equal(remove_job(fx.dir, "train", &removed), 0);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM process"), 0);
	assert_int_equal(remove_job(fx.dir, "train", &removed), -ENOENT);
	fx.w.jobs.len = 0;
	world_add_job(&fx.w, "next");
	fx.st = world_open(&fx.w, fx.dir);
	for (int i = 0; i < 20; i++)
		world_put(&fx.w, fx.st);
	assert_true(ask_int(fx.dir, "SELECT id FROM job") > job);
	assert_true(ask_int(fx.dir, "SELECT min(id) FROM process") > process);
	assert_true(ask_int(fx.dir, "SELECT min(id) FROM event") > event);
	fixture_done(&fx);
}

static void test_store_remove__refuses_a_running_job_but_not_one_whose_recorder_died(void **state)
{
	struct store_fixture fx = two_jobs();
	struct store_removed removed;

	assert_int_equal(remove_job(fx.dir, "train", &removed), -EBUSY);
	assert_true(facts(fx.dir, "'train'") > 0);
	db_lock_drop(&fx.st->write, fx.st->recorder); /* as the kernel does when it dies */
	assert_int_equal(remove_job(fx.dir, "train", &removed), 0);
	assert_int_equal(facts(fx.dir, "'train'"), 0);
	fixture_done(&fx);
}

static void test_store_remove__deletes_means_of_a_minute_too(void **state)
{
	struct store_fixture fx = two_jobs();
	const struct store_retention keep = { 60 * NS_PER_S, 3600 * NS_PER_S, 86400 * NS_PER_S };
	struct store_removed removed;
	struct err err = { 0 };
	int64_t other;
	bool more = true;

	end_jobs(&fx);
	for (int i = 0; i < 300; i++)
		world_put(&fx.w, fx.st);
	while (more)
		assert_int_equal(
			store_retain_step(fx.st, &keep, fx.w.wall_ns, fx.w.boot_ns, &more, &err),
			0);
	assert_true(ask_int(fx.dir, "SELECT count(*) FROM snapshot WHERE resolution = 60") > 0);
	other = facts(fx.dir, "'other'");
	assert_int_equal(remove_job(fx.dir, "train", &removed), 0);
	assert_int_equal(facts(fx.dir, "'train'"), 0);
	assert_int_equal(facts(fx.dir, "'other'"), other);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM sample_range WHERE id >> 12 NOT IN"
	                                 " (SELECT id FROM sample_base)"),
	                 0);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_store_remove__deletes_all_of_a_job_and_nothing_of_others),
          TEST(test_store_remove__leaves_living_processes_to_the_recorder_that_goes_on),
          TEST(test_store_remove__never_gives_an_id_again),
          TEST(test_store_remove__refuses_a_running_job_but_not_one_whose_recorder_died),
          TEST(test_store_remove__deletes_means_of_a_minute_too))
