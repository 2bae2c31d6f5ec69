/* SPDX-License-Identifier: MIT */
#include <grp.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "kernel/process_files.h"
#include "fake_machine.h"

#define KIB 1024

static void test_process_files_parse_rollup__adds_what_is_private(void **state)
{
	struct proc_readings r = { 0 };

	(void)state;
	assert_true(process_files_parse(
		PROCESS_ROLLUP,
		scan_str(
			"55e49c35e000-7ffd5df62000 ---p 00000000 00:00 0                          [rollup]\n"
			"Rss:                1800 kB\nPss:                 323 kB\nPss_Dirty:           112 kB\n"
			"Shared_Clean:       1652 kB\nPrivate_Clean:        36 kB\nPrivate_Dirty:       112 kB\n"
			"Private_Hugetlb:    2048 kB\n"),
		&r));
	assert_int_equal(r.value[PROC_PSS], 323 * 1024);
	assert_int_equal(r.value[PROC_USS], (36 + 112 + 2048) * 1024);
	assert_false(
		process_files_parse(PROCESS_ROLLUP, scan_str("Pss:                 323 kB\n"), &r));
	assert_false(process_files_parse(PROCESS_ROLLUP, scan_str(""), &r));
}

static void test_process_files_parse_pss__knows_what_is_shared_if_only_anonymous_pages_are_dirty(
	void **state)
{
	struct proc_pss pss = process_files_parse_pss(scan_str(
		"Rss:              358144 kB\nPss_Anon:         104363 kB\nPss_Shmem:             0 kB\n"
		"Shared_Dirty:     313452 kB\nPrivate_Dirty:     41656 kB\n"
		"Anonymous:        355108 kB\n"));

	(void)state;
	assert_int_equal(pss.anon_bytes, 104363 * 1024);
	assert_int_equal(pss.whole_anon_bytes, 355108 * 1024);
	assert_true(pss.knows_shared_anon);
	assert_int_equal(pss.shared_anon_bytes, 313452 * 1024);
	pss = process_files_parse_pss(
		scan_str("Shared_Dirty: 4 kB\nPrivate_Dirty: 8 kB\nAnonymous: 8 kB\n"));
	assert_false(pss.knows_shared_anon);
}

static void test_process_files_parse_fd_limit__takes_the_soft_one(void **state)
{
	struct proc_readings r = { 0 };

	(void)state;
	assert_true(process_files_parse(
		PROCESS_LIMITS,
		scan_str(
			"Limit                     Soft Limit           Hard Limit           Units     \n"
			"Max cpu time              unlimited            unlimited            seconds   \n"
			"Max open files            1024                 524288               files     \n"),
		&r));
	assert_int_equal(r.value[PROC_FD_LIMIT], 1024);
	assert_false(process_files_parse(
		PROCESS_LIMITS,
		scan_str(
			"Max open files            unlimited            unlimited            files\n"),
		&r));
	assert_int_equal(r.value[PROC_FD_LIMIT], 1024);
}

static void test_process_files_parse_peak__finds_the_high_water_mark(void **state)
{
	struct proc_readings r = { 0 };

	(void)state;
	assert_true(process_files_parse(
		PROCESS_STATUS,
		scan_str(
			"Name:\tpython3\nVmPeak:\t  243688 kB\nVmHWM:\t   17220 kB\nVmRSS:\t 1 kB\n"),
		&r));
	assert_int_equal(r.value[PROC_PEAK_RSS], 17220 * 1024);
	assert_false(process_files_parse(PROCESS_STATUS, scan_str("Name:\tkthreadd\n"), &r));
}

static void test_process_files_parse_shmem__finds_shared_memory_or_none(void **state)
{
	(void)state;
	assert_int_equal(process_files_parse_shmem(scan_str(
				 "Name:\tcat\nRssFile:\t     2000 kB\nRssShmem:\t      104 kB\n")),
	                 104 * 1024);
	assert_int_equal(process_files_parse_shmem(scan_str("Name:\tkthreadd\n")), 0);
}

static void test_process_details__reads_a_frozen_machine(void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	struct sample s = { .request.want = WANT_ALL };
	void *tasks = tree_probe(&probe_tasks_proc, &env, &s),
	     *self = tree_probe(&probe_detail, &env, &s);
	struct proc_sample *sleeper = sample_find_proc(&s, 700), *worker = sample_find_proc(&s, 9);
	struct err err;

	(void)state;
	assert_int_equal(sleeper->r.value[PROC_PSS], 323 * 1024);
	assert_true(readings_has(&sleeper->r, PROC_USS) &&
	            readings_has(&sleeper->r, PROC_PEAK_RSS));
	assert_true(readings_has(&sleeper->r, PROC_FD_LIMIT));
	assert_false(readings_has(&worker->r, PROC_PSS) || readings_has(&worker->r, PROC_FD_LIMIT));
	assert_true(sleeper->pss.is_fresh);
	s.request.want = WANT_FDS_IO |
	                 WANT_LIMITS; /* the next tick keeps it, and others may share by then */
	assert_int_equal(probe_detail.read(self, &s, &err), 0);
	assert_int_equal(sleeper->r.value[PROC_PSS], 323 * 1024);
	assert_false(sleeper->pss.is_fresh || sleeper->pss.is_current);
	probe_detail.close(self);
	probe_tasks_proc.close(tasks);
	sample_done(&s);
	close(env.root_fd);
}

/* ---- turns ----------------------------------------------------------------------------------- */

#define STAT_REST                                                                                  \
	" (p) S 1 9 9 0 -1 4194304 77 1 5 2 30 12 0 0 20 0 4 0 222 2990080 406 1 1 1 0 0\n"

static void put_process(const struct tree *t, int pid)
{
	char path[64], text[256];

	snprintf(path, sizeof path, "proc/%d/stat", pid);
	snprintf(text, sizeof text, "%d%s", pid, STAT_REST);
	tree_puts(t, path, text);
	snprintf(path, sizeof path, "proc/%d/smaps_rollup", pid);
	tree_puts(t, path, "Pss: 10 kB\nPrivate_Clean: 1 kB\nPrivate_Dirty: 2 kB\n");
}

/* As the tasks probe would, a second later: processes first … first + n - 1, the later the larger. */
static void fill_sample(struct sample *s, int first, int n)
{
	uint64_t last_ns = s->mono_ns;

	sample_reset(s);
	s->mono_ns = last_ns + NS_PER_S;
	s->request.want = WANT_ALL;
	for (int i = 0; i < n; i++) {
		struct proc_sample *p = sample_add_proc(s);

		p->id = (struct proc_id){ first + i, 222 };
		p->state = 'S';
		readings_set(&p->r, PROC_RSS, (uint64_t)(i + 1) * 4096);
	}
}

static void add_focus(struct sample *s, struct proc_id id)
{
	struct proc_id *focus = vec_push(&s->request.focus, 16);

	if (focus)
		*focus = id;
}

static size_t count_pss(const struct sample *s)
{
	size_t n = 0;

	vec_each(&s->procs, p)
		n += readings_has(&p->r, PROC_PSS);
	return n;
}

static void test_process_details__gives_all_their_turn_the_largest_first(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct err err = { 0 };
	size_t seen = 0;
	void *self;

	(void)state;
	for (int pid = 1000; pid < 1080; pid++)
		put_process(&t, pid);
	fill_sample(&s, 1000, 80);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_in_range(count_pss(&s), 1, 32);
	assert_true(readings_has(&s.procs.at[79].r, PROC_PSS));
	assert_false(readings_has(&s.procs.at[0].r, PROC_PSS));
	for (int tick = 0; tick < 100 && seen < 80; tick++) {
		fill_sample(&s, 1000, 80);
		assert_int_equal(probe_detail.read(self, &s, &err), 0);
		assert_true(count_pss(&s) >= seen); /* what was read stays */
		seen = count_pss(&s);
	}
	assert_int_equal(seen, 80);
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__reads_processes_of_jobs_first(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	void *self;

	(void)state;
	for (int pid = 1000; pid < 1080; pid++)
		put_process(&t, pid);
	fill_sample(&s, 1000, 80);
	add_focus(&s, (struct proc_id){ 1000, 222 });
	add_focus(&s, (struct proc_id){ 1001, 99 }); /* another life of this pid */
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_true(readings_has(&s.procs.at[0].r, PROC_PSS));
	assert_false(readings_has(&s.procs.at[1].r, PROC_PSS));
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__does_not_mix_up_two_lives_of_a_pid(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct err err = { 0 };
	void *self;

	(void)state;
	put_process(&t, 1000);
	fill_sample(&s, 1000, 1);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_true(readings_has(&s.procs.at[0].r, PROC_PSS));
	fill_sample(&s, 1000, 1);
	s.procs.at[0].id.start_ticks =
		333; /* the sample is about the next life, the tree still shows the old one */
	assert_int_equal(probe_detail.read(self, &s, &err), 0);
	assert_false(readings_has(&s.procs.at[0].r, PROC_PSS));
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__keeps_what_a_process_shared_that_ends_while_it_is_read(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct err err = { 0 };
	void *self;

	(void)state;
	put_process(&t, 1000);
	tree_puts(&t, "proc/1000/status", "Name:\tx\nVmHWM:\t 1000 kB\nRssShmem:\t 1000 kB\n");
	fill_sample(&s, 1000, 1);
	readings_set(&s.procs.at[0].r, PROC_RSS, 1000 * KIB);
	add_focus(&s, s.procs.at[0].id);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_int_equal(s.procs.at[0].shmem_bytes, 1000 * KIB);
	tree_puts(&t, "proc/1000/status", "Name:\tx\n");
	tree_puts(&t, "proc/1000/smaps_rollup", "");
	fill_sample(&s, 1000, 1);
	readings_set(&s.procs.at[0].r, PROC_RSS, 1500 * KIB); /* it had grown before */
	add_focus(&s, s.procs.at[0].id);
	assert_int_equal(probe_detail.read(self, &s, &err), 0);
	assert_int_equal(s.procs.at[0].shmem_bytes, 1500 * KIB);
	assert_true(readings_has(&s.procs.at[0].r, PROC_PSS));
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

/* The first of them, at the next tick, with a child of that run of a program. */
static bool is_read_again(void *self, struct sample *s, uint64_t child_exec_id)
{
	struct err err = { 0 };

	fill_sample(s, 1000, child_exec_id ? 2 : 1);
	s->procs.at[0].exec_id = 7;
	if (child_exec_id) {
		s->procs.at[1].ppid = 1000;
		s->procs.at[1].exec_id = child_exec_id;
	}
	assert_int_equal(probe_detail.read(self, s, &err), 0);
	return s->procs.at[0].pss.is_fresh;
}

static void test_process_details__reads_a_process_again_that_has_forked(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	void *self;

	(void)state;
	put_process(&t, 1000);
	put_process(&t, 1001);
	fill_sample(&s, 1000, 1);
	s.procs.at[0].exec_id = 7;
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_true(s.procs.at[0].pss.is_fresh);
	assert_false(is_read_again(self, &s, 0));
	assert_true(is_read_again(self, &s, 7));
	assert_false(is_read_again(self, &s, 7)); /* the same child */
	probe_detail.close(self);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_false(is_read_again(self, &s, 8)); /* a child that runs another program */
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

/* Three of one family, at the next tick. The last of them may have grown. */
static void read_family(void *self, struct sample *s, int members, uint64_t last_rss)
{
	struct err err = { 0 };

	fill_sample(s, 1000, members);
	vec_each(&s->procs, p) {
		p->exec_id = 7;
		p->ppid = p->id.pid == 1000 ? 1 : 1000;
		add_focus(s, p->id);
	}
	if (last_rss)
		readings_set(&s->procs.at[members - 1].r, PROC_RSS, last_rss);
	assert_int_equal(probe_detail.read(self, s, &err), 0);
}

static bool are_all(const struct sample *s, bool is_so(const struct proc_pss *))
{
	vec_each(&s->procs, p)
		if (!is_so(&p->pss))
			return false;
	return true;
}

static bool is_fresh(const struct proc_pss *pss)
{
	return pss->is_fresh;
}

static bool is_current(const struct proc_pss *pss)
{
	return pss->is_current;
}

static void test_process_details__reads_a_whole_family_again_after_one_of_it_changed(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	void *self;

	(void)state;
	for (int pid = 1000; pid < 1003; pid++)
		put_process(&t, pid);
	fill_sample(&s, 1000, 0);
	self = tree_probe(&probe_detail, &t.env, &s);
	read_family(self, &s, 3, 0); /* new: they may be gone at the next tick */
	read_family(self, &s, 3, 0);
	assert_true(are_all(&s, is_fresh) && are_all(&s, is_current));
	read_family(self, &s, 3, 0);
	assert_true(!s.procs.at[0].pss.is_fresh && are_all(&s, is_current));
	read_family(self, &s, 3, 80 * 4096); /* what it copied is no longer shared by the others */
	assert_true(are_all(&s, is_fresh) && are_all(&s, is_current));
	read_family(self, &s, 2, 0); /* the third has ended */
	assert_true(are_all(&s, is_fresh) && are_all(&s, is_current));
	read_family(self, &s, 2, 0);
	assert_true(!s.procs.at[0].pss.is_fresh && are_all(&s, is_current));
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

/* What it ran before is gone, and what it runs now cannot be known yet. */
static void test_process_details__of_an_old_program_are_not_those_of_one_in_mid_exec(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	struct err err;
	void *self;

	(void)state;
	put_process(&t, 1000);
	fill_sample(&s, 1000, 1);
	s.procs.at[0].exec_id = 7;
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_true(readings_has(&s.procs.at[0].r, PROC_PSS));
	fill_sample(&s, 1000, 1);
	s.procs.at[0].exec_id = 0;
	assert_int_equal(probe_detail.read(self, &s, &err), 0);
	assert_false(readings_has(&s.procs.at[0].r, PROC_PSS));
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__rests_when_it_is_not_wanted(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	void *self;

	(void)state;
	put_process(&t, 1000);
	fill_sample(&s, 1000, 1);
	s.request.want = WANT_FDS_IO;
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_int_equal(count_pss(&s), 0);
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__reads_the_limits_of_jobs_alone_when_no_more_is_wanted(
	void **state)
{
	struct probe_env env = tree_frozen("proc-6.18");
	struct sample s = { .request.want = WANT_FDS_IO };
	void *tasks = tree_probe(&probe_tasks_proc, &env, &s), *self = NULL;
	struct proc_sample *sleeper = sample_find_proc(&s, 700);
	struct err err;

	(void)state;
	s.request.want = WANT_FDS_IO | WANT_LIMITS;
	add_focus(&s, sleeper->id);
	self = tree_probe(&probe_detail, &env, &s);
	assert_true(readings_has(&sleeper->r, PROC_FD_LIMIT));
	assert_int_equal(count_pss(&s), 0);
	vec_each(&s.procs, p)
		assert_true(p == sleeper || !readings_has(&p->r, PROC_FD_LIMIT));
	sleeper->r.present = UINT64_C(1) << PROC_RSS; /* as the next tick finds it */
	assert_int_equal(probe_detail.read(self, &s, &err), 0);
	assert_true(readings_has(&sleeper->r, PROC_FD_LIMIT));
	probe_detail.close(self);
	probe_tasks_proc.close(tasks);
	sample_done(&s);
	close(env.root_fd);
}

static void put_limit(const struct tree *t, int pid, unsigned limit)
{
	char path[64], text[128];

	snprintf(path, sizeof path, "proc/%d/limits", pid);
	snprintf(text, sizeof text,
	         "Max open files            %u                 524288               files     \n",
	         limit);
	tree_puts(t, path, text);
}

/* The next tick with n processes of a job with so many open files each: the limit of the first as it
 * is reported, and of how many it is `limit`. */
static size_t tick_limits(void *self, struct sample *s, int n, uint64_t fds, uint64_t limit)
{
	struct err err = { 0 };
	size_t count = 0;

	fill_sample(s, 1000, n);
	s->request.want = WANT_FDS_IO | WANT_LIMITS;
	vec_reset(&s->request.focus);
	vec_each(&s->procs, p) {
		struct proc_id *focus = vec_push(&s->request.focus, 1000);

		*focus = p->id;
		readings_set(&p->r, PROC_FDS, fds);
	}
	assert_int_equal(probe_detail.read(self, s, &err), 0);
	vec_each(&s->procs, p)
		count += readings_or(&p->r, PROC_FD_LIMIT, 0) == limit;
	return count;
}

static void test_process_details__asks_for_a_limit_again_before_it_seems_reached(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	void *self;

	(void)state;
	put_process(&t, 1000);
	put_limit(&t, 1000, 256);
	fill_sample(&s, 0, 0);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_int_equal(tick_limits(self, &s, 1, 5, 256), 1);
	put_limit(&t, 1000, 4096);
	assert_int_equal(tick_limits(self, &s, 1, 605, 4096), 1);
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__notices_within_a_few_ticks_that_a_limit_is_lower(void **state)
{
	struct tree t = tree_new();
	struct sample s = { 0 };
	int ticks = 1;
	void *self;

	(void)state;
	put_process(&t, 1000);
	put_limit(&t, 1000, 1024);
	fill_sample(&s, 0, 0);
	self = tree_probe(&probe_detail, &t.env, &s);
	assert_int_equal(tick_limits(self, &s, 1, 5, 1024), 1);
	put_limit(&t, 1000, 100);
	while (ticks < 100 && !tick_limits(self, &s, 1, 93, 100))
		ticks++;
	assert_in_range(ticks, 2, 8);
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

static void test_process_details__asks_a_crowd_for_their_limits_in_turns(void **state)
{
	enum { CROWD = 300 };
	struct tree t = tree_new();
	struct sample s = { 0 };
	size_t before, seen = 0;
	int ticks;
	void *self;

	(void)state;
	for (int pid = 1000; pid < 1000 + CROWD; pid++) {
		put_process(&t, pid);
		put_limit(&t, pid, 1024);
	}
	fill_sample(&s, 0, 0);
	self = tree_probe(&probe_detail, &t.env, &s);
	for (ticks = 0; ticks < 200 && seen < CROWD; ticks++)
		seen = tick_limits(self, &s, CROWD, 5, 1024);
	for (int pid = 1000; pid < 1000 + CROWD; pid++)
		put_limit(&t, pid, 100);
	for (ticks = 0, seen = 0; ticks < 200 && seen < CROWD; ticks++) {
		before = seen;
		seen = tick_limits(self, &s, CROWD, 5, 100);
		assert_in_range(seen - before, 0, 32);
	}
	assert_int_equal(seen, CROWD);
	probe_detail.close(self);
	sample_done(&s);
	tree_remove(&t);
}

/* ---- on the live machine --------------------------------------------------------------------- */

static void test_process_details__agrees_with_what_this_process_knows_of_itself(void **state)
{
	struct probe_env env = tree_live();
	struct sample s = { .request.want = WANT_ALL };
	void *tasks = tree_probe(&probe_tasks_proc, &env, &s), *self = NULL;
	struct proc_sample *me = sample_find_proc(&s, getpid());

	(void)state;
	assert_non_null(me);
	add_focus(&s, me->id);
	self = tree_probe(&probe_detail, &env, &s);
	assert_true(me->r.value[PROC_USS] <= me->r.value[PROC_PSS]);
	assert_true(me->r.value[PROC_PSS] <= me->r.value[PROC_RSS] * 2);
	assert_true(me->r.value[PROC_PEAK_RSS] + (1 << 20) >= me->r.value[PROC_RSS]);
	assert_int_equal(me->r.value[PROC_FD_LIMIT], sysconf(_SC_OPEN_MAX));
	probe_detail.close(self);
	probe_tasks_proc.close(tasks);
	sample_done(&s);
	close(env.root_fd);
}

/* As nobody: our parent is root's. 0 when the refusal was remembered and reported. Of the note, processes that hang come first: another
 * test may have some. */
static int read_as_nobody(const struct probe_env *env)
{
	struct sample s = { .request.want = WANT_ALL };
	struct probe_health h;
	struct proc_sample *parent;
	void *tasks, *self;

	if (setgroups(0, NULL) < 0 || setgid(65534) < 0 || setuid(65534) < 0)
		return 9;
	tasks = tree_probe(&probe_tasks_proc, env, &s);
	parent = sample_find_proc(&s, getppid());
	if (!parent)
		return 8;
	add_focus(&s, parent->id);
	self = tree_probe(&probe_detail, env, &s);
	probe_detail.health(self, &h);
	if (readings_has(&parent->r, PROC_PSS) || !readings_has(&parent->r, PROC_PEAK_RSS))
		return 1;
	if (h.state != PROBE_DEGRADED ||
	    (!strstr(h.note, "other users'") && !strstr(h.note, "hangs")))
		return 2;
	probe_detail.close(self);
	probe_tasks_proc.close(tasks);
	sample_done(&s);
	return 0;
}

static void test_process_details__leaves_what_is_not_ours(void **state)
{
	struct probe_env env = tree_live();
	pid_t child;
	int status;

	(void)state;
	if (geteuid() != 0)
		skip();
	child = fork();
	if (child == 0)
		_exit(read_as_nobody(&env));
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(env.root_fd);
}

RUN_TESTS(
	TEST(test_process_files_parse_rollup__adds_what_is_private),
	TEST(test_process_files_parse_pss__knows_what_is_shared_if_only_anonymous_pages_are_dirty),
	TEST(test_process_files_parse_fd_limit__takes_the_soft_one),
	TEST(test_process_files_parse_shmem__finds_shared_memory_or_none),
	TEST(test_process_files_parse_peak__finds_the_high_water_mark),
	TEST(test_process_details__reads_a_frozen_machine),
	TEST(test_process_details__gives_all_their_turn_the_largest_first),
	TEST(test_process_details__reads_processes_of_jobs_first),
	TEST(test_process_details__reads_a_process_again_that_has_forked),
	TEST(test_process_details__reads_a_whole_family_again_after_one_of_it_changed),
	TEST(test_process_details__keeps_what_a_process_shared_that_ends_while_it_is_read),
	TEST(test_process_details__does_not_mix_up_two_lives_of_a_pid),
	TEST(test_process_details__of_an_old_program_are_not_those_of_one_in_mid_exec),
	TEST(test_process_details__rests_when_it_is_not_wanted),
	TEST(test_process_details__reads_the_limits_of_jobs_alone_when_no_more_is_wanted),
	TEST(test_process_details__asks_for_a_limit_again_before_it_seems_reached),
	TEST(test_process_details__notices_within_a_few_ticks_that_a_limit_is_lower),
	TEST(test_process_details__asks_a_crowd_for_their_limits_in_turns),
	TEST(test_process_details__agrees_with_what_this_process_knows_of_itself),
	TEST(test_process_details__leaves_what_is_not_ours))
