/* SPDX-License-Identifier: MIT */
#include "report/next_request.h"

#include "check.h"
#include "model_kit.h"

#define MIB (UINT64_C(1) << 20)

static struct type_estimate learned(uint64_t wanted_mib, uint64_t largest_mib)
{
	struct type_estimate e = { .runs = 3, .memory = { .runs = 3 } };

	e.memory.value = (double)(wanted_mib * MIB);
	e.memory.quantiles[ESTIMATE_QUANTILES - 1] = (double)(largest_mib * MIB);
	return e;
}

static struct job oom_job(uint64_t limit_mib)
{
	struct job job = kit_good_job();

	job.status = JOB_FAILED;
	job.cause.oom = CAUSE_PROOF_PROVEN;
	job.cause.oom_limit_bytes = limit_mib * MIB;
	return job;
}

static void test_next_request__is_a_round_size_above_the_estimate(void **state)
{
	static const struct {
		uint64_t wanted, largest, expected;
	} cases[] = { { 100, 90, 128 },    { 128, 90, 192 },    { 500, 480, 512 },
		      { 2000, 1900, 2048 }, { 2100, 2000, 3072 }, { 100, 500, 512 } };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct type_estimate e = learned(cases[i].wanted, cases[i].largest);
		struct job job = kit_good_job();
		struct next_request next = next_request_of(&job, &e);

		assert_int_equal(next.memory_bytes, cases[i].expected * MIB);
		assert_int_equal(next.largest_bytes, cases[i].largest * MIB);
		assert_int_equal(next.runs, 3);
	}
}

static void test_next_request__after_running_out_is_what_other_runs_needed(void **state)
{
	struct type_estimate e = learned(478, 415);
	struct job job = oom_job(100);

	assert_int_equal(next_request_of(&job, &e).memory_bytes, 512 * MIB);
}

static void test_next_request__doubles_a_limit_that_no_run_went_beyond(void **state)
{
	struct type_estimate e = learned(115, 100), none = { 0 };
	struct job job = oom_job(100);

	assert_int_equal(next_request_of(&job, &e).memory_bytes, 256 * MIB);
	assert_int_equal(next_request_of(&job, &none).memory_bytes, 256 * MIB);
}

static void test_next_request__is_not_known_without_runs(void **state)
{
	struct type_estimate none = { 0 };
	struct type_estimate processes = learned(100, 90);
	struct job job = kit_good_job();

	processes.basis = RUN_BASIS_PROCESS; /* the largest process is not the whole job */
	assert_int_equal(next_request_of(&job, &none).memory_bytes, 0);
	assert_int_equal(next_request_of(&job, &processes).memory_bytes, 0);
}

RUN_TESTS(TEST(test_next_request__is_a_round_size_above_the_estimate),
          TEST(test_next_request__after_running_out_is_what_other_runs_needed),
          TEST(test_next_request__doubles_a_limit_that_no_run_went_beyond),
          TEST(test_next_request__is_not_known_without_runs))
