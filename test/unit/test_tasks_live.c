/* SPDX-License-Identifier: MIT */
/* The /proc scan on the machine that runs the test. */
#include <grp.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "check.h"
#include "fake_machine.h"

struct live {
	struct probe_env env;
	void *self;
	struct sample s;
};

static struct live live_open(void)
{
	struct live l = { .env = tree_live(), .s.request.want = WANT_ALL };

	l.self = tree_probe(&probe_tasks_proc, &l.env, &l.s);
	return l;
}

static void live_read(struct live *l)
{
	struct err err = { 0 };

	sample_reset(&l->s);
	l->s.request.want = WANT_ALL;
	if (probe_tasks_proc.read(l->self, &l->s, &err) < 0)
		fail_msg("%s", err.msg);
}

static void live_close(struct live *l)
{
	probe_tasks_proc.close(l->self);
	sample_done(&l->s);
	close(l->env.root_fd);
}

/* A child that does `prepare`, reports it, and waits to be killed. */
static pid_t spawn(void (*prepare)(const void *arg), const void *arg)
{
	int ready[2];
	pid_t child;
	char c;

	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0) {
		prctl(PR_SET_PDEATHSIG,
		      SIGKILL); /* whoever waits for our output must not wait for it */
		prepare(arg);
		(void)!write(ready[1], "", 1);
		for (;;)
			pause();
	}
	assert_int_equal(read(ready[0], &c, 1), 1);
	close(ready[0]);
	close(ready[1]);
	return child;
}

static void reap(pid_t child)
{
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, NULL, 0), child);
}

static void take_name(const void *name)
{
	prctl(PR_SET_NAME, name);
}

static void test_tasks_live__reads_hostile_names_right(void **state)
{
	static const char *const names[] = {
		") R 1 1 (", "a\nb",   "\x1b[31mred", "\xff\xc3\x28",
		"",          "%n%n%n", "(((",         "kworker/0:1-x"
	};
	pid_t pids[ARRAY_LEN(names)];
	struct live l;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		pids[i] = spawn(take_name, names[i]);
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		assert_true(threads_settle(pids[i], 'S', "S"));
	l = live_open();
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct proc_sample *p = sample_find_proc(&l.s, pids[i]);

		assert_non_null(p);
		assert_string_equal(p->comm, names[i]);
		assert_int_equal(p->state, 'S');
		assert_int_equal(p->ppid, getpid());
		assert_int_equal(p->uid, geteuid());
		reap(pids[i]);
	}
	live_close(&l);
}

static void use_resources(const void *arg)
{
	size_t bytes = 32 << 20;
	char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);
	uint64_t end = clock_process_cpu_ns() + 200 * NS_PER_MS;

	(void)arg;
	memset(memory, 1, bytes);
	for (int i = 0; i < 90; i++)
		(void)!dup(STDERR_FILENO);
	while (clock_process_cpu_ns() < end)
		;
}

static void test_tasks_live__measures_memory_files_and_time(void **state)
{
	pid_t child = spawn(use_resources, NULL);
	struct live l = live_open();
	struct proc_sample *p = sample_find_proc(&l.s, child);

	(void)state;
	assert_non_null(p);
	assert_in_range(p->r.value[PROC_RSS], 32 << 20, 80 << 20);
	assert_true(p->r.value[PROC_VMS] >= p->r.value[PROC_RSS]);
	assert_in_range(p->r.value[PROC_FDS], 90, 130);
	assert_in_range(p->r.value[PROC_CPU_TIME], 180 * NS_PER_MS, 600 * NS_PER_MS);
	assert_true(p->r.value[PROC_MINOR_FAULTS] >= 100);
	assert_int_equal(p->r.value[PROC_THREADS], 1);
	assert_true(readings_has(&p->r, PROC_READ_BYTES) && readings_has(&p->r, PROC_WRITE_BYTES));
	reap(child);
	live_close(&l);
}

static void *wait_forever(void *arg)
{
	for (;;)
		pause();
	return arg;
}

static void leave_leader(const void *arg)
{
	pthread_t thread;
	char *memory = mmap(NULL, 4 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
	                    0);

	(void)arg;
	memset(memory, 1, 4 << 20);
	pthread_create(&thread, NULL, wait_forever, NULL);
}

static void leave_leader_and_go(const void *ready)
{
	leave_leader(NULL);
	(void)!write(*(const int *)ready, "", 1);
	syscall(SYS_exit, 0);
}

static void test_tasks_live__does_not_take_a_process_without_its_leader_for_dead(void **state)
{
	int ready[2];
	struct proc_sample *p = NULL;
	struct live l;
	pid_t child;
	char c;

	(void)state;
	assert_int_equal(pipe(ready), 0);
	child = fork();
	if (child == 0)
		leave_leader_and_go(&ready[1]);
	assert_int_equal(read(ready[0], &c, 1), 1);
	l = live_open();
	/* The leader is gone and shown as a zombie; the other one rests. */
	assert_true(threads_settle(child, 'Z', "SZ") && threads_settle(child, 'S', "SZ"));
	live_read(&l);
	p = sample_find_proc(&l.s, child);
	assert_non_null(p);
	assert_int_equal(p->state, 'S');
	assert_true(p->r.value[PROC_RSS] >= 4 << 20);
	assert_true(p->r.value[PROC_FDS] >= 3);
	reap(child);
	close(ready[0]);
	close(ready[1]);
	live_close(&l);
}

static void test_tasks_live__shows_a_zombie_as_one(void **state)
{
	struct live l;
	struct proc_sample *p;
	siginfo_t info;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(3);
	assert_int_equal(waitid(P_PID, (id_t)child, &info, WEXITED | WNOWAIT), 0);
	l = live_open();
	p = sample_find_proc(&l.s, child);
	assert_non_null(p);
	assert_int_equal(p->state, 'Z');
	assert_int_equal(p->r.value[PROC_RSS], 0);
	assert_int_equal(p->r.value[PROC_FDS], 0);
	assert_true(l.s.text.at[p->command.at] == '[');
	waitpid(child, NULL, 0);
	live_close(&l);
}

static void churn(int n)
{
	for (int i = 0; i < n; i++) {
		pid_t child = vfork();

		if (child == 0)
			_exit(0);
		waitpid(child, NULL, 0);
	}
	_exit(0);
}

static void test_tasks_live__scans_while_processes_come_and_go(void **state)
{
	pid_t churner = fork();
	struct live l;

	(void)state;
	if (churner == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		churn(INT_MAX);
	}
	l = live_open();
	for (int scans = 0; scans < 10; scans++) {
		live_read(&l);
		assert_true(l.s.procs_complete);
		assert_non_null(sample_find_proc(&l.s, getpid()));
		for (size_t i = 1; i < l.s.procs.len; i++)
			assert_true(l.s.procs.at[i - 1].id.pid < l.s.procs.at[i].id.pid);
		vec_each(&l.s.procs, p)
			assert_true(p->id.pid > 0 && p->state && p->command.len > 0);
	}
	kill(churner, SIGKILL);
	waitpid(churner, NULL, 0);
	live_close(&l);
}

/* In a pid and mount namespace of its own, as nobody, with a /proc that hides. 0 when that was
 * noticed. */
static int read_with_hidepid(void)
{
	struct probe_health h;
	struct live l;

	if (mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("proc", "/proc", "proc", 0, "hidepid=2") < 0)
		return 9;
	if (fork() == 0) /* somebody else's process: root's */
		for (;;)
			pause();
	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 8;
	l = live_open();
	probe_tasks_proc.health(l.self, &h);
	if (l.s.procs_complete || h.state != PROBE_DEGRADED || !strstr(h.note, "hidepid"))
		return 1;
	return sample_find_proc(&l.s, getpid()) && !sample_find_proc(&l.s, 2) ? 0 : 2;
}

static void test_tasks_live__notices_that_hidepid_hides_others(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0) {
		pid_t init;

		if (unshare(CLONE_NEWPID | CLONE_NEWNS) < 0)
			_exit(10);
		init = fork();
		if (init == 0)
			_exit(read_with_hidepid()); /* and with pid 1 all the others end */
		waitpid(init, &status, 0);
		_exit(WIFEXITED(status) ? WEXITSTATUS(status) : 11);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* Unprivileged: all processes are seen, I/O of others is absent and not zero. */
static int read_as_nobody(void)
{
	struct probe_health h;
	struct proc_sample *parent, *self;
	struct live l;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 9;
	prctl(PR_SET_DUMPABLE, 1);
	l = live_open();
	parent = sample_find_proc(&l.s, getppid());
	self = sample_find_proc(&l.s, getpid());
	probe_tasks_proc.health(l.self, &h);
	if (!parent || !self || !l.s.procs_complete)
		return 1;
	if (readings_has(&parent->r, PROC_READ_BYTES) || !readings_has(&parent->r, PROC_RSS))
		return 2;
	if (!readings_has(&self->r, PROC_READ_BYTES) || self->uid != 65534 || parent->uid != 0)
		return 3;
	return h.state == PROBE_DEGRADED && strstr(h.note, "I/O of") ? 0 : 4;
}

static void test_tasks_live__leaves_absent_what_nobody_may_not_read(void **state)
{
	int status;
	pid_t child;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(read_as_nobody());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

RUN_TESTS(TEST(test_tasks_live__reads_hostile_names_right),
          TEST(test_tasks_live__measures_memory_files_and_time),
          TEST(test_tasks_live__does_not_take_a_process_without_its_leader_for_dead),
          TEST(test_tasks_live__shows_a_zombie_as_one),
          TEST(test_tasks_live__scans_while_processes_come_and_go),
          TEST(test_tasks_live__notices_that_hidepid_hides_others),
          TEST(test_tasks_live__leaves_absent_what_nobody_may_not_read))
