/* SPDX-License-Identifier: MIT */
#include "trace/strace_summary.h"

#include <math.h>

#include "check.h"

static const char table[] = "    seconds     calls syscall             errors\n"
			    "----------- --------- ---------------- ---------\n"
			    "   0.750000         6 wait4                    3\n"
			    "   0.200000         1 clock_nanosleep           \n"
			    "   0.050000       101 openat                  43\n"
			    "   0.000000         4 syscall_0x3e7           4\n"
			    "----------- --------- ---------------- ---------\n"
			    "   1.000000       112 total                   50\n";

static void test_strace_summary__has_a_record_for_each_call(void **state)
{
	struct syscall_record calls[8];

	assert_int_equal(strace_summary_parse(scan_str(table), calls, 8), 4);
	assert_string_equal(calls[0].name, "wait4");
	assert_int_equal(calls[0].count, 6);
	assert_int_equal(calls[0].errors, 3);
	assert_int_equal(calls[0].ns, 750 * NS_PER_MS);
	assert_float_equal(calls[0].time_ratio, 0.75, 1e-9);
	assert_string_equal(calls[1].name, "clock_nanosleep");
	assert_int_equal(calls[1].errors, 0);
	assert_string_equal(calls[3].name, "syscall_0x3e7");
}

static void test_strace_summary__takes_no_more_than_there_is_room_for(void **state)
{
	struct syscall_record calls[2];

	assert_int_equal(strace_summary_parse(scan_str(table), calls, 2), 2);
	assert_int_equal(strace_summary_parse(scan_str(""), calls, 2), 0);
	assert_int_equal(strace_summary_parse(scan_str("   0.000000         4 brk\n"), calls, 2),
	                 1);
	assert_true(isnan(calls[0].time_ratio));
}

static void test_strace_summary__cuts_a_name_that_is_too_long(void **state)
{
	struct syscall_record call;
	char line[200];

	snprintf(line, sizeof line, " 1.5 2 %0*d 3\n", 100, 0);
	assert_int_equal(strace_summary_parse(scan_str(line), &call, 1), 1);
	assert_int_equal(strlen(call.name), SYSCALL_NAME_MAX - 1);
	assert_int_equal(call.errors, 3);
}

RUN_TESTS(TEST(test_strace_summary__has_a_record_for_each_call),
          TEST(test_strace_summary__takes_no_more_than_there_is_room_for),
          TEST(test_strace_summary__cuts_a_name_that_is_too_long))
