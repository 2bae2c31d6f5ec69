/* SPDX-License-Identifier: MIT */
#include "trace/strace_line.h"

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
	assert_int_equal(scan_left(&l.error), 0);
	assert_int_equal(l.result, 3);
	assert_int_equal(l.tid, 29868);
	l = parse(
		"29868 access(0x7f97d722d2a0, 0x4) = -1 ENOENT (No such file or directory) <0.000008>");
	assert_true(scan_eq(&l.error, "ENOENT"));
	assert_int_equal(l.ns, 8000);
	l = parse(
		"7   read(0, 0x7ffc, 0x1) = ? ERESTARTSYS (To be restarted if SA_RESTART is set) <1.500000>");
	assert_true(scan_eq(&l.error, "ERESTARTSYS"));
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
	assert_true(scan_eq(&l.error, "EBADF"));
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

	assert_int_equal(parse("29868 +++ something else +++").kind, 0);
	assert_int_equal(parse("29868 --- stopped by SIGSTOP ---").kind, 0);
	assert_int_equal(parse("29868 ").kind, 0);
	assert_false(strace_line_parse(scan_str(""), &l));
	assert_false(strace_line_parse(scan_str("[ Process PID=7 runs in 32 bit mode. ]"), &l));
	assert_false(strace_line_parse(scan_str("29868 <... resumed>"), &l));
	assert_int_equal(l.ns, 7);
}

static void test_strace_line__has_the_time_of_day(void **state)
{
	struct strace_line l = parse("7 1794961175.694432 getppid()       = 0x70e8 <0.000008>");

	(void)state;
	assert_int_equal(l.at_ns, 1794961175694432000);
	assert_int_equal(l.result, 0x70e8);
	l = parse("7 1794961175.694432 +++ killed by SIGSEGV (core dumped) +++");
	assert_int_equal(l.kind, STRACE_LINE_ENDED);
	assert_int_equal(l.at_ns, 1794961175694432000);
	l = parse("7 1794961175.694432 +++ superseded by execve in pid 9 +++");
	assert_int_equal(l.kind, STRACE_LINE_SUPERSEDED);
	assert_int_equal(l.other, 9);
}

static void test_strace_line__distinguishes_threads_from_processes(void **state)
{
	(void)state;
	assert_true(parse("7 clone3({flags=CLONE_VM|CLONE_FS|CLONE_THREAD|CLONE_SYSVSEM, child_tid=0x7f} "
	                  "=> {parent_tid=[12]}, 88) = 12 <0.000053>")
	                    .makes_thread);
	assert_false(parse("7 clone3({flags=CLONE_VM|CLONE_VFORK, exit_signal=SIGCHLD}, 88 <unfinished ...>")
	                     .makes_thread);
	assert_true(parse("7 clone(0x3d0f00, 0x7f, 0x7f, 0x7f, 0x7f <unfinished ...>").makes_thread);
	assert_false(parse("7 clone(0x1200011, 0, 0, 0x7f, 0) = 0x9 <0.000053>").makes_thread);
	assert_false(parse("7 read(0x10000, 0x10000, 0x10000) = 0 <0.000053>").makes_thread);
}

RUN_TESTS(TEST(test_strace_line__has_call_time_and_failure),
          TEST(test_strace_line__pairs_entry_and_return),
          TEST(test_strace_line__knows_calls_that_never_return),
          TEST(test_strace_line__leaves_out_what_is_no_call),
          TEST(test_strace_line__has_the_time_of_day),
          TEST(test_strace_line__distinguishes_threads_from_processes))
