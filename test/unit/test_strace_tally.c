/* SPDX-License-Identifier: MIT */
#include "trace/strace_tally.h"

#include <string.h>

#include "base/clock.h"
#include "check.h"

struct sought {
	const char *name, *error;
	pid_t pid; /* 0: any */
	uint64_t count, ns;
};

static void add_sought(void *self, pid_t pid, const struct syscall_count *c)
{
	struct sought *s = self;
	char name[SYSCALL_NAME_MAX], error[SYSCALL_ERROR_MAX] = "";

	syscall_name(c->call, name);
	if (c->error)
		syscall_error_name(c->error, error);
	if (strcmp(name, s->name) != 0 || strcmp(error, s->error ? s->error : "") != 0 ||
	    (s->pid && s->pid != pid))
		return;
	s->count += c->count;
	s->ns += c->ns;
}

static void read_lines(struct strace_tally *t, const char *text)
{
	struct scan left = scan_str(text), line;

	while (scan_line(&left, &line))
		strace_tally_line(t, line);
}

/* What these lines add up to for one call of one process. */
static struct sought tally(const char *lines, struct sought sought)
{
	struct strace_tally t = { 0 };

	read_lines(&t, lines);
	strace_tally_take(&t, 0, add_sought, &sought);
	strace_tally_done(&t);
	return sought;
}

static void test_tally__counts_calls_time_and_errors(void **state)
{
	static const char lines[] = "1 read(0) = 0 <0.250000>\n"
				    "2 write(0 <unfinished ...>\n"
				    "1 read(0) = -1 EIO (Input/output error) <0.100000>\n"
				    "1 readv(0) = 0 <0.250000>\n"
				    "2 <... write resumed>) = 0x5 <0.400000>\n"
				    "1 syscall_0x3e7(0) = -1 ENOSYS (Function not implemented) <0.1>\n"
				    "1 exit_group(0) = ?\n";
	struct sought s = tally(lines, (struct sought){ "read", .pid = 1 });

	(void)state;
	assert_int_equal(s.count, 2);
	assert_int_equal(s.ns, 350 * NS_PER_MS);
	assert_int_equal(tally(lines, (struct sought){ "read", "EIO" }).count, 1);
	assert_int_equal(tally(lines, (struct sought){ "write", .pid = 2 }).count, 1);
	assert_int_equal(tally(lines, (struct sought){ "write", .pid = 1 }).count, 0);
	assert_int_equal(tally(lines, (struct sought){ "syscall_999", "ENOSYS" }).count, 1);
	assert_int_equal(tally(lines, (struct sought){ "exit_group" }).count, 1);
}

static void test_tally__counts_from_the_program_on(void **state)
{
	struct strace_tally t = { 0 };
	struct sought execs = { "execve" }, all = { "read" };

	(void)state;
	strace_tally_add(&t, 7, true);
	read_lines(&t, "7 <... read resumed>) = 0x1 <0.1>\n"
	               "7 read(0) = 0 <0.1>\n"
	               "7 execve(0x1, 0x2, 0x3) = -1 ENOENT (No such file or directory) <0.1>\n"
	               "7 execve(0x1, 0x2, 0x3 <unfinished ...>\n"
	               "7 <... execve resumed>) = 0 <0.1>\n"
	               "7 read(0) = 0 <0.1>\n");
	strace_tally_take(&t, 0, add_sought, &execs);
	assert_int_equal(execs.count, 1);
	read_lines(&t, "7 read(0) = 0 <0.1>\n");
	strace_tally_take(&t, 0, add_sought, &all);
	assert_int_equal(all.count, 1); /* since it was taken last */
	strace_tally_done(&t);
}

static void test_tally__gives_the_calls_of_threads_to_their_process(void **state)
{
	static const char thread_first[] =
		"7 clone3({flags=CLONE_VM|CLONE_THREAD, child_tid=0x7f}, 88 <unfinished ...>\n"
		"8 getppid() = 0x1 <0.1>\n"
		"7 <... clone3 resumed> => {parent_tid=[8]}, 88) = 8 <0.1>\n"
		"8 getppid() = 0x1 <0.1>\n"
		"8 clone(0x10000, 0x7f) = 0x9 <0.1>\n"
		"9 getppid() = 0x1 <0.1>\n"
		"9 +++ exited with 0 +++\n";
	static const char process[] = "7 vfork( <unfinished ...>\n"
				      "8 getppid() = 0x1 <0.1>\n"
				      "8 +++ exited with 0 +++\n"
				      "7 <... vfork resumed>) = 0x8 <0.1>\n";

	(void)state;
	assert_int_equal(tally(thread_first, (struct sought){ "getppid", .pid = 7 }).count, 3);
	assert_int_equal(tally(process, (struct sought){ "getppid", .pid = 8 }).count, 1);
	assert_int_equal(tally(process, (struct sought){ "vfork", .pid = 7 }).count, 1);
}

static void test_tally__counts_an_exec_by_a_thread_once(void **state)
{
	static const char lines[] =
		"7 clone(0x10000, 0x7f) = 0x8 <0.1>\n"
		"7 pause( <unfinished ...>\n"
		"8 execve(0x55, 0x55, 0x55 <pid changed to 7 ...>\n"
		"7 +++ superseded by execve in pid 8 +++\n"
		"7 <... execve resumed>) = 0 <0.2>\n"
		"7 exit_group(0) = ?\n"
		"7 +++ exited with 0 +++\n";
	struct sought s = tally(lines, (struct sought){ "execve", .pid = 7 });

	(void)state;
	assert_int_equal(s.count, 1);
	assert_int_equal(s.ns, 200 * NS_PER_MS);
	assert_int_equal(tally(lines, (struct sought){ "pause", .pid = 7 }).count, 1);
	assert_int_equal(tally(lines, (struct sought){ "exit_group", .pid = 7 }).count, 1);
}

static void test_tally__has_the_time_of_calls_that_have_not_returned(void **state)
{
	struct strace_tally t = { 0 };
	struct sought s = { "pause" };

	(void)state;
	read_lines(&t, "7 100.000000 pause( <unfinished ...>\n");
	strace_tally_take(&t, 103 * NS_PER_S, add_sought, &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.ns, 3 * NS_PER_S);
	read_lines(&t, "7 105.000000 <... pause resumed>) = ? <unfinished ...>\n"
	               "7 105.000000 +++ killed by SIGKILL +++\n");
	strace_tally_take(&t, 109 * NS_PER_S, add_sought, &s);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.ns, 5 * NS_PER_S);
	strace_tally_done(&t);
}

static void test_tally__counts_a_call_once_whose_line_it_has_peeked_at(void **state)
{
	static const char line[] = "7 100.000000 nanosleep(0x7ffc, 0) = 0 <5.000000>";
	struct strace_tally t = { 0 };
	struct sought s = { "nanosleep" };

	(void)state;
	for (size_t len = 0; len < sizeof line; len++)
		strace_tally_peek(&t, scan_mem(line, len));
	strace_tally_take(&t, 103 * NS_PER_S, add_sought, &s);
	assert_int_equal(s.count, 0);
	assert_int_equal(s.ns, 3 * NS_PER_S);
	read_lines(&t, line);
	strace_tally_take(&t, 109 * NS_PER_S, add_sought, &s);
	assert_int_equal(s.count, 1);
	assert_int_equal(s.ns, 5 * NS_PER_S);
	strace_tally_done(&t);
}

static void test_tally__counts_a_call_in_which_its_thread_is_killed(void **state)
{
	struct sought s = tally("7 100.000000 pause( <unfinished ...>\n"
	                        "7 105.000000 +++ killed by SIGKILL +++\n",
	                        (struct sought){ "pause" });

	(void)state;
	assert_int_equal(s.count, 1);
	assert_int_equal(s.ns, 5 * NS_PER_S);
}

RUN_TESTS(TEST(test_tally__counts_calls_time_and_errors),
          TEST(test_tally__counts_from_the_program_on),
          TEST(test_tally__gives_the_calls_of_threads_to_their_process),
          TEST(test_tally__counts_an_exec_by_a_thread_once),
          TEST(test_tally__has_the_time_of_calls_that_have_not_returned),
          TEST(test_tally__counts_a_call_once_whose_line_it_has_peeked_at),
          TEST(test_tally__counts_a_call_in_which_its_thread_is_killed))
