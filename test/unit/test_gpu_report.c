/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_report.h"

#include <errno.h>
#include <stdio.h>

#include "check.h"

static struct gpu_report made;

static const struct gpu_report *make_report(void)
{
	made = (struct gpu_report){ .verdict = GPU_REPORTED, .gpu_count = 2, .cpu_ns = 5 };
	snprintf(made.text, sizeof made.text, "driver 1");
	snprintf(made.gpus[0].name, sizeof made.gpus[0].name, "one");
	made.gpus[1].index = 1;
	readings_set(&made.gpus[1].r, GPU_POWER, 1500);
	readings_set(&gpu_report_use(&made, 1, 4711)->r, GPU_USE_SM, 3);
	return &made;
}

static void test_gpu_report__comes_out_as_it_went_in(void **state)
{
	static struct gpu_report got;
	struct buf bytes = { 0 };
	struct err err;

	assert_true(gpu_report_encode(make_report(), &bytes));
	assert_int_equal(gpu_report_decode(bytes.at, bytes.len, &got, &err), 0);
	assert_int_equal(got.verdict, GPU_REPORTED);
	assert_string_equal(got.text, "driver 1");
	assert_int_equal(got.cpu_ns, 5);
	assert_int_equal(got.gpu_count, 2);
	assert_string_equal(got.gpus[0].name, "one");
	assert_int_equal(got.gpus[1].r.value[GPU_POWER], 1500);
	assert_int_equal(got.use_count, 1);
	assert_int_equal(got.uses[0].id.pid, 4711);
	assert_int_equal(got.uses[0].job, -1);
	buf_done(&bytes);
}

static void test_gpu_report__fits_the_largest_message(void **state)
{
	struct buf bytes = { 0 };

	made = (struct gpu_report){ .gpu_count = GPUS_MAX };
	for (uint32_t pid = 1; gpu_report_use(&made, 0, pid);)
		pid++;
	assert_int_equal(made.use_count, GPU_USES_MAX);
	assert_true(gpu_report_encode(&made, &bytes));
	assert_true(bytes.len <= sizeof made);
	buf_done(&bytes);
}

static void assert_refused(const struct gpu_report *r)
{
	static struct gpu_report got;
	struct buf bytes = { 0 };
	struct err err = { 0 };

	assert_true(gpu_report_encode(r, &bytes));
	assert_int_equal(gpu_report_decode(bytes.at, bytes.len, &got, &err), -EBADMSG);
	assert_non_null(strstr(err.msg, "helper"));
	buf_done(&bytes);
}

static void test_gpu_report__is_refused_when_it_was_scribbled_over(void **state)
{
	make_report();
	memset(made.gpus[0].uuid, 'x', sizeof made.gpus[0].uuid);
	assert_refused(&made);
	make_report();
	made.gpus[1].r.present = ~UINT64_C(0);
	assert_refused(&made);
	make_report();
	made.uses[0].gpu = 2;
	assert_refused(&made);
	make_report();
	made.uses[0].id.pid = -1;
	assert_refused(&made);
	make_report();
	made.uses[0].r.present = 4;
	assert_refused(&made);
	make_report();
	memset(made.gpus[0].bus, 'x', sizeof made.gpus[0].bus);
	assert_refused(&made);
	make_report();
	made.gpus[0].health.throttle = 1U << GPU_THROTTLE_COUNT;
	assert_refused(&made);
	make_report();
	memset(&made.gpus[1].health.knows_throttle, 0x55, 1);
	assert_refused(&made);
	make_report();
	memset(&made.uses[0].is_partial, 0x55, 1);
	assert_refused(&made);
	make_report();
	made.xid_count = 1;
	made.xids[0].gpu = 2;
	assert_refused(&made);
	made.xid_count = GPU_XIDS_MAX + 1;
	assert_refused(&made);
	make_report();
	made.verdict = (enum gpu_verdict)3;
	assert_refused(&made);
}

static void test_gpu_report__is_refused_at_any_other_length(void **state)
{
	static struct gpu_report got;
	struct buf bytes = { 0 };
	struct err err;

	assert_true(gpu_report_encode(make_report(), &bytes));
	buf_putc(&bytes, 'x');
	for (size_t n = 0; n <= bytes.len; n++) {
		char *exact = malloc(n + 1); /* ASan sees a read past the end */

		memcpy(exact, bytes.at, n);
		exact = realloc(exact, n ? n : 1);
		assert_int_equal(gpu_report_decode(exact, n, &got, &err),
		                 n == bytes.len - 1 ? 0 : -EBADMSG);
		free(exact);
	}
	buf_done(&bytes);
}

static void test_gpu_report_use__takes_pids_only(void **state)
{
	make_report();
	assert_null(gpu_report_use(&made, 0, 0));
	assert_null(gpu_report_use(&made, 0, UINT32_MAX));
	assert_ptr_equal(gpu_report_use(&made, 1, 4711), &made.uses[0]);
	assert_ptr_equal(gpu_report_use(&made, 0, 4711), &made.uses[1]);
}

RUN_TESTS(TEST(test_gpu_report__comes_out_as_it_went_in),
          TEST(test_gpu_report__fits_the_largest_message),
          TEST(test_gpu_report__is_refused_when_it_was_scribbled_over),
          TEST(test_gpu_report__is_refused_at_any_other_length),
          TEST(test_gpu_report_use__takes_pids_only))
