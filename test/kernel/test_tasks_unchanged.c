/* SPDX-License-Identifier: MIT */
/* Processes that did not change are passed over by the task iterator. What happens to one that
 * sleeps must be seen all the same. */
#include <linux/sched.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/resource.h>

#include "kernel_kit.h"
#include "probe/bpf/task_record.h"
#include "probe/bpf/tasks_load.h"
#include "check.h"

/* ---- a process that waits for a byte --------------------------------------------------------- */

struct sleeper {
	pid_t pid;
	int wake_fd;
};

/* The child waits on the pipe, does its part, and waits again. */
static struct sleeper sleeper_new(int (*act)(void))
{
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	pid_t pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		char c;

		prctl(PR_SET_PDEATHSIG, SIGKILL);
		close(pipes[1]);
		if (read(pipes[0], &c, 1) == 1 && act && act())
			_exit(1);
		for (;;)
			pause();
	}
	close(pipes[0]);
	assert_true(threads_settle(pid, 'S', "S"));
	return (struct sleeper){ pid, pipes[1] };
}

static void sleeper_wake(struct sleeper s)
{
	assert_int_equal(write(s.wake_fd, ".", 1), 1);
}

static void sleeper_end(struct sleeper s)
{
	kill(s.pid, SIGKILL);
	reap(s.pid);
	close(s.wake_fd);
}

/* ---- records --------------------------------------------------------------------------------- */

struct records {
	struct tasks_load *load;
	_Alignas(8) char bytes[32 << 10];
};

static struct records *records_open(void)
{
	struct records *r = xcalloc(1, sizeof *r);
	struct err err = { 0 };
	int root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (tasks_load_open(root, 0, &r->load, &err) < 0)
		fail_msg("%s", err.msg);
	close(root);
	return r;
}

static void records_close(struct records *r)
{
	tasks_load_close(r->load);
	free(r);
}

/* One pass, and the size of the record of a process in it; 0 when it has none. */
static uint32_t record_size(struct records *r, pid_t pid, bool all)
{
	struct err err = { 0 };
	int fd = tasks_load_iterate(r->load, all, &err);
	uint32_t size = 0;
	ssize_t n;

	assert_true(fd >= 0);
	while ((n = read(fd, r->bytes, sizeof r->bytes)) > 0) {
		for (ssize_t at = 0; at < n;) {
			const struct task_unchanged *one = (const void *)(r->bytes + at);

			assert_true(one->size == sizeof *one ||
			            one->size == sizeof(struct task_record));
			if (one->tgid == (uint32_t)pid)
				size = one->size;
			at += one->size;
		}
	}
	assert_int_equal(n, 0);
	close(fd);
	return size;
}

static size_t count_full(struct records *r, pid_t pid, size_t passes)
{
	size_t full = 0;

	for (size_t i = 0; i < passes; i++) {
		uint32_t size = record_size(r, pid, false);

		assert_int_not_equal(size, 0);
		full += size == sizeof(struct task_record);
	}
	return full;
}

static void test_tasks__reads_an_idle_process_in_full_once_in_16_passes(void **state)
{
	struct records *r = records_open();
	struct sleeper s = sleeper_new(NULL);

	(void)state;
	assert_int_equal(record_size(r, s.pid, false), sizeof(struct task_record));
	assert_int_equal(count_full(r, s.pid, 3 * TASK_FULL_EVERY), 3);
	sleeper_end(s);
	records_close(r);
}

static void test_tasks__reads_a_process_in_focus_in_full_each_time(void **state)
{
	struct records *r = records_open();
	struct sleeper s = sleeper_new(NULL);

	(void)state;
	tasks_load_add_focus(r->load, s.pid);
	assert_int_equal(count_full(r, s.pid, TASK_FULL_EVERY), TASK_FULL_EVERY);
	tasks_load_clear_focus(r->load);
	assert_int_equal(count_full(r, s.pid, TASK_FULL_EVERY), 1);
	sleeper_end(s);
	records_close(r);
}

static void test_tasks__reads_everything_in_full_when_a_pass_was_lost(void **state)
{
	struct records *r = records_open();
	struct sleeper s = sleeper_new(NULL);

	(void)state;
	for (int i = 0; i < 4; i++)
		assert_int_equal(record_size(r, s.pid, true), sizeof(struct task_record));
	sleeper_end(s);
	records_close(r);
}

static void test_tasks__two_readers_do_not_hide_changes_from_each_other(void **state)
{
	struct records *a = records_open(), *b = records_open();
	struct sleeper s = sleeper_new(NULL);

	(void)state;
	assert_int_equal(record_size(a, s.pid, false), sizeof(struct task_record));
	assert_int_equal(record_size(b, s.pid, false), sizeof(struct task_record));
	assert_int_equal(count_full(a, s.pid, TASK_FULL_EVERY), 1);
	assert_int_equal(count_full(b, s.pid, TASK_FULL_EVERY), 1);
	sleeper_wake(s); /* it wakes up, and that is all */
	assert_true(threads_settle(s.pid, 'S', "S"));
	assert_int_equal(record_size(a, s.pid, false), sizeof(struct task_record));
	assert_int_equal(record_size(b, s.pid, false), sizeof(struct task_record));
	sleeper_end(s);
	records_close(a);
	records_close(b);
}

/* ---- what the sample has --------------------------------------------------------------------- */

static int probe_open(void **state)
{
	*state = live_open(&probe_tasks_bpf);
	return 0;
}

static int probe_close(void **state)
{
	live_close(*state);
	return 0;
}

static const struct proc_sample *read_process(struct live *live, pid_t pid)
{
	live_turn(live);
	live_read(live);
	assert_true(live->out.procs_complete);
	return sample_find_proc(&live->out, pid);
}

/* What the probe reports of a process when nothing has happened to it for some ticks. */
static struct proc_sample read_at_rest(struct live *live, pid_t pid)
{
	const struct proc_sample *p = NULL;

	for (int i = 0; i < 3; i++)
		p = read_process(live, pid);
	assert_non_null(p);
	return *p;
}

static int rest_as_child(void *arg)
{
	for (;;)
		pause();
	return arg != NULL;
}

struct family {
	pid_t middle, child;
};

/* A child that has a child; both rest. */
static struct family family_new(void)
{
	struct family f;
	int pipes[2];

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	f.middle = fork();
	assert_true(f.middle >= 0);
	if (f.middle == 0) {
		pid_t pid = child(rest_as_child, NULL);

		if (write(pipes[1], &pid, sizeof pid) < 0)
			_exit(1);
		rest_as_child(NULL);
	}
	close(pipes[1]);
	assert_int_equal(read(pipes[0], &f.child, sizeof f.child), sizeof f.child);
	close(pipes[0]);
	assert_true(threads_settle(f.child, 'S', "S") && threads_settle(f.middle, 'S', "S"));
	return f;
}

static void test_tasks__a_sleeping_process_that_is_adopted_has_a_new_parent_at_once(void **state)
{
	struct family f;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	f = family_new();
	assert_int_equal(read_at_rest(*state, f.child).ppid, f.middle);
	kill(f.middle, SIGKILL);
	reap(f.middle);
	assert_int_equal(read_process(*state, f.child)->ppid, getpid());
	kill(f.child, SIGKILL);
	reap(f.child);
	prctl(PR_SET_CHILD_SUBREAPER, 0);
}

static void test_tasks__a_process_that_is_stopped_is_shown_stopped_at_once(void **state)
{
	struct sleeper s = sleeper_new(NULL);

	assert_int_equal(read_at_rest(*state, s.pid).state, 'S');
	kill(s.pid, SIGSTOP);
	assert_true(threads_settle(s.pid, 'T', "T"));
	assert_int_equal(read_process(*state, s.pid)->state, 'T');
	assert_int_equal(read_at_rest(*state, s.pid).state, 'T');
	kill(s.pid, SIGCONT);
	assert_true(threads_settle(s.pid, 'S', "S"));
	assert_int_equal(read_process(*state, s.pid)->state, 'S');
	sleeper_end(s);
}

#define SHARED_BYTES (8 << 20)
static char *shared;

static int touch_shared(void)
{
	memset(shared, 1, SHARED_BYTES);
	return 0;
}

/* As when it is swapped out: the kernel takes pages from a process that sleeps. */
static void test_tasks__memory_that_is_taken_from_a_sleeping_process_is_gone_at_once(void **state)
{
	int fd = memfd_create("shared", MFD_CLOEXEC);
	uint64_t before, after;
	struct sleeper s;

	assert_int_equal(ftruncate(fd, SHARED_BYTES), 0);
	shared = mmap(NULL, SHARED_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(shared, MAP_FAILED);
	s = sleeper_new(touch_shared);
	sleeper_wake(s);
	assert_true(threads_settle(s.pid, 'S', "S"));
	before = read_at_rest(*state, s.pid).r.value[PROC_RSS];
	assert_true(before > SHARED_BYTES);
	assert_int_equal(ftruncate(fd, 0), 0);
	after = read_process(*state, s.pid)->r.value[PROC_RSS];
	assert_int_equal(before - after, SHARED_BYTES);
	sleeper_end(s);
	munmap(shared, SHARED_BYTES);
	close(fd);
}

static void test_tasks__a_limit_set_from_outside_is_seen_within_16_passes(void **state)
{
	struct sleeper s = sleeper_new(NULL);
	struct rlimit limit = { 123, 456 };
	uint64_t seen = 0;

	read_at_rest(*state, s.pid);
	assert_int_equal(prlimit(s.pid, RLIMIT_NOFILE, &limit, NULL), 0);
	for (int i = 0; i < TASK_FULL_EVERY; i++)
		seen = read_process(*state, s.pid)->r.value[PROC_FD_LIMIT];
	assert_int_equal(seen, 123);
	sleeper_end(s);
}

static int become_nobody(void)
{
	return setresuid(65534, 65534, 65534);
}

static void test_tasks__another_user_is_seen_at_once(void **state)
{
	struct sleeper s = sleeper_new(become_nobody);

	assert_int_equal(read_at_rest(*state, s.pid).uid, getuid());
	sleeper_wake(s);
	assert_true(threads_settle(s.pid, 'S', "S"));
	assert_int_equal(read_process(*state, s.pid)->uid, 65534);
	sleeper_end(s);
}

static int run_sleep(void)
{
	return execl("/bin/sleep", "sleep", "1000", NULL);
}

static void test_tasks__another_program_is_seen_at_once(void **state)
{
	struct live *live = *state;
	struct sleeper s = sleeper_new(run_sleep);
	const struct proc_sample *p;

	read_at_rest(live, s.pid);
	sleeper_wake(s);
	assert_true(threads_settle(s.pid, 'S', "S"));
	p = read_process(live, s.pid);
	assert_string_equal(p->comm, "sleep");
	assert_int_equal(p->command.len, 10);
	assert_memory_equal(live->out.text.at + p->command.at, "sleep 1000", 10);
	p = read_process(live, s.pid); /* and the time after, from what was kept */
	assert_int_equal(p->command.len, 10);
	assert_memory_equal(live->out.text.at + p->command.at, "sleep 1000", 10);
	sleeper_end(s);
}

static int exit_at_once(void)
{
	_exit(0);
}

static void test_tasks__one_that_ends_is_a_zombie_at_once_and_then_absent(void **state)
{
	struct sleeper s = sleeper_new(exit_at_once);
	struct proc_sample p;
	siginfo_t info;

	read_at_rest(*state, s.pid);
	sleeper_wake(s);
	assert_int_equal(waitid(P_PID, (id_t)s.pid, &info, WEXITED | WNOWAIT), 0);
	assert_int_equal(read_process(*state, s.pid)->state, 'Z');
	p = read_at_rest(*state, s.pid);
	assert_int_equal(p.state, 'Z');
	assert_int_equal(p.r.value[PROC_RSS], 0);
	sleeper_end(s);
	assert_null(read_process(*state, s.pid));
}

/* A process with the pid that another one had. */
static pid_t fork_as(pid_t pid)
{
	struct clone_args args = { .exit_signal = SIGCHLD,
		                   .set_tid = (uintptr_t)&pid,
		                   .set_tid_size = 1 };
	pid_t got = (pid_t)syscall(SYS_clone3, &args, sizeof args);

	if (got == 0) {
		prctl(PR_SET_NAME, "reborn");
		rest_as_child(NULL);
	}
	return got;
}

static void test_tasks__a_pid_that_is_used_again_is_another_process(void **state)
{
	struct sleeper s = sleeper_new(NULL);
	struct proc_sample before = read_at_rest(*state, s.pid);
	const struct proc_sample *p;

	sleeper_end(s);
	usleep(20000); /* two of the ticks that starts are counted in */
	assert_int_equal(fork_as(s.pid), s.pid);
	assert_true(threads_settle(s.pid, 'S', "S"));
	p = read_process(*state, s.pid);
	assert_true(p->id.start_ticks > before.id.start_ticks);
	assert_string_equal(p->comm, "reborn");
	kill(s.pid, SIGKILL);
	reap(s.pid);
}

static void *burn(void *arg)
{
	for (;;)
		;
	return arg;
}

static int burn_in_thread(void)
{
	pthread_t thread;

	return pthread_create(&thread, NULL, burn, NULL);
}

static void test_tasks__a_busy_thread_counts_while_its_leader_sleeps(void **state)
{
	struct sleeper s = sleeper_new(burn_in_thread);
	uint64_t before, after;

	read_at_rest(*state, s.pid);
	sleeper_wake(s);
	assert_true(threads_settle(s.pid, 'S', "SR"));
	before = read_process(*state, s.pid)->r.value[PROC_CPU_TIME];
	for (int i = 0; i < 4; i++) {
		uint64_t end_ns = clock_mono_ns() + 10 * NS_PER_S;

		/* What it ran is counted at the next clock tick, when it gets a CPU at all. */
		do {
			usleep(20000);
			after = read_process(*state, s.pid)->r.value[PROC_CPU_TIME];
		} while (after == before && clock_mono_ns() < end_ns);
		assert_true(after > before);
		before = after;
	}
	sleeper_end(s);
}

#define PROBE(name) cmocka_unit_test_setup_teardown(name, probe_open, probe_close)
RUN_LIVE_TESTS(&probe_tasks_bpf,
               TEST(test_tasks__reads_an_idle_process_in_full_once_in_16_passes),
               TEST(test_tasks__reads_a_process_in_focus_in_full_each_time),
               TEST(test_tasks__reads_everything_in_full_when_a_pass_was_lost),
               TEST(test_tasks__two_readers_do_not_hide_changes_from_each_other),
               PROBE(test_tasks__a_sleeping_process_that_is_adopted_has_a_new_parent_at_once),
               PROBE(test_tasks__a_process_that_is_stopped_is_shown_stopped_at_once),
               PROBE(test_tasks__memory_that_is_taken_from_a_sleeping_process_is_gone_at_once),
               PROBE(test_tasks__a_limit_set_from_outside_is_seen_within_16_passes),
               PROBE(test_tasks__another_user_is_seen_at_once),
               PROBE(test_tasks__another_program_is_seen_at_once),
               PROBE(test_tasks__one_that_ends_is_a_zombie_at_once_and_then_absent),
               PROBE(test_tasks__a_pid_that_is_used_again_is_another_process),
               PROBE(test_tasks__a_busy_thread_counts_while_its_leader_sleeps))
