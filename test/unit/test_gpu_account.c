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

static void put_use(struct bench *b, uint32_t at, uint64_t mib, int sm)
{
	struct gpu_use use = { .gpu = at };

	readings_set(&use.r, GPU_USE_MEM, mib * MIB);
	if (sm >= 0)
		readings_set(&use.r, GPU_USE_SM, (uint64_t)sm);
	gpu_account_add(&b->a, &b->snap, &use);
}

static void tick(struct bench *b, uint64_t elapsed_ns)
{
	b->snap.elapsed_ns = elapsed_ns;
	b->snap.boot_ns += elapsed_ns;
	b->sum = (struct job_sum){ 0 };
	gpu_account_take(&b->a, &b->snap, &b->sum);
	b->job = (struct job){ 0 };
	gpu_account_figures(&b->a, &b->job);
	vec_reset(&b->snap.gpus);
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
          TEST(test_gpu_account__ignores_a_lost_gpu),
          TEST(test_gpu_account__without_a_gpu_sets_nothing))
