/* SPDX-License-Identifier: MIT */
/* Episodes on their way through the store: when they begin, change and end, back to readers, out
 * by retention. */
#include <math.h>

#include "base/io.h"
#include "store_kit.h"

#define MIB (1 << 20)

static struct anomaly spike_of(const struct store_fixture *fx, enum anomaly_news news)
{
	return (struct anomaly){
		.seq = 1,
		.kind = ANOMALY_MEMORY_SPIKE,
		.severity = SEVERITY_HIGH,
		.news = news,
		.id = { 2417, 99 },
		.comm = "py\xffthon",
		.sheet = 2,
		.began_wall_ns = fx->w.wall_ns,
		.value = 300.0 * MIB,
		.peak = 300.0 * MIB,
		.threshold = 150.0 * MIB,
		.base = 100.0 * MIB,
	};
}

static struct anomaly pressure_of(const struct store_fixture *fx)
{
	return (struct anomaly){
		.seq = 2,
		.kind = ANOMALY_MEMORY_PRESSURE,
		.severity = SEVERITY_CRITICAL,
		.news = ANOMALY_BEGAN,
		.job = -1,
		.began_wall_ns = fx->w.wall_ns,
		.value = 10.0 * MIB,
		.peak = 9.0 * MIB,
		.threshold = 100.0 * MIB,
		.base = 1000.0 * MIB,
	};
}

static void put(struct store_fixture *fx, const struct anomaly *a)
{
	struct err err = { 0 };

	world_tick(&fx->w);
	*(struct anomaly *)world_push(&fx->w.snap.anomalies) = *a;
	if (store_put(fx->st, &fx->w.snap, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_one(const char *dir, const char *where)
{
	char *question = xasprintf("SELECT count(*) FROM anomalies WHERE %s", where);

	if (ask_int(dir, question) != 1)
		fail_msg("not one: %s", where);
	free(question);
}

static void test_anomalies__are_a_row_each_from_begin_to_end(void **state)
{
	struct store_fixture fx = fixture_of(3);
	struct anomaly a = spike_of(&fx, ANOMALY_BEGAN);

	put(&fx, &a);
	assert_one(fx.dir, "anomaly_type = 'memory_spike' AND severity = 'high' AND pid = 2417"
	                   " AND job_id = 'train' AND sheet_num = 2 AND metric_value = 300"
	                   " AND threshold = 150 AND peak = 300 AND ended IS NULL AND recorder = 1"
	                   " AND description LIKE 'memory spike: % 2417 100 → 300 MiB in %'");
	a.news = ANOMALY_SAME;
	a.peak = 333.0 * MIB;
	put(&fx, &a);
	assert_one(fx.dir, "peak = 300"); /* no news is not written */
	a.news = ANOMALY_CHANGED;
	a.severity = SEVERITY_CRITICAL;
	a.peak = 400.0 * MIB;
	put(&fx, &a);
	assert_one(fx.dir, "severity = 'critical' AND peak = 400 AND ended IS NULL");
	a.news = ANOMALY_ENDED;
	a.peak = 500.0 * MIB;
	a.ended_wall_ns = a.began_wall_ns + 24 * NS_PER_S;
	put(&fx, &a);
	assert_one(fx.dir,
	           "metric_value = 300 AND peak = 500 AND abs(ended - timestamp - 24) < 1e-3"
	           " AND description LIKE '%100 → 500 MiB%'");
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM anomalies"), 1);
	fixture_done(&fx);
}

static void test_anomalies__are_stored_whole_when_only_their_end_could_be(void **state)
{
	struct store_fixture fx = fixture_of(4);
	struct anomaly a = spike_of(&fx, ANOMALY_ENDED);

	a.ended_wall_ns = a.began_wall_ns + NS_PER_S;
	put(&fx, &a);
	assert_one(fx.dir, "metric_value = 300 AND abs(ended - timestamp - 1) < 1e-3");
	fixture_done(&fx);
}

static void test_anomalies__end_with_words_between_two_ticks_too(void **state)
{
	struct store_fixture fx = fixture_of(4);
	struct anomaly a = spike_of(&fx, ANOMALY_BEGAN);
	struct err err = { 0 };

	put(&fx, &a);
	a.news = ANOMALY_ENDED;
	a.ended_wall_ns = a.began_wall_ns + NS_PER_S;
	world_tick(&fx.w);
	vec_reset(&fx.w.snap.procs);
	fx.w.snap.events_only = true;
	*(struct anomaly *)world_push(&fx.w.snap.anomalies) = a;
	assert_int_equal(store_put(fx.st, &fx.w.snap, &err), 0);
	assert_one(fx.dir, "ended IS NOT NULL");
	fixture_done(&fx);
}

static int keep(void *self, const struct anomaly_record *a)
{
	struct anomaly_record *kept = self;

	assert_non_null(a->description);
	kept[a->process.pid ? 0 : 1] = *a;
	kept[a->process.pid ? 0 : 1].job_id = a->job_id ? "some" : NULL;
	return 0;
}

static void test_job_anomalies__are_its_processes_and_the_machines(void **state)
{
	struct store_fixture fx = fixture_of(5);
	struct anomaly a = spike_of(&fx, ANOMALY_BEGAN), machine;
	struct anomaly_record got[2] = { 0 };
	struct history *r;
	struct err err = { 0 };

	put(&fx, &a);
	machine = pressure_of(&fx);
	put(&fx, &machine);
	r = open_reader(fx.dir);
	assert_int_equal(history_job_anomalies(r, KEY("train"), 100, keep, got, &err), 2);
	assert_int_equal(got[0].process.pid, 2417);
	assert_int_equal(got[0].process.start_ticks, 99);
	assert_true(got[0].has_job_uid && !got[1].has_job_uid);
	assert_int_equal(got[0].severity, SEVERITY_HIGH);
	assert_int_equal(got[0].sheet, 2);
	assert_int_equal(got[0].ended_ns, 0);
	assert_non_null(got[0].job_id);
	assert_true(got[0].value == 300 && got[0].threshold == 150);
	assert_int_equal(got[1].severity, SEVERITY_CRITICAL);
	assert_null(got[1].job_id);
	assert_true(got[1].peak == 9);
	assert_int_equal(history_job_anomalies(r, KEY("train"), 1, keep, got, &err), 1);
	assert_int_equal(history_job_anomalies(r, KEY("nobody"), 100, keep, got, &err), 0);
	history_close(r);
	fixture_done(&fx);
}

static void test_anomalies__of_a_recorder_that_died_end_with_it(void **state)
{
	struct store_fixture fx = fixture_of(6);
	struct anomaly a = spike_of(&fx, ANOMALY_BEGAN);
	struct world next;
	struct store *st;

	put(&fx, &a);
	run_sql(fx.dir,
	        "INSERT INTO anomaly(id, kind, severity, began) VALUES(999 << 32, 'x', 1, 5);"
	        "INSERT INTO recorder(id, kind, started) VALUES(999, 'run', 4)");
	store_close(fx.st);
	world_init(&next, 7);
	st = world_open(&next, fx.dir); /* which buries number 999 */
	world_put(&next, st);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM anomalies WHERE ended IS NULL"), 0);
	assert_one(fx.dir, "recorder = 999 AND ended = 5 AND severity = 'medium'");
	store_close(st);
	world_done(&next);
	fx.st = NULL;
	fixture_done(&fx);
}

static void retain_all(struct store *st, uint64_t keep_ns, uint64_t wall_ns, uint64_t boot_ns)
{
	const struct store_retention how = { .full_resolution_ns = keep_ns,
		                             .downsampled_ns = keep_ns,
		                             .events_ns = keep_ns };
	struct err err = { 0 };
	bool more = true;

	while (more)
		assert_int_equal(store_retain_step(st, &how, wall_ns, boot_ns, &more, &err), 0);
}

static void test_retain__keeps_anomalies_as_long_as_events(void **state)
{
	struct store_fixture fx = fixture_of(8);
	struct anomaly a = spike_of(&fx, ANOMALY_BEGAN);

	put(&fx, &a);
	retain_all(fx.st, 3600 * NS_PER_S, fx.w.wall_ns + 1800 * NS_PER_S, fx.w.boot_ns);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM anomalies"), 1);
	retain_all(fx.st, 600 * NS_PER_S, fx.w.wall_ns + 1800 * NS_PER_S, fx.w.boot_ns);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM anomalies"), 0);
	fixture_done(&fx);
}

static void test_job_anomalies__are_none_in_an_older_store(void **state)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	char *path = xasprintf("%s/test/fixtures/store/v1.sql", source ? source : ".");
	char *dir = world_dir();
	struct anomaly_record got[2];
	struct buf sql = { 0 };
	struct history *r;
	struct err err = { 0 };

	assert_int_equal(load_file(AT_FDCWD, path, &sql, &err), 0);
	run_sql(dir, sql.at);
	r = open_reader(dir);
	assert_int_equal(history_job_anomalies(r, KEY("train"), 100, keep, got, &err), 0);
	history_close(r);
	buf_done(&sql);
	world_rmdir(dir);
	free(path);
}

RUN_TESTS(TEST(test_anomalies__are_a_row_each_from_begin_to_end),
          TEST(test_anomalies__are_stored_whole_when_only_their_end_could_be),
          TEST(test_anomalies__end_with_words_between_two_ticks_too),
          TEST(test_job_anomalies__are_its_processes_and_the_machines),
          TEST(test_anomalies__of_a_recorder_that_died_end_with_it),
          TEST(test_retain__keeps_anomalies_as_long_as_events),
          TEST(test_job_anomalies__are_none_in_an_older_store))
