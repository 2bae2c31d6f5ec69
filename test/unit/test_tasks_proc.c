/* SPDX-License-Identifier: MIT */
#include "fake_machine.h"

static void *scan(const struct probe_env *env, unsigned want, struct sample *out)
{
	out->request.want = want;
	return tree_probe(&probe_tasks_proc, env, out);
}

static void test_tasks_proc__reads_the_processes_of_a_frozen_machine(void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
	struct sample s = { 0 };
	void *self = scan(&env, WANT_ALL, &s);
	struct proc_sample *p;

	(void)state;
	assert_int_equal(s.procs.len, 6);
	assert_true(s.procs_complete);
	for (size_t i = 1; i < s.procs.len; i++)
		assert_true(s.procs.at[i - 1].id.pid < s.procs.at[i].id.pid);
	p = sample_find_proc(&s, 701);
	assert_non_null(p);
	assert_int_equal(p->id.start_ticks, 222228);
	assert_int_equal(p->ppid, 600);
	assert_string_equal(p->comm, "python3");
	assert_int_equal(p->r.value[PROC_CPU_TIME], 8 * NS_PER_TICK);
	assert_int_equal(p->r.value[PROC_THREADS], 4);
	assert_int_equal(p->r.value[PROC_FDS], 3);
	assert_int_equal(p->r.value[PROC_WRITE_BYTES], 307200);
	assert_int_equal(p->r.value[PROC_MINOR_FAULTS], 3120);
	assert_int_equal(p->r.value[PROC_VMS] % page, 0);
	assert_true(p->r.value[PROC_RSS] > 0);
	assert_false(readings_has(&p->r, PROC_PSS));
	assert_true(tree_has_command(&s, p,
	                             "python3 train.py --epochs 3 --api-key *** --note two words"));
	probe_tasks_proc.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_tasks_proc__gives_kernel_threads_and_zombies_no_memory_and_their_name_in_brackets(
	void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	struct sample s = { 0 };
	void *self = scan(&env, WANT_ALL, &s);
	struct proc_sample *worker = sample_find_proc(&s, 9), *zombie = sample_find_proc(&s, 702);

	(void)state;
	assert_true(worker && zombie);
	assert_string_equal(worker->comm, "kworker/0:0");
	assert_true(tree_has_command(&s, worker, "[kworker/0:0]"));
	assert_true(readings_has(&worker->r, PROC_RSS));
	assert_int_equal(worker->r.value[PROC_RSS], 0);
	assert_int_equal(zombie->state, 'Z');
	assert_true(tree_has_command(&s, zombie, "[true]"));
	assert_int_equal(zombie->r.value[PROC_VMS], 0);
	probe_tasks_proc.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_tasks_proc__allocates_nothing_when_nothing_changes(void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	struct sample s = { 0 };
	void *self = scan(&env, WANT_ALL, &s);
	struct err err = { 0 };
	struct sample before = s;

	(void)state;
	for (int i = 0; i < 3; i++) {
		sample_reset(&s);
		s.request.want = WANT_ALL;
		assert_int_equal(probe_tasks_proc.read(self, &s, &err), 0);
		assert_ptr_equal(s.procs.at, before.procs.at);
		assert_ptr_equal(s.text.at, before.text.at);
		assert_int_equal(s.text.len, before.text.len);
	}
	probe_tasks_proc.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_tasks_proc__counts_files_one_by_one_on_old_kernels(void **state)
{
	struct probe_env env = tree_frozen("proc-5.10");
	struct sample s = { 0 };
	void *self = scan(&env, WANT_ALL, &s);
	struct proc_sample *init = sample_find_proc(&s, 1), *postgres = sample_find_proc(&s, 642);

	(void)state;
	assert_true(init && postgres);
	assert_int_equal(postgres->r.value[PROC_FDS], 7);
	assert_int_equal(postgres->r.value[PROC_READ_BYTES], 7340032);
	assert_false(readings_has(&init->r, PROC_FDS)); /* not ours to read */
	assert_false(readings_has(&init->r, PROC_READ_BYTES));
	assert_true(tree_has_command(&s, init, "/sbin/init"));
	probe_tasks_proc.close(self);
	sample_done(&s);
	close(env.root_fd);
}

static void test_tasks_proc__leaves_files_and_io_out_when_they_are_not_wanted(void **state)
{
	struct probe_env env = tree_frozen("proc-5.10");
	struct sample s = { 0 };
	void *self = scan(&env, 0, &s);
	struct proc_sample *p = sample_find_proc(&s, 642);

	(void)state;
	assert_non_null(p);
	assert_false(readings_has(&p->r, PROC_FDS));
	assert_false(readings_has(&p->r, PROC_WRITE_BYTES));
	assert_true(readings_has(&p->r, PROC_RSS));
	probe_tasks_proc.close(self);
	sample_done(&s);
	close(env.root_fd);
}

#define STAT_REST                                                                                  \
	" S 1 9 9 0 -1 4194304 77 1 5 2 30 12 0 0 20 0 4 0 222 2990080 406 1 94440361689088 2 "    \
	"140726179857584 0\n"

static void put_process(struct tree *t, int pid, const char *comm)
{
	char path[64], text[512];

	snprintf(path, sizeof path, "proc/%d/stat", pid);
	snprintf(text, sizeof text, "%d (%s)%s", pid, comm, STAT_REST);
	tree_puts(t, path, text);
	snprintf(path, sizeof path, "proc/%d/statm", pid);
	tree_puts(t, path, "730 406 361 5 0 112 0\n");
}

static void test_tasks_proc__survives_a_hostile_tree(void **state)
{
	static const char *const names[] = { ") R 1 1 (",    "a\nb", "\x1b[31mred",
		                             "\xff\xc3\x28", "",     "%n%n%n" };
	char *huge = malloc(2 << 20);
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct proc_sample *p;
	void *self;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++)
		put_process(&t, 10 + (int)i, names[i]);
	memset(huge, 'x', 2 << 20);
	tree_write(&t, "proc/10/cmdline", huge, 2 << 20);
	tree_fifo(&t, "proc/11/cmdline");
	tree_fifo(&t, "proc/11/io");
	tree_write(&t, "proc/12/cmdline", "\x1b]0;x\x07\0\xff\0\0\0", 10);
	tree_puts(&t, "proc/20/stat", ""); /* ended in mid-read */
	tree_puts(&t, "proc/21/stat", "21 (short) S");
	tree_puts(&t, "proc/22/stat", "\0\xff garbage");
	tree_fifo(&t, "proc/23/stat");
	tree_puts(&t, "proc/24/nothing", "");
	put_process(&t, 25, "no-statm");
	tree_puts(&t, "proc/25/statm", "garbage");
	tree_puts(&t, "proc/26", "a file, no directory");
	tree_puts(&t, "proc/99bottles/stat", "");
	self = scan(&t.env, WANT_ALL, &s);
	assert_int_equal(s.procs.len, 7);
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		p = sample_find_proc(&s, 10 + (int)i);
		assert_non_null(p);
		assert_string_equal(p->comm, names[i]);
		assert_int_equal(p->state, 'S');
		assert_int_equal(p->ppid, 1);
	}
	assert_int_equal(sample_find_proc(&s, 10)->command.len, COMMAND_MAX);
	assert_true(tree_has_command(&s, sample_find_proc(&s, 11), "[a\nb]"));
	assert_true(tree_has_command(&s, sample_find_proc(&s, 12), "\x1b]0;x\x07 \xff"));
	assert_true(tree_has_command(&s, sample_find_proc(&s, 14), "[]"));
	p = sample_find_proc(&s, 25);
	assert_false(readings_has(&p->r, PROC_RSS) || readings_has(&p->r, PROC_VMS));
	probe_tasks_proc.close(self);
	sample_done(&s);
	tree_remove(&t);
	free(huge);
}

static void test_tasks_proc__refuses_a_root_without_proc(void **state)
{
	struct tree t = tree_new();
	struct err err = { 0 };
	void *self = NULL;

	(void)state;
	assert_int_equal(probe_tasks_proc.open(&t.env, &self, &err), -ENOENT);
	assert_string_equal(err.msg, "open '/proc': No such file or directory");
	tree_remove(&t);
}

static void test_tasks_proc__reports_that_hidepid_hides(void **state)
{
	struct tree t = tree_new();
	struct probe_health h;
	struct sample s = { 0 };
	void *self;

	(void)state;
	tree_puts(&t, "proc/self/mountinfo",
	          "22 27 0:21 / /proc rw,relatime - proc proc rw,hidepid=invisible\n");
	tree_puts(&t, "proc/self/status",
	          "Gid:\t1000\t1000\t1000\t1000\nGroups:\t4\nCapEff:\t0000000000000000\n");
	put_process(&t, 42, "mine");
	self = scan(&t.env, WANT_ALL, &s);
	assert_int_equal(s.procs.len, 1);
	assert_false(s.procs_complete);
	probe_tasks_proc.health(self, &h);
	assert_int_equal(h.state, PROBE_DEGRADED);
	assert_non_null(strstr(h.note, "hidepid"));
	probe_tasks_proc.close(self);
	sample_done(&s);
	tree_remove(&t);
}

RUN_TESTS(
	TEST(test_tasks_proc__reads_the_processes_of_a_frozen_machine),
	TEST(test_tasks_proc__gives_kernel_threads_and_zombies_no_memory_and_their_name_in_brackets),
	TEST(test_tasks_proc__allocates_nothing_when_nothing_changes),
	TEST(test_tasks_proc__counts_files_one_by_one_on_old_kernels),
	TEST(test_tasks_proc__leaves_files_and_io_out_when_they_are_not_wanted),
	TEST(test_tasks_proc__survives_a_hostile_tree),
	TEST(test_tasks_proc__refuses_a_root_without_proc),
	TEST(test_tasks_proc__reports_that_hidepid_hides))
