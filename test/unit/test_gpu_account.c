/* SPDX-License-Identifier: MIT */
#include "job/gpu_account.h"

#include "base/clock.h"
#include "check.h"

#define MIB (UINT64_C(1) << 20)

struct bench {
	struct snapshot snap;
	struct gpu_account a;
	struct job_sum sum;
	struct job job;
};

static struct gpu_sample *put_gpu(struct bench *b, uint32_t index, uint64_t pct, uint64_t held_mib)
{
	struct gpu_sample *gpu = vec_push(&b->snap.gpus, GPUS_MAX);

	*gpu = (struct gpu_sample){ .index = index, .knows_processes = true };
	readings_set(&gpu->r, GPU_UTIL, pct);
	readings_set(&gpu->r, GPU_MEM_USED, held_mib * MIB);
	readings_set(&gpu->r, GPU_MEM_TOTAL, 1000 * MIB);
	return gpu;
}

/* sm < 0: not reported. */
static void add_use(struct bench *b, uint32_t at, uint64_t mib, int sm, bool is_own)
{
	struct gpu_use use = { .gpu = at };

	readings_set(&use.r, GPU_USE_MEM, mib * MIB);
	if (sm >= 0)
		readings_set(&use.r, GPU_USE_SM, (uint64_t)sm);
	gpu_load_add(&b->snap.gpus.at[at].all, &use);
	if (is_own)
		gpu_account_add(&b->a, &b->snap, &use);
}

static void put_use(struct bench *b, uint32_t at, uint64_t mib, int sm)
{
	add_use(b, at, mib, sm, true);
}

/* A process of another job, or of none. */
static void put_other(struct bench *b, uint32_t at, uint64_t mib, int sm)
{
	add_use(b, at, mib, sm, false);
}

static void tick_after_gap(struct bench *b, uint64_t elapsed_ns, uint64_t watched_ns)
{
	b->snap.elapsed_ns = elapsed_ns;
	b->snap.boot_ns += elapsed_ns;
	b->sum = (struct job_sum){ 0 };
	gpu_account_take(&b->a, &b->snap, watched_ns, &b->sum);
	b->job = (struct job){ 0 };
	gpu_account_figures(&b->a, &b->job);
	vec_reset(&b->snap.gpus);
}

static void tick(struct bench *b, uint64_t elapsed_ns)
{
	tick_after_gap(b, elapsed_ns, elapsed_ns);
}

static void done(struct bench *b)
{
	gpu_account_done(&b->a);
	vec_done(&b->snap.gpus);
}

static void assert_figure(const struct bench *b, enum job_figure id, uint64_t value,
                          enum quality quality)
{
	assert_int_equal(b->job.figures[id].quality, quality);
	assert_int_equal(b->job.figures[id].value, value);
}

static void test_gpu_account__weighs_the_load_by_time(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 100, 10);
	put_use(&b, 0, 5, 80);
	tick(&b, NS_PER_S);
	put_gpu(&b, 0, 20, 10);
	put_use(&b, 0, 5, 10);
	tick(&b, 3 * NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL, 400, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL_MAX, 1000, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 1100 * NS_PER_MS, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_SM, 275, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__holds_the_load_of_a_process_for_a_second(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 100, 10);
	put_use(&b, 0, 5, 50);
	tick(&b, NS_PER_S / 2);
	put_gpu(&b, 0, 100, 10);
	put_use(&b, 0, 5, -1); /* no news yet */
	tick(&b, NS_PER_S / 2);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, NS_PER_S / 2, QUALITY_SAMPLED);
	put_gpu(&b, 0, 0, 10);
	put_use(&b, 0, 5, -1); /* it is idle */
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, NS_PER_S / 2, QUALITY_SAMPLED);
	assert_int_equal(b.sum.gpu_sm.value, 0);
	done(&b);
}

static void test_gpu_account__counts_only_gpus_that_the_job_used(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 90, 900);
	put_gpu(&b, 3, 10, 100);
	put_use(&b, 1, 60, 5);
	put_use(&b, 1, 20, 5);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPUS, 1, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL, 100, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_MEMORY, 80 * MIB, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_DEVICE, 100 * MIB, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_DEVICE, 1000 * MIB, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__knows_that_a_job_used_none(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 90, 900);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPUS, 0, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL, 0, QUALITY_MISSING);
	assert_int_equal(b.sum.gpu_util.quality, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__knows_no_own_share_where_processes_are_not_listed(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 90, 900)->knows_processes = false;
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPUS, 0, QUALITY_MISSING);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL, 900, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_DEVICE, 900 * MIB, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_MEMORY, 0, QUALITY_MISSING);
	put_gpu(&b, 0, 90, 900)->knows_processes = false;
	put_use(&b, 0, 60, 5); /* one of them is known: others may be the job's, too */
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_MEMORY, 60 * MIB, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPUS, 1, QUALITY_AT_LEAST);
	done(&b);
}

/* Drivers without counters of their own: what the GPU does is the sum over the processes that can be read. */
static struct gpu_sample *put_summed(struct bench *b, uint64_t pct, uint64_t held_mib)
{
	struct gpu_sample *gpu = put_gpu(b, 0, pct, held_mib);

	gpu->at_least = UINT64_C(1) << GPU_UTIL | UINT64_C(1) << GPU_MEM_USED;
	return gpu;
}

static void test_gpu_account__figures_of_summed_readings_are_lower_bounds(void **state)
{
	struct bench b = { 0 };

	put_summed(&b, 40, 60);
	put_use(&b, 0, 60, 40);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL, 400, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_UTIL_MAX, 400, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_DEVICE, 60 * MIB, QUALITY_AT_LEAST);
	assert_int_equal(b.sum.gpu_util.quality, QUALITY_AT_LEAST);
	assert_int_equal(b.sum.gpu_device_memory.quality, QUALITY_AT_LEAST);
	/* Its own processes can be read, all of them. */
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_MEMORY, 60 * MIB, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 400 * NS_PER_MS, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 400, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__a_process_of_which_a_part_is_read_has_lower_bounds(void **state)
{
	struct gpu_use use = { .is_partial = true };
	struct bench b = { 0 };

	put_summed(&b, 0, 60);
	readings_set(&use.r, GPU_USE_MEM, 60 * MIB);
	readings_set(&use.r, GPU_USE_SM, 0);
	gpu_load_add(&b.snap.gpus.at[0].all, &use);
	gpu_account_add(&b.a, &b.snap, &use);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_PEAK_GPU_MEMORY, 60 * MIB, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 0, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_SM, 0, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 0, QUALITY_AT_LEAST);
	assert_int_equal(b.sum.gpu_memory.quality, QUALITY_AT_LEAST);
	assert_int_equal(b.sum.gpu_sm.quality, QUALITY_AT_LEAST);
	/* What was not read may have run. */
	assert_int_equal(b.job.figures[JOB_FIGURE_GPU_IDLE_HELD].value, 0);
	assert_int_not_equal(b.job.figures[JOB_FIGURE_GPU_IDLE_HELD].quality, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__ignores_a_lost_gpu(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 50, 100);
	put_gpu(&b, 1, 50, 100)->r.present = 0;
	b.snap.gpus.at[1].knows_processes = false;
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPUS, 0, QUALITY_SAMPLED);
	done(&b);
}

#define WATTS(w) ((w)*UINT64_C(1000))

static void put_powered(struct bench *b, uint32_t index, uint64_t pct, uint64_t watts)
{
	struct gpu_sample *gpu = put_gpu(b, index, pct, 500);

	readings_set(&gpu->r, GPU_POWER, WATTS(watts));
}

static void test_gpu_account__divides_the_energy_by_the_load_of_all_processes(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 90, 100);
	put_use(&b, 0, 100, 20);
	put_use(&b, 0, 100, 10);
	put_other(&b, 0, 800, 60);
	tick(&b, 3 * NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 100 * 1000, QUALITY_SAMPLED);
	assert_int_equal(b.sum.gpu_energy.value, 100 * 1000);
	put_powered(&b, 0, 90, 100); /* alone: all of it is its own */
	put_use(&b, 0, 100, 20);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 200 * 1000, QUALITY_SAMPLED);
	put_powered(&b, 0, 90, 100); /* it has left the GPU */
	put_other(&b, 0, 800, 60);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 200 * 1000, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 300, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__divides_the_energy_of_an_idle_gpu_by_memory(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 0, 40);
	put_use(&b, 0, 300, 0);
	put_other(&b, 0, 100, 0);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 30 * 1000, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__adds_up_gpus_and_lacks_the_energy_of_one_without_power(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 50, 100);
	put_powered(&b, 1, 50, 50);
	put_use(&b, 0, 100, 40);
	put_use(&b, 1, 200, 60);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 150 * 1000, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, 2 * NS_PER_S, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 600, QUALITY_SAMPLED);
	put_powered(&b, 0, 50, 100);
	put_gpu(&b, 1, 50, 10);
	put_use(&b, 0, 100, 40);
	put_use(&b, 1, 200, 60);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 250 * 1000, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, 4 * NS_PER_S, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__without_power_there_is_no_energy(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 50, 100);
	put_use(&b, 0, 100, 50);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 0, QUALITY_MISSING);
	assert_int_equal(b.sum.gpu_energy.quality, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__counts_memory_that_is_held_and_not_used(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 80, 100);
	put_use(&b, 0, 100, 80);
	tick(&b, 2 * NS_PER_S);
	put_gpu(&b, 0, 60, 100); /* only the other one runs */
	put_use(&b, 0, 100, -1);
	put_other(&b, 0, 100, 60);
	tick(&b, 3 * NS_PER_S);
	put_gpu(&b, 0, 60, 100); /* nothing is held any more */
	put_other(&b, 0, 100, 60);
	tick(&b, 5 * NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, 5 * NS_PER_S, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 3 * NS_PER_S, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__is_idle_on_a_gpu_on_which_nothing_runs(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 0, 100);
	put_use(&b, 0, 100, -1); /* the driver never reports a load */
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, NS_PER_S, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 0, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 0, QUALITY_SAMPLED);
	put_gpu(&b, 0, 50, 100); /* … so that it is not known whose this is */
	put_use(&b, 0, 100, -1);
	put_other(&b, 0, 100, -1);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 0, QUALITY_MISSING);
	assert_figure(&b, JOB_FIGURE_GPU_SM, 0, QUALITY_MISSING);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 0, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__does_not_know_idle_time_without_loads(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 50, 100);
	put_use(&b, 0, 100, -1);
	put_other(&b, 0, 100, -1);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, NS_PER_S, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 0, QUALITY_MISSING);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 0, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__knows_that_the_only_process_of_a_busy_gpu_runs(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 50, 100);
	put_use(&b, 0, 100, -1);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 0, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 100 * 1000, QUALITY_SAMPLED);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 0, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__stops_to_trust_a_driver_that_reports_no_loads_any_more(void **state)
{
	struct bench b = { 0 };

	put_gpu(&b, 0, 50, 100);
	put_use(&b, 0, 100, 50);
	tick(&b, NS_PER_S);
	for (int i = 0; i < 30; i++) {
		put_gpu(&b, 0, 50, 100);
		put_use(&b, 0, 100, -1);
		put_other(&b, 0, 100, -1);
		tick(&b, NS_PER_S);
	}
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 9 * NS_PER_S, QUALITY_AT_LEAST);
	assert_int_equal(b.job.figures[JOB_FIGURE_GPU_TIME].quality, QUALITY_AT_LEAST);
	assert_int_equal(b.sum.gpu_sm.quality, QUALITY_MISSING);
	done(&b);
}

static void test_gpu_account__counts_no_time_in_which_the_driver_hangs(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 0, 100);
	put_use(&b, 0, 100, 0);
	tick(&b, NS_PER_S);
	put_gpu(&b, 0, 0, 0)->r.present = 0; /* it is listed, and does not answer */
	tick(&b, 60 * NS_PER_S);
	tick(&b, 60 * NS_PER_S); /* nor is it listed */
	put_powered(&b, 0, 0, 100);
	put_use(&b, 0, 100, 0);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, 2 * NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 2 * NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 200 * 1000, QUALITY_AT_LEAST);
	done(&b);
}

static void test_gpu_account__counts_no_time_in_which_no_tick_came(void **state)
{
	struct bench b = { 0 };

	put_powered(&b, 0, 0, 100);
	put_use(&b, 0, 100, 0);
	tick(&b, NS_PER_S);
	put_powered(&b, 0, 0, 100);
	put_use(&b, 0, 100, 0);
	tick_after_gap(&b, 3600 * NS_PER_S, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 2 * NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 200 * 1000, QUALITY_AT_LEAST);
	done(&b);
}

static void test_gpu_account__tolerates_a_late_answer(void **state)
{
	struct bench b = { 0 };

	for (int i = 0; i < 30; i++) {
		struct gpu_sample *gpu = put_gpu(&b, 0, 0, 100);

		if (i == 20)
			gpu->r.present = 0;
		else
			put_use(&b, 0, 100, 0);
		tick(&b, NS_PER_S);
	}
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, 29 * NS_PER_S, QUALITY_SAMPLED);
	done(&b);
}

static void test_gpu_account__goes_on_with_what_was_recorded(void **state)
{
	struct bench before = { 0 }, b = { 0 };

	put_powered(&before, 0, 70, 100);
	put_use(&before, 0, 100, 70);
	tick(&before, 2 * NS_PER_S);
	gpu_account_resume(&b.a, &before.job);
	put_powered(&b, 0, 0, 50);
	put_use(&b, 0, 100, 0);
	tick(&b, NS_PER_S);
	assert_figure(&b, JOB_FIGURE_GPU_ENERGY, 250 * 1000, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_HELD, 3 * NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_IDLE_HELD, NS_PER_S, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_TIME, 1400 * NS_PER_MS, QUALITY_AT_LEAST);
	assert_figure(&b, JOB_FIGURE_GPU_SM_MAX, 700, QUALITY_SAMPLED);
	done(&before);
	done(&b);
}

static void test_gpu_account__without_a_gpu_sets_nothing(void **state)
{
	struct bench b = { 0 };

	tick(&b, NS_PER_S);
	for (enum job_figure i = 0; i < JOB_FIGURE_COUNT; i++)
		assert_int_equal(b.job.figures[i].quality, QUALITY_MISSING);
	done(&b);
}

RUN_TESTS(TEST(test_gpu_account__weighs_the_load_by_time),
          TEST(test_gpu_account__holds_the_load_of_a_process_for_a_second),
          TEST(test_gpu_account__counts_only_gpus_that_the_job_used),
          TEST(test_gpu_account__knows_that_a_job_used_none),
          TEST(test_gpu_account__knows_no_own_share_where_processes_are_not_listed),
          TEST(test_gpu_account__figures_of_summed_readings_are_lower_bounds),
          TEST(test_gpu_account__a_process_of_which_a_part_is_read_has_lower_bounds),
          TEST(test_gpu_account__ignores_a_lost_gpu),
          TEST(test_gpu_account__divides_the_energy_by_the_load_of_all_processes),
          TEST(test_gpu_account__divides_the_energy_of_an_idle_gpu_by_memory),
          TEST(test_gpu_account__adds_up_gpus_and_lacks_the_energy_of_one_without_power),
          TEST(test_gpu_account__without_power_there_is_no_energy),
          TEST(test_gpu_account__counts_memory_that_is_held_and_not_used),
          TEST(test_gpu_account__is_idle_on_a_gpu_on_which_nothing_runs),
          TEST(test_gpu_account__does_not_know_idle_time_without_loads),
          TEST(test_gpu_account__knows_that_the_only_process_of_a_busy_gpu_runs),
          TEST(test_gpu_account__stops_to_trust_a_driver_that_reports_no_loads_any_more),
          TEST(test_gpu_account__counts_no_time_in_which_the_driver_hangs),
          TEST(test_gpu_account__counts_no_time_in_which_no_tick_came),
          TEST(test_gpu_account__tolerates_a_late_answer),
          TEST(test_gpu_account__goes_on_with_what_was_recorded),
          TEST(test_gpu_account__without_a_gpu_sets_nothing))
