/* SPDX-License-Identifier: MIT */
#include "kernel/ptrace_access.h"

#include <linux/capability.h>

#include "fake_machine.h"

#define STATUS(state, tracer, uids, gids, caps)                                                    \
	"Name:\tsleep\nUmask:\t0022\nState:\t" state "\nTgid:\t4711\nNgid:\t0\nPid:\t4711\n"       \
	"PPid:\t4000\nTracerPid:\t" tracer "\nUid:\t" uids "\nGid:\t" gids                         \
	"\nFDSize:\t64\nVmPeak:\t    5460 kB\nVmSize:\t    5460 kB\nCapInh:\t0000000000000000\n"   \
	"CapPrm:\t" caps "\nCapEff:\t" caps "\n"
#define NO_CAPS "0000000000000000"
#define USER "1000\t1000\t1000\t1000"
#define PLAIN STATUS("S (sleeping)", "0", USER, USER, NO_CAPS)

static const struct ptrace_caller user = { .uid = 1000, .gid = 1000 };
static const struct ptrace_caller root = { .capabilities = UINT64_MAX };

/* The user that runs the test owns the files of the tree: it stands for the user of the process. */
static struct ptrace_caller owner(void)
{
	return (struct ptrace_caller){ .uid = geteuid(), .gid = getegid() };
}

struct answer {
	int r;
	struct err err;
};

static struct answer ask(const char *status, const char *yama, const struct ptrace_caller *caller,
                         bool was_refused)
{
	struct tree t = tree_new();
	struct process_reader *reader = was_refused ? NULL : t.env.reader; /* both ways */
	struct answer a = { 0 };

	tree_puts(&t, "proc/4711/status", status);
	tree_puts(&t, "proc/4711/stat", "4711 (sleep) S");
	tree_puts(&t, "proc/4711/comm", "sleep\n");
	tree_puts(&t, "proc/4712/comm", "gdb\n");
	if (yama)
		tree_puts(&t, "proc/sys/kernel/yama/ptrace_scope", yama);
	a.r = was_refused ? ptrace_access_explain(reader, t.env.root_fd, 4711, caller, &a.err)
	                  : ptrace_access_check(reader, t.env.root_fd, 4711, caller, &a.err);
	tree_remove(&t);
	return a;
}

static void test_ptrace_target__has_the_lines_that_matter(void **state)
{
	struct ptrace_target t;

	assert_true(ptrace_target_parse(scan_str(STATUS("t (tracing stop)", "4712", "1\t2\t3\t4",
	                                                "5\t6\t7\t8", "00000000a80425fb")),
	                                &t));
	assert_int_equal(t.state, 't');
	assert_int_equal(t.ppid, 4000);
	assert_int_equal(t.tracer, 4712);
	assert_int_equal(t.uids[2], 3);
	assert_int_equal(t.gids[0], 5);
	assert_int_equal(t.capabilities, 0xa80425fb);
	assert_true(t.has_memory);
}

static void test_ptrace_target__refuses_a_text_that_is_cut(void **state)
{
	struct ptrace_target t = { .ppid = 7 };

	for (size_t n = 0; n < strlen(PLAIN) - strlen("CapPrm:\t" NO_CAPS "\n"); n++)
		if (ptrace_target_parse(scan_mem(PLAIN, n), &t))
			assert_true(n > (size_t)(strstr(PLAIN, "CapPrm") - PLAIN));
	assert_false(ptrace_target_parse(scan_str(""), &t));
}

static void test_ptrace_access__allows_the_same_user_and_root(void **state)
{
	struct ptrace_caller us = owner();
	char ids[64], status[1024];

	snprintf(ids, sizeof ids, "%u\t%u\t%u\t%u", us.uid, us.uid, us.uid, us.uid);
	snprintf(status, sizeof status,
	         "State:\tS\nTgid:\t4711\nPPid:\t1\nTracerPid:\t0\nUid:\t%s\nGid:\t%u %u %u\nVmSize:\t1 "
	         "kB\nCapPrm:\t0\n",
	         ids, us.gid, us.gid, us.gid);
	assert_int_equal(ask(status, NULL, &us, false).r, 0);
	assert_int_equal(ask(PLAIN, NULL, &root, false).r, 0);
}

static void assert_refused(struct answer a, int code, const char *words)
{
	assert_int_equal(a.r, -code);
	if (!strstr(a.err.msg, words))
		fail_msg("'%s' is not in '%s'", words, a.err.msg);
}

static void test_ptrace_access__names_what_stands_against_it(void **state)
{
	struct ptrace_caller other = { .uid = 1001, .gid = 1001 };

	assert_refused(ask(PLAIN, NULL, &other, false), EPERM, "belongs to ");
	assert_refused(ask(STATUS("S", "4712", USER, USER, NO_CAPS), NULL, &root, false), EBUSY,
	               "already traced, by gdb (pid 4712)");
	assert_refused(ask(STATUS("Z (zombie)", "0", USER, USER, NO_CAPS), NULL, &root, false),
	               ESRCH, "has ended");
	assert_int_equal(ask(STATUS("Z (zombie)\nThreads:\t2", "0", USER, USER, NO_CAPS), NULL, &root,
	                     false)
	                         .r,
	                 0); /* its first thread alone has ended */
	assert_refused(ask("State:\tS\nTgid:\t4000\nPPid:\t2\nTracerPid:\t0\nUid:\t0 0 0\nGid:\t0 0 0\n"
	                   "VmSize:\t1 kB\nCapPrm:\t0\n",
	                   NULL, &root, false),
	               ESRCH, "is a thread, of process 4000");
	assert_refused(ask(STATUS("S", "0", USER, USER, "0000000000000400"), NULL, &user, false),
	               EPERM, "has capabilities that this user lacks");
	assert_refused(ask(STATUS("S", "0", "1000\t0\t0\t0", USER, NO_CAPS), NULL, &user, false),
	               EPERM, "is protected");
	assert_refused(ask(STATUS("S", "0", USER, "1000\t42\t42\t42", NO_CAPS), NULL, &user, false),
	               EPERM, "is protected");
	assert_refused(ask("State:\tI\nTgid:\t4711\nPPid:\t2\nTracerPid:\t0\nUid:\t0 0 0\nGid:\t0 0 0\n"
	                   "CapPrm:\t0\n",
	                   NULL, &root, false),
	               EINVAL, "is a kernel thread");
}

static void test_ptrace_access__explains_what_would_permit_it(void **state)
{
	struct ptrace_caller capable = { .uid = 1000,
		                         .gid = 1000,
		                         .capabilities = UINT64_C(1) << CAP_SYS_PTRACE };
	struct ptrace_caller us = owner();
	char status[512];

	snprintf(status, sizeof status,
	         "State:\tS\nTgid:\t4711\nPPid:\t1\nTracerPid:\t0\nUid:\t%u %u %u\nGid:\t%u %u %u\nVmSize:\t1 "
	         "kB\nCapPrm:\t0\n",
	         us.uid, us.uid, us.uid, us.gid, us.gid, us.gid);
	assert_refused(ask(status, "1\n", &us, true), EPERM, "kernel.yama.ptrace_scope is 1");
	assert_refused(ask(status, "2\n", &us, true), EPERM, "kernel.yama.ptrace_scope is 2");
	assert_refused(ask(status, "3\n", &us, true), EPERM, "nobody may trace");
	assert_refused(ask(status, "3\n", &capable, true), EPERM, "nobody may trace");
	assert_refused(ask(status, "1\n", &capable, true), EPERM, "security module");
	assert_refused(ask(status, NULL, &us, true), EPERM, "security module");
}

static void test_ptrace_access__knows_our_ancestors(void **state)
{
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	assert_true(ptrace_access_is_ancestor(root_fd, getpid()));
	assert_true(ptrace_access_is_ancestor(root_fd, getppid()));
	assert_false(ptrace_access_is_ancestor(root_fd, 4194303));
	close(root_fd);
}

RUN_TESTS(TEST(test_ptrace_target__has_the_lines_that_matter),
          TEST(test_ptrace_target__refuses_a_text_that_is_cut),
          TEST(test_ptrace_access__allows_the_same_user_and_root),
          TEST(test_ptrace_access__names_what_stands_against_it),
          TEST(test_ptrace_access__explains_what_would_permit_it),
          TEST(test_ptrace_access__knows_our_ancestors))
