/* SPDX-License-Identifier: MIT */
/* GPUs from sample to snapshot to JSON. */
#include <jansson.h>

#include "check.h"
#include "model_kit.h"
#include "model/snapshot_json.h"

#define MIB (UINT64_C(1) << 20)

struct fixture {
	struct sample cur;
	struct job_roster jobs;
	struct snapshot snap;
};

static void use(struct sample *s, uint32_t gpu, struct proc_id id, uint64_t bytes)
{
	struct gpu_use *u = vec_push(&s->gpu_uses, GPU_USES_MAX);

	u->gpu = gpu;
	u->id = id;
	readings_set(&u->r, GPU_USE_MEM, bytes);
}

/* Two GPUs, the second of which does not answer; a process of a job and one of nobody. */
static struct fixture fixture_of(bool jobs_only)
{
	struct fixture fx = { .cur = kit_sample(NS_PER_S) };
	struct gpu_sample *gpu = vec_push(&fx.cur.gpus, GPUS_MAX);
	struct proc_sample *p = kit_proc(&fx.cur, 10, 500);
	int32_t job = job_roster_add(&fx.jobs, "train-1", "train", WALL0_NS);

	snprintf(gpu->name, sizeof gpu->name, "NVIDIA A100-SXM4-40GB");
	snprintf(gpu->uuid, sizeof gpu->uuid, "GPU-5d1f");
	readings_set(&gpu->r, GPU_UTIL, 83);
	readings_set(&gpu->r, GPU_MEM_USED, 1234 * MIB);
	readings_set(&gpu->r, GPU_POWER, 231450);
	vec_push(&fx.cur.gpus, GPUS_MAX)->index = 1;
	readings_set(&p->r, PROC_GPU_MEM, 1000 * MIB);
	kit_proc(&fx.cur, 11, 600);
	use(&fx.cur, 0, p->id, 1000 * MIB);
	use(&fx.cur, 0, (struct proc_id){ 11, 600 }, 200 * MIB);
	use(&fx.cur, 1, (struct proc_id){ 10, 0 }, MIB);
	fx.cur.gpu_uses.at[2].has_host_pid = true;
	use(&fx.cur, 7, p->id, MIB); /* a GPU that is not there */
	job_roster_assign(&fx.jobs, p->id, (struct job_ref){ job, 3 });
	snapshot_build(NULL, &fx.cur, &fx.jobs,
	               &(struct snapshot_origin){
			       .seq = 1, .started_boot_ns = T0_NS, .jobs_only = jobs_only },
	               &fx.snap);
	return fx;
}

static void fixture_done(struct fixture *fx)
{
	sample_done(&fx->cur);
	job_roster_done(&fx->jobs);
	snapshot_done(&fx->snap);
}

static void test_snapshot__gives_what_processes_hold_on_gpus_to_their_job(void **state)
{
	struct fixture fx = fixture_of(false);

	assert_int_equal(fx.snap.gpus.len, 2);
	assert_int_equal(fx.snap.gpus.at[0].r.value[GPU_UTIL], 83);
	assert_int_equal(fx.snap.gpus.at[1].r.present, 0);
	assert_int_equal(fx.snap.gpu_uses.len, 3);
	assert_int_equal(fx.snap.gpu_uses.at[0].job, 0);
	assert_int_equal(fx.snap.gpu_uses.at[0].sheet, 3);
	assert_int_equal(fx.snap.gpu_uses.at[1].job, -1);
	assert_int_equal(fx.snap.gpu_uses.at[2].job, -1); /* a host's number is not our pid */
	fixture_done(&fx);
}

static void test_snapshot__leaves_other_gpu_processes_out_when_only_jobs_are_asked_for(void **state)
{
	struct fixture fx = fixture_of(true);

	assert_int_equal(fx.snap.gpus.len, 2);
	assert_int_equal(fx.snap.gpu_uses.len, 1);
	assert_int_equal(fx.snap.gpu_uses.at[0].id.pid, 10);
	assert_int_equal(fx.snap.gpus.at[0].all.uses, 2); /* what they take is known all the same */
	assert_true(fx.snap.gpus.at[0].all.memory_bytes >
	            fx.snap.gpu_uses.at[0].r.value[GPU_USE_MEM]);
	fixture_done(&fx);
}

static void test_snapshot__forgets_gpus_when_its_memory_is_used_again(void **state)
{
	struct fixture fx = fixture_of(false);
	struct sample empty = kit_sample(2 * NS_PER_S);

	kit_build(NULL, &empty, &fx.snap);
	assert_int_equal(fx.snap.gpus.len + fx.snap.gpu_uses.len, 0);
	sample_reset(&fx.cur);
	assert_int_equal(fx.cur.gpus.len + fx.cur.gpu_uses.len, 0);
	fixture_done(&fx);
}

static void test_snapshot_json__has_null_for_what_gpus_do_not_report(void **state)
{
	struct fixture fx = fixture_of(false);
	struct buf out = { 0 };
	json_t *root, *gpus, *first, *second, *uses;

	snapshot_json(&(struct json){ .out = &out }, &fx.snap, NULL);
	root = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	gpus = json_object_get(root, "gpus");
	first = json_array_get(gpus, 0);
	second = json_array_get(gpus, 1);
	assert_int_equal(json_integer_value(json_object_get(first, "index")), 0);
	assert_string_equal(json_string_value(json_object_get(first, "name")),
	                    "NVIDIA A100-SXM4-40GB");
	assert_int_equal(json_integer_value(json_object_get(first, "utilization_pct")), 83);
	assert_true(json_number_value(json_object_get(first, "power_w")) == 231.45);
	assert_true(json_is_null(json_object_get(first, "temperature_c")));
	assert_true(json_is_null(json_object_get(second, "name")));
	for (size_t i = 0; i < GPU_METRIC_COUNT; i++)
		assert_true(json_is_null(json_object_get(second, gpu_metrics[i].key)));
	uses = json_object_get(first, "processes");
	assert_int_equal(json_array_size(uses), 2);
	assert_string_equal(json_string_value(json_object_get(json_array_get(uses, 0), "job_id")),
	                    "train-1");
	assert_true(json_is_null(json_object_get(json_array_get(uses, 0), "sm_pct")));
	uses = json_object_get(second, "processes");
	assert_true(json_is_null(json_object_get(json_array_get(uses, 0), "pid")));
	assert_int_equal(json_integer_value(json_object_get(json_array_get(uses, 0), "host_pid")),
	                 10);
	json_decref(root);
	buf_done(&out);
	fixture_done(&fx);
}

static const char *const health_keys[] = { "throttle", "ecc_uncorrected", "at_least",
	                                   "parent_index", "bus" };

static void test_snapshot_json__has_health_bounds_and_parents_where_they_are_known(void **state)
{
	struct fixture fx = fixture_of(false);
	struct gpu_sample *gpu = &fx.snap.gpus.at[1];
	struct buf out = { 0 };
	json_t *root, *first, *second;

	gpu->is_part = true;
	gpu->health = (struct gpu_health){ .knows_throttle = true,
		                           .throttle = 1U << GPU_THROTTLE_SW_THERMAL,
		                           .knows_uncorrected = true };
	snprintf(gpu->bus, sizeof gpu->bus, "0000:0b:00.0");
	readings_set(&gpu->r, GPU_UTIL, 5);
	gpu->at_least = UINT64_C(1) << GPU_UTIL | UINT64_C(1) << GPU_POWER; /* which is absent */
	snapshot_json(&(struct json){ .out = &out }, &fx.snap, NULL);
	root = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(root);
	first = json_array_get(json_object_get(root, "gpus"), 0);
	second = json_array_get(json_object_get(root, "gpus"), 1);
	for (size_t i = 0; i < ARRAY_LEN(health_keys); i++) {
		assert_null(json_object_get(first, health_keys[i]));
		assert_non_null(json_object_get(second, health_keys[i]));
	}
	assert_null(json_object_get(second, "ecc_corrected")); /* not known, not 0 */
	assert_int_equal(json_array_size(json_object_get(second, "at_least")), 1);
	assert_string_equal(
		json_string_value(json_array_get(json_object_get(second, "throttle"), 0)),
		"sw_thermal");
	json_decref(root);
	buf_done(&out);
	fixture_done(&fx);
}

static void add_gpu_event(struct sample *s, uint32_t gpu)
{
	struct event *e = sample_add_event(s, EVENT_GPU);

	e->boot_ns = s->boot_ns;
	e->gpu = gpu;
}

/* Two jobs on the first GPU, of which one was there a tick ago only; nobody on the second. */
static void test_snapshot__gives_what_happens_to_a_gpu_to_each_job_on_it(void **state)
{
	struct sample before = kit_sample(NS_PER_S), now = kit_sample(2 * NS_PER_S);
	struct job_roster jobs = { 0 };
	struct snapshot snap = { 0 };
	struct sample *both[] = { &before, &now };

	for (int32_t i = 0; i < 3; i++) {
		char id[16];

		snprintf(id, sizeof id, "job-%d", i);
		job_roster_assign(
			&jobs, (struct proc_id){ 10 + i, 500 },
			(struct job_ref){ job_roster_add(&jobs, id, "train", WALL0_NS), 0 });
	}
	for (size_t i = 0; i < 2; i++) {
		(void)vec_push(&both[i]->gpus, GPUS_MAX);
		vec_push(&both[i]->gpus, GPUS_MAX)->index = 1;
	}
	use(&before, 0, (struct proc_id){ 10, 500 }, MIB);
	use(&now, 0, (struct proc_id){ 12, 500 }, MIB);
	add_gpu_event(&now, 0);
	add_gpu_event(&now, 1);
	snapshot_build(&before, &now, &jobs,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS }, &snap);
	assert_int_equal(snap.events.len, 3);
	for (size_t i = 0, of_jobs = 0; i < 3; i++) {
		const struct event *e = &snap.events.at[i];

		if (e->gpu == 1)
			assert_int_equal(e->job, -1);
		else
			assert_int_equal(e->job, of_jobs++ ? 2 : 0);
	}
	snapshot_build(
		&before, &now, &jobs,
		&(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS, .jobs_only = true },
		&snap);
	assert_int_equal(snap.events.len, 3); /* the second may be theirs, for all we know */
	now.gpus.at[1].knows_processes = true;
	snapshot_build(
		&before, &now, &jobs,
		&(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS, .jobs_only = true },
		&snap);
	assert_int_equal(snap.events.len, 2);
	sample_done(&before);
	sample_done(&now);
	job_roster_done(&jobs);
	snapshot_done(&snap);
}

static void test_gpu_throttle_words__fit_their_place(void **state)
{
	char words[200], few[12];

	gpu_throttle_words(0, words, sizeof words);
	assert_string_equal(words, "");
	gpu_throttle_words((1U << GPU_THROTTLE_COUNT) - 1, words, sizeof words);
	assert_non_null(strstr(words, "power limit, "));
	assert_true(strlen(words) < sizeof words - 1);
	gpu_throttle_words(3, few, sizeof few);
	assert_string_equal(few, "power limit");
}

RUN_TESTS(TEST(test_snapshot_json__has_health_bounds_and_parents_where_they_are_known),
          TEST(test_snapshot__gives_what_happens_to_a_gpu_to_each_job_on_it),
          TEST(test_gpu_throttle_words__fit_their_place),
          TEST(test_snapshot__gives_what_processes_hold_on_gpus_to_their_job),
          TEST(test_snapshot__leaves_other_gpu_processes_out_when_only_jobs_are_asked_for),
          TEST(test_snapshot__forgets_gpus_when_its_memory_is_used_again),
          TEST(test_snapshot_json__has_null_for_what_gpus_do_not_report))
