/* SPDX-License-Identifier: MIT */
/* Reads that hang: a file system that does not answer (any user can have one, by FUSE) and two
 * threads suffice. */
#include "kernel/process_lookup.h"
#include "kernel/process_reader.h"

#include <linux/fuse.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "check.h"
#include "fake_machine.h"

#define PATIENCE_NS (20 * NS_PER_S) /* of a test; a busy machine is slow */
#define SPINNERS 3

static void put_process(const struct tree *t, int pid, const char *file, const char *text)
{
	char path[64];

	snprintf(path, sizeof path, "proc/%d/%s", pid, file);
	tree_puts(t, path, text);
}

static void test_process_reader__reads_the_files_of_each_process(void **state)
{
	struct tree t = tree_new();
	struct process_request requests[PROCESS_READER_BATCH];
	char text[32];

	(void)state;
	for (int pid = 1; pid <= PROCESS_READER_BATCH; pid++) {
		snprintf(text, sizeof text, "%d (x)", pid);
		if (pid != 3)
			put_process(&t, pid, "stat", text);
		if (pid % 2)
			put_process(&t, pid, "statm", "7 8");
	}
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PROCESS_READER_BATCH; i++)
			requests[i] = (struct process_request){
				.pid = i + 1, .files = 1U << PROCESS_STAT | 1U << PROCESS_STATM
			};
		process_reader_read(t.env.reader, requests, PROCESS_READER_BATCH);
		for (int i = 0; i < PROCESS_READER_BATCH; i++) {
			const struct process_request *q = &requests[i];

			snprintf(text, sizeof text, "%d (x)", i + 1);
			assert_int_equal(q->error, 0);
			assert_int_equal(q->uid, geteuid());
			assert_int_equal(q->errors[PROCESS_STAT], i == 2 ? -ENOENT : 0);
			assert_true(scan_eq(&q->text[PROCESS_STAT], i == 2 ? "" : text));
			assert_true(scan_eq(&q->text[PROCESS_STATM], i % 2 ? "" : "7 8"));
		}
	}
	requests[0] = (struct process_request){ .pid = 4711, .files = 1U << PROCESS_STAT };
	process_reader_read(t.env.reader, requests, 1);
	assert_int_equal(requests[0].error, -ENOENT);
	tree_remove(&t);
}

static void test_process_reader__counts_files_and_finds_a_device(void **state)
{
	struct tree t = tree_new();
	struct process_request q = { .pid = 42, .counts_fds = true, .device = "/dev/nvidia" };

	(void)state;
	tree_mkdirs(&t, "proc/42/fd/");
	assert_int_equal(symlinkat("/dev/null", t.env.root_fd, "proc/42/fd/0"), 0);
	process_reader_read(t.env.reader, &q, 1);
	assert_true(q.has_fds && q.fds == 1 && !q.has_device);
	assert_int_equal(symlinkat("/dev/nvidia0", t.env.root_fd, "proc/42/fd/17"), 0);
	process_reader_read(t.env.reader, &q, 1);
	assert_true(q.has_fds && q.fds == 2 && q.has_device);
	tree_remove(&t);
}

static void test_process_reader__distinguishes_a_process_from_another_with_its_pid(void **state)
{
	struct probe_env env = tree_live();
	struct proc_id me = { .pid = getpid() }, other;
	pid_t child = fork();

	(void)state;
	if (child == 0)
		_exit(0);
	process_lookup_find_start(env.reader, &me);
	assert_true(me.start_ticks > 0);
	assert_true(process_lookup_exists(env.reader, me));
	assert_true(process_lookup_is_alive(env.reader, me));
	other = (struct proc_id){ me.pid, me.start_ticks + 1 };
	assert_false(process_lookup_exists(env.reader, other));
	waitid(P_PID, (id_t)child, &(siginfo_t){ 0 }, WEXITED | WNOWAIT);
	assert_true(process_lookup_exists(env.reader, (struct proc_id){ .pid = child }));
	assert_false(process_lookup_is_alive(env.reader, (struct proc_id){ .pid = child }));
	waitpid(child, NULL, 0);
	assert_false(process_lookup_exists(env.reader, (struct proc_id){ .pid = child }));
	close(env.root_fd);
}

/* ---- a file that is opened and mapped like any other, and whose bytes never come
 * ------------------------------- */

static void reply(int fd, uint64_t unique, int error, const void *body, size_t len)
{
	struct fuse_out_header head = { .len = (uint32_t)(sizeof head + len),
		                        .error = error,
		                        .unique = unique };
	char bytes[512];

	memcpy(bytes, &head, sizeof head);
	if (len)
		memcpy(bytes + sizeof head, body, len);
	(void)!write(fd, bytes, head.len);
}

static void serve_one(int fd, const struct fuse_in_header *in)
{
	struct fuse_init_out init = { .major = FUSE_KERNEL_VERSION,
		                      .minor = 31,
		                      .max_write = 4096 };
	struct fuse_attr_out attr = {
		.attr_valid = 3600,
		.attr = { .ino = 1, .size = 1 << 16, .mode = S_IFREG | 0444, .nlink = 1 }
	};
	struct fuse_open_out open = { .fh = 1 };

	if (in->opcode == FUSE_INIT)
		reply(fd, in->unique, 0, &init, sizeof init);
	else if (in->opcode == FUSE_GETATTR)
		reply(fd, in->unique, 0, &attr, sizeof attr);
	else if (in->opcode == FUSE_OPEN)
		reply(fd, in->unique, 0, &open, sizeof open);
	else if (in->opcode != FUSE_READ && in->opcode != FUSE_INTERRUPT &&
	         in->opcode != FUSE_FORGET)
		reply(fd, in->unique, -ENOSYS, NULL, 0);
}

/* Reports when somebody waits for bytes, which do not come. */
static void serve(int fd, int ready_fd)
{
	static _Alignas(8) char request[128 << 10];
	const struct fuse_in_header *in = (const void *)request;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(fd, request, sizeof request) > 0) {
		serve_one(fd, in);
		if (in->opcode == FUSE_READ)
			(void)!write(ready_fd, "", 1);
	}
	_exit(0);
}

/* Holds the lock of this address space for reading while it waits for the file's bytes. */
static void *hold_lock(void *at)
{
	int fd = open("/proc/self/mem", O_RDONLY | O_CLOEXEC);
	char c;

	(void)!pread(fd, &c, 1, (off_t)(uintptr_t)at);
	return NULL;
}

/* Wants the lock for writing once the other has it; while it waits nobody else gets it. */
static void *want_lock(void *at)
{
	char c;

	(void)!read(STDIN_FILENO, &c, 1);
	mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return at;
}

/* Runs instead of the tests, as "hang PATH", and learns from the server when the lock is held: soon
 * a reader of its command line has to wait. As "spin PATH" it runs all the time. */
static int hang(char **argv)
{
	int fd = open(argv[1], O_RDONLY | O_CLOEXEC);
	void *at = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	pthread_t threads[2];
	struct stat st;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (fstat(fd, &st) < 0 || !st.st_size || at == MAP_FAILED ||
	    pthread_create(&threads[0], NULL, hold_lock, at) != 0 ||
	    pthread_create(&threads[1], NULL, want_lock, at) != 0)
		return 1;
	if (strcmp(argv[0], "spin") == 0) {
		(void)!nice(19);
		for (;;)
			;
	}
	for (;;)
		pause();
}

/* ---- the scan beside it
 * ------------------------------------------------------------------------------------------ */

struct stage {
	pid_t server, target;
	char file[96];
};

static void name_stage(char *ret, size_t cap, pid_t owner, int number)
{
	snprintf(ret, cap, "/tmp/proctor-hang-%d-%d", owner, number);
}

/* Only a process that waits for a lock is in this state for long. */
static bool is_waiting_soon(pid_t pid)
{
	return threads_settle(pid, 'D', "DS");
}

static bool raise_stage(struct stage *s, int number, const char *how)
{
	char options[96];
	int fuse_fd = open("/dev/fuse", O_RDWR | O_CLOEXEC), held[2];

	name_stage(s->file, sizeof s->file, getpid(), number);
	close(open(s->file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	snprintf(options, sizeof options, "fd=%d,rootmode=100444,user_id=0,group_id=0", fuse_fd);
	if (fuse_fd < 0 || mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("hang", s->file, "fuse", MS_NOSUID | MS_NODEV, options) < 0 || pipe(held) < 0)
		return false;
	s->server = fork();
	if (s->server == 0)
		serve(fuse_fd, held[1]);
	close(fuse_fd);
	s->target = fork();
	if (s->target == 0) {
		dup2(held[0], STDIN_FILENO);
		execl("/proc/self/exe", how, s->file, NULL);
		_exit(127);
	}
	close(held[0]);
	close(held[1]);
	return threads_settle(s->target, 'D', "DRS");
}

/* Without the server the file system answers every wait with an error. */
static void lower_stage(const struct stage *s)
{
	kill(s->server, SIGKILL);
	waitpid(s->server, NULL, 0);
	kill(s->target, SIGKILL);
	waitpid(s->target, NULL, 0);
	umount2(s->file, MNT_DETACH);
	unlink(s->file);
}

static bool does_plain_read_hang(pid_t target)
{
	pid_t reader = fork();
	bool hangs;

	if (reader == 0) {
		char path[64], text[8192];
		int fd;

		snprintf(path, sizeof path, "/proc/%d/cmdline", target);
		fd = open(path, O_RDONLY | O_CLOEXEC);
		(void)!read(fd, text, sizeof text);
		_exit(0);
	}
	hangs = is_waiting_soon(reader);
	kill(reader, SIGKILL);
	waitpid(reader, NULL, 0);
	return hangs;
}

static int scan_beside(struct stage *stage)
{
	struct probe_env env = tree_live();
	struct sample s = { .request.want = WANT_ALL };
	struct err err = { 0 };
	uint64_t begin = clock_mono_ns();
	void *self = tree_probe(&probe_tasks_proc, &env, &s);
	struct proc_sample *target = sample_find_proc(&s, stage->target),
			   *me = sample_find_proc(&s, getpid());

	if (!target || !me || target->r.value[PROC_RSS] == 0)
		return 1;
	if (!tree_has_command(&s, target, "[exe]") || tree_has_command(&s, me, "[test_process_re]"))
		return 2;
	for (int i = 0; i < 10; i++) { /* nor does it add up */
		sample_reset(&s);
		if (probe_tasks_proc.read(self, &s, &err) < 0)
			return 3;
	}
	if (clock_mono_ns() - begin > PATIENCE_NS)
		return 4;
	if (!does_plain_read_hang(stage->target))
		return 5;
	lower_stage(stage);
	probe_tasks_proc.close(self);
	sample_done(&s);
	return 0;
}

static void run_with_stages(int (*play)(struct stage *), int count, const char *how)
{
	struct stage stages[SPINNERS];
	int status;
	pid_t child;

	if (geteuid() != 0 || access("/dev/fuse", F_OK) < 0)
		skip();
	child = fork();
	if (child == 0) {
		alarm(4 * PATIENCE_NS / NS_PER_S);
		if (unshare(CLONE_NEWNS) < 0)
			_exit(9);
		for (int i = 0; i < count; i++)
			if (!raise_stage(&stages[i], i, how))
				_exit(9);
		_exit(play(stages));
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	for (int i = 0; i < count; i++) {
		name_stage(stages[i].file, sizeof stages[i].file, child, i);
		unlink(stages[i].file);
	}
	assert_int_equal(status, 0);
}

static void test_process_reader__a_process_that_makes_readers_hang_does_not_stop_the_scan(
	void **state)
{
	(void)state;
	run_with_stages(scan_beside, 1, "hang");
}

/* Each takes 0.1 s at most. It is the machine that may be busy, so there are some of them. */
static int read_spinners(struct stage *stages)
{
	struct probe_env env = tree_live();
	uint64_t begin_ns;

	for (int i = 0; i < SPINNERS; i++)
		for (int tries = 0; !does_plain_read_hang(stages[i].target); tries++)
			if (tries == 100)
				return 1;
	begin_ns = clock_mono_ns();
	for (int i = 0; i < SPINNERS; i++) {
		struct process_request q = { .pid = stages[i].target,
			                     .files = 1U << PROCESS_CMDLINE };

		process_reader_read(env.reader, &q, 1);
		if (q.errors[PROCESS_CMDLINE] != -ETIMEDOUT)
			return 2;
	}
	if (clock_mono_ns() - begin_ns > SPINNERS * NS_PER_S)
		return 3;
	for (int i = 0; i < SPINNERS; i++)
		lower_stage(&stages[i]);
	return 0;
}

static void test_process_reader__waits_no_longer_for_a_process_that_hangs_while_it_runs(void **state)
{
	(void)state;
	run_with_stages(read_spinners, SPINNERS, "spin");
}

static void test_process_reader__reads_nothing_past_its_limit(void **state)
{
	struct probe_env env = tree_live();
	struct process_request q = { .pid = getpid(), .files = 1U << PROCESS_STAT };

	(void)state;
	process_reader_limit(env.reader, clock_mono_ns());
	process_reader_read(env.reader, &q, 1);
	assert_int_equal(q.error, -ETIMEDOUT);
	process_reader_limit(env.reader, 0);
	process_reader_read(env.reader, &q, 1);
	assert_int_equal(q.error, 0);
	close(env.root_fd);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_process_reader__reads_the_files_of_each_process),
		TEST(test_process_reader__counts_files_and_finds_a_device),
		TEST(test_process_reader__distinguishes_a_process_from_another_with_its_pid),
		TEST(test_process_reader__a_process_that_makes_readers_hang_does_not_stop_the_scan),
		TEST(test_process_reader__waits_no_longer_for_a_process_that_hangs_while_it_runs),
		TEST(test_process_reader__reads_nothing_past_its_limit)
	};

	if (argc == 2 && (strcmp(argv[0], "hang") == 0 || strcmp(argv[0], "spin") == 0))
		return hang(argv);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
