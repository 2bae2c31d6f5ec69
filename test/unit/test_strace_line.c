/* SPDX-License-Identifier: MIT */
#include "trace/strace_line.h"

#include <math.h>

#include "check.h"

static struct strace_line parse(const char *text)
{
	struct strace_line line = { 0 };

	assert_true(strace_line_parse(scan_str(text), &line));
	return line;
}

static void test_strace_line__has_call_time_and_failure(void **state)
{
	struct strace_line l = parse(
		"29868 openat(0xffffff9c, 0x7f97d722c0b1, 0x80000, 0) = 0x3 <0.000010>");

	assert_int_equal(l.kind, STRACE_LINE_ENTERED | STRACE_LINE_LEFT);
	assert_true(scan_eq(&l.name, "openat"));
	assert_int_equal(l.ns, 10000);
	assert_false(l.has_failed);
	l = parse(
		"29868 access(0x7f97d722d2a0, 0x4) = -1 ENOENT (No such file or directory) <0.000008>");
	assert_true(l.has_failed);
	assert_int_equal(l.ns, 8000);
	l = parse(
		"7   read(0, 0x7ffc, 0x1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <1.500000>");
	assert_true(l.has_failed);
	assert_int_equal(l.ns, 1500 * NS_PER_MS);
}

static void test_strace_line__pairs_entry_and_return(void **state)
{
	struct strace_line l = parse(
		"29868 wait4(0xffffffff, 0x7ffc70a4f2fc, 0, 0 <unfinished ...>");

	assert_int_equal(l.kind, STRACE_LINE_ENTERED);
	l = parse("29868 <... wait4 resumed>) = 0x74ad <0.000150>");
	assert_int_equal(l.kind, STRACE_LINE_LEFT);
	assert_true(scan_eq(&l.name, "wait4"));
	assert_int_equal(l.ns, 150000);
	l = parse(
		"29868 <... newfstatat resumed>, 0x7ffc70a4f370, 0) = -1 EBADF (Bad file descriptor) <0.000022>");
	assert_true(l.has_failed);
	l = parse("29868 <... pause resumed> <unfinished ...>) = ?");
	assert_int_equal(l.ns, 0);
}

static void test_strace_line__knows_calls_that_never_return(void **state)
{
	assert_int_equal(parse("29868 exit_group(0)                     = ?").kind,
	                 STRACE_LINE_ENTERED | STRACE_LINE_LEFT);
	assert_int_equal(parse("29868 pause( <detached ...>").kind, STRACE_LINE_ENTERED);
	assert_int_equal(parse("29870 execve(0x55, 0x55, 0x55 <pid changed to 29868 ...>").kind,
	                 STRACE_LINE_ENTERED);
}

static void test_strace_line__leaves_out_what_is_no_call(void **state)
{
	struct strace_line l = { .ns = 7 };

	assert_int_equal(parse("29868 +++ exited with 0 +++").kind, 0);
	assert_int_equal(parse("29868 --- stopped by SIGSTOP ---").kind, 0);
	assert_int_equal(parse("29868 ").kind, 0);
	assert_false(strace_line_parse(scan_str(""), &l));
	assert_false(strace_line_parse(scan_str("[ Process PID=7 runs in 32 bit mode. ]"), &l));
	assert_false(strace_line_parse(scan_str("29868 <... resumed>"), &l));
	assert_int_equal(l.ns, 7);
}

static void test_strace_counts__add_up_and_come_by_time(void **state)
{
	struct strace_counts c = { 0 };
	static const char *const lines[] = {
		"1 read(0) = 0 <0.250000>",
		"1 readv(0) = 0 <0.250000>",
		"2 write(0 <unfinished ...>",
		"1 read(0) = -1 EIO (Input/output error) <0.100000>",
		"2 <... write resumed>) = 0x5 <0.400000>",
		"1 exit_group(0) = ?",
	};

	for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
		struct strace_line l = parse(lines[i]);

		strace_counts_add(&c, &l);
	}
	strace_counts_finish(&c);
	assert_int_equal(c.list.len, 4);
	assert_string_equal(c.list.at[0].name, "write");
	assert_int_equal(c.list.at[0].count, 1);
	assert_float_equal(c.list.at[0].time_ratio, 0.4, 1e-9);
	assert_string_equal(c.list.at[1].name, "read");
	assert_int_equal(c.list.at[1].count, 2);
	assert_int_equal(c.list.at[1].errors, 1);
	assert_string_equal(c.list.at[3].name, "exit_group");
	assert_int_equal(c.list.at[3].count, 1);
	strace_counts_done(&c);
}

RUN_TESTS(TEST(test_strace_line__has_call_time_and_failure),
          TEST(test_strace_line__pairs_entry_and_return),
          TEST(test_strace_line__knows_calls_that_never_return),
          TEST(test_strace_line__leaves_out_what_is_no_call),
          TEST(test_strace_counts__add_up_and_come_by_time))
