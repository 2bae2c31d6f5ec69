/* SPDX-License-Identifier: MIT */
/* GPUs on their way through the store: in, by views, back, into means, and out. */
#include <math.h>

#include "base/io.h"
#include "history/job_query.h"
#include "store_kit.h"

#define MIB (UINT64_C(1) << 20)

/* Two GPUs: one busy with the first living process, the other lost. */
static void put_gpus(struct world *w, struct store *st, uint64_t percent)
{
	struct err err = { 0 };
	struct gpu_sample *gpu;
	struct gpu_use *use;

	world_tick(w);
	*(struct job_sum *)world_push(&w->snap.sums) = (struct job_sum){ .procs = 1 };
	gpu = world_push(&w->snap.gpus);
	snprintf(gpu->name, sizeof gpu->name, "Fake \xff GPU");
	snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-0");
	readings_set(&gpu->r, GPU_UTIL, percent);
	readings_set(&gpu->r, GPU_MEM_USED, 1024 * MIB + MIB / 2);
	readings_set(&gpu->r, GPU_POWER, 123450);
	gpu = world_push(&w->snap.gpus);
	gpu->index = 3;
	use = world_push(&w->snap.gpu_uses);
	*use = (struct gpu_use){ .id = w->snap.procs.at[0].s.id, .job = -1 };
	readings_set(&use->r, GPU_USE_MEM, 512 * MIB);
	readings_set(&use->r, GPU_USE_SM, 0);
	use = world_push(&w->snap.gpu_uses);
	*use = (struct gpu_use){ .gpu = 1, .id.pid = 7, .has_host_pid = true, .job = -1 };
	use = world_push(&w->snap.gpu_uses);
	*use = (struct gpu_use){ .gpu = 99, .id.pid = 8 }; /* of no GPU */
	if (store_put(st, &w->snap, &err) < 0)
		fail_msg("%s", err.msg);
}

static void assert_text(const char *dir, const char *sql, const char *wanted)
{
	char *question = xasprintf("SELECT (%s) IS '%s'", sql, wanted);

	if (!ask_int(dir, question))
		fail_msg("%s: not %s", sql, wanted);
	free(question);
}

static void test_snapshots__have_gpus_as_arrays(void **state)
{
	struct store_fixture fx = fixture_of(3);

	world_put(&fx.w, fx.st);
	put_gpus(&fx.w, fx.st, 83);
	assert_text(fx.dir, "SELECT group_concat(gpu_count) FROM snapshots", "0,2");
	assert_text(fx.dir, "SELECT gpu_utilization_pct FROM snapshots WHERE id = 1", "[]");
	assert_text(fx.dir, "SELECT gpu_utilization_pct FROM snapshots WHERE id = 2", "[83,null]");
	assert_text(fx.dir, "SELECT gpu_memory_used_mb FROM snapshots WHERE id = 2",
	            "[1024.5,null]");
	assert_text(fx.dir, "SELECT gpu_temperature FROM snapshots WHERE id = 2", "[null,null]");
	assert_text(fx.dir, "SELECT typeof(gpu_temperature) FROM snapshots WHERE id = 2", "text");
	fixture_done(&fx);
}

static void test_gpu_metrics__names_each_gpu_once(void **state)
{
	struct store_fixture fx = fixture_of(4);

	for (int i = 0; i < 5; i++)
		put_gpus(&fx.w, fx.st, 10);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_device"), 2);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_metrics"), 10);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_metrics WHERE gpu_index = 0"
	                                 " AND name LIKE 'Fake%GPU' AND uuid = 'GPU-0'"
	                                 " AND power_w = 123.45 AND temperature_c IS NULL"),
	                 5);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_metrics WHERE gpu_index = 3"
	                                 " AND name IS NULL AND utilization_pct IS NULL"),
	                 5);
	fixture_done(&fx);
}

static void test_gpu_processes__belong_to_their_jobs(void **state)
{
	struct store_fixture fx = fixture_of(5);

	put_gpus(&fx.w, fx.st, 10);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_processes"), 2);
	assert_int_equal(
		ask_int(fx.dir,
	                "SELECT count(*) FROM gpu_processes g JOIN process p ON p.pid = g.pid"
	                " WHERE g.gpu_index = 0 AND g.memory_used_mb = 512 AND g.sm_pct = 0"
	                " AND g.job_id IS (SELECT j.job_id FROM job j WHERE j.id = p.job) AND g.command = p.command"),
		1);
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu_processes WHERE pid IS NULL"
	                                 " AND host_pid = 7 AND gpu_index = 3 AND job_id IS NULL"),
	                 1);
	fixture_done(&fx);
}

static void test_reader_snapshot__has_its_gpus(void **state)
{
	struct store_fixture fx = fixture_of(6);
	struct history_cursor at = { 0 };
	struct snapshot got = { 0 };
	struct err err = { 0 };
	struct history *r;

	put_gpus(&fx.w, fx.st, 83);
	r = open_reader(fx.dir);
	assert_int_equal(history_next_snapshot(r, &at, &got, &err), 1);
	assert_int_equal(got.gpus.len, 2);
	assert_string_equal(got.gpus.at[0].uuid, "GPU-0");
	assert_int_equal(got.gpus.at[0].r.present,
	                 1 << GPU_UTIL | 1 << GPU_MEM_USED | 1 << GPU_POWER);
	assert_int_equal(got.gpus.at[0].r.value[GPU_UTIL], 83);
	assert_int_equal(got.gpus.at[0].r.value[GPU_MEM_USED], 1024 * MIB + MIB / 2);
	assert_int_equal(got.gpus.at[1].index, 3);
	assert_int_equal(got.gpus.at[1].r.present, 0);
	assert_int_equal(got.gpu_uses.len, 2);
	assert_int_equal(got.gpu_uses.at[0].gpu, 0);
	assert_int_equal(got.gpu_uses.at[0].id.pid, got.procs.at[0].s.id.pid);
	assert_int_equal(got.gpu_uses.at[0].job, got.procs.at[0].job);
	assert_true(readings_has(&got.gpu_uses.at[0].r, GPU_USE_SM));
	assert_int_equal(got.gpu_uses.at[1].gpu, 1);
	assert_true(got.gpu_uses.at[1].has_host_pid && got.gpu_uses.at[1].job == -1);
	world_put(&fx.w, fx.st);
	assert_int_equal(history_next_snapshot(r, &at, &got, &err), 1);
	assert_int_equal(got.gpus.len + got.gpu_uses.len, 0);
	snapshot_done(&got);
	history_close(r);
	fixture_done(&fx);
}

static void retain(struct store_fixture *fx, uint64_t downsampled_ns)
{
	struct store_retention keep = { .downsampled_ns = downsampled_ns,
		                        .events_ns = 3600 * NS_PER_S };
	struct err err = { 0 };
	bool more = true;

	while (more)
		assert_int_equal(
			store_retain_step(fx->st, &keep, fx->w.wall_ns, fx->w.boot_ns, &more, &err),
			0);
}

static void test_retention__makes_means_of_gpus_and_forgets_them(void **state)
{
	struct store_fixture fx = fixture_of(7);

	for (uint64_t i = 0; i < 200; i++)
		put_gpus(&fx.w, fx.st, i % 2 ? 20 : 40);
	for (int i = 0; i < 300; i++)
		world_put(&fx.w, fx.st);
	retain(&fx, 3600 * NS_PER_S);
	assert_in_range(ask_int(fx.dir, "SELECT count(*) FROM gpu"), 6, 10); /* two a minute */
	assert_int_equal(ask_int(fx.dir, "SELECT count(*) FROM gpu WHERE snapshot NOT IN"
	                                 " (SELECT id FROM snapshot)"),
	                 0);
	assert_in_range(ask_int(fx.dir, "SELECT avg(utilization_pct) FROM gpu_metrics"), 29, 31);
	assert_int_equal(ask_int(fx.dir, "SELECT min(utilization_pct_min) FROM gpu_metrics"), 20);
	assert_int_equal(ask_int(fx.dir, "SELECT max(utilization_pct_max) FROM gpu_metrics"), 40);
	assert_int_equal(ask_int(fx.dir, "SELECT max(power_w_max * 100) FROM gpu_metrics"), 12345);
	assert_true(ask_int(fx.dir, "SELECT count(*) FROM gpu_processes WHERE sm_pct = 0") > 0);
	assert_in_range(ask_int(fx.dir, "SELECT count(*) FROM gpu_use WHERE is_foreign"), 3, 5);
	retain(&fx, 0);
	assert_int_equal(ask_int(fx.dir, "SELECT (SELECT count(*) FROM gpu)"
	                                 " + (SELECT count(*) FROM gpu_range)"
	                                 " + (SELECT count(*) FROM gpu_use)"),
	                 0);
	fixture_done(&fx);
}

static size_t read_all(const char *dir)
{
	struct history *r = open_reader(dir);
	struct history_cursor at = { 0 };
	struct snapshot got = { 0 };
	struct err err = { 0 };
	size_t n = 0;
	int result;

	while ((result = history_next_snapshot(r, &at, &got, &err)) > 0)
		n++;
	if (result < 0)
		fail_msg("%s", err.msg);
	snapshot_done(&got);
	history_close(r);
	return n;
}

/* It has no GPUs, and processes without the metrics that came later. */
static void test_reader_snapshot__reads_a_store_that_is_older_than_gpus(void **state)
{
	char *dir = world_dir();
	struct world w;
	struct store *st;

	load_fixture(dir, "v1.sql");
	assert_int_equal(read_all(dir), 7);
	world_init(&w, 8);
	st = world_open(&w, dir);
	put_gpus(&w, st, 5);
	store_close(st);
	assert_int_equal(read_all(dir), 8);
	assert_int_equal(ask_int(dir, "SELECT sum(gpu_count) FROM snapshots"), 2);
	world_done(&w);
	world_rmdir(dir);
}

static int keep_gpu(void *self, const struct gpu_record *g)
{
	struct gpu_record *kept = self;

	kept[g->index] = *g;
	kept[g->index].name = g->name ? "named" : NULL;
	return 0;
}

static void test_job_gpus__are_those_of_its_time(void **state)
{
	struct store_fixture fx = fixture_of(9);
	char *path = xasprintf("%s/proctor.db", fx.dir);
	struct gpu_record gpus[4] = { 0 };
	struct history *r = NULL;
	struct err err = { 0 };

	put_gpus(&fx.w, fx.st, 20); /* a mean over time begins with the second */
	put_gpus(&fx.w, fx.st, 10);
	put_gpus(&fx.w, fx.st, 50);
	assert_int_equal(history_open(path, &r, &err), 0);
	assert_int_equal(history_job_gpus(r, KEY("train"), keep_gpu, gpus, &err), 2);
	assert_true(gpus[0].util_mean_ratio > 0.29 && gpus[0].util_mean_ratio < 0.31);
	assert_true(gpus[0].util_max_ratio > 0.49 && gpus[0].util_max_ratio < 0.51);
	assert_true(gpus[0].mem_peak_bytes == 1024.5 * (double)MIB);
	assert_true(gpus[0].power_mean_w > 123.4 && gpus[0].power_mean_w < 123.5);
	assert_true(gpus[0].no_power_s == 0 && gpus[3].no_power_s > 0);
	assert_true(gpus[0].is_used && gpus[0].own_peak_bytes == 512 * (double)MIB);
	assert_true(!gpus[3].is_used && isnan(gpus[3].own_peak_bytes));
	assert_string_equal(gpus[0].name, "named");
	assert_true(isnan(gpus[0].mem_total_bytes));
	assert_true(isnan(gpus[3].util_mean_ratio));
	assert_null(gpus[3].name);
	assert_int_equal(history_job_gpus(r, KEY("nobody"), keep_gpu, gpus, &err), 0);
	history_close(r);
	free(path);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_job_gpus__are_those_of_its_time), TEST(test_snapshots__have_gpus_as_arrays),
          TEST(test_gpu_metrics__names_each_gpu_once),
          TEST(test_gpu_processes__belong_to_their_jobs), TEST(test_reader_snapshot__has_its_gpus),
          TEST(test_retention__makes_means_of_gpus_and_forgets_them),
          TEST(test_reader_snapshot__reads_a_store_that_is_older_than_gpus))
