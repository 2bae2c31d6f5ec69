/* SPDX-License-Identifier: MIT */
/* The control group of a job, on the machine's own control groups. */
#include "kernel_kit.h"

#include "kernel/cgroup_dir.h"
#include "job/cgroup/cgroup_home.h"

static struct cgroup_home home;

static const char *home_v2(void)
{
	static char path[PATH_MAX + 1];

	snprintf(path, sizeof path, "/%s", home.v2.path);
	return path;
}

/* A group with a limit, or the test is skipped where no hierarchy can hold it. */
static struct job_cgroup *limited(enum job_limit limit, uint64_t value)
{
	struct job_cgroup *g = make_group("limited", limit, value);

	if (!g)
		skip();
	return g;
}

static void test_job_cgroup__counts_cpu_time_as_wait4_does(void **state)
{
	uint64_t each = 5 * NS_PER_MS, waited_ns = 0, counted_ns;
	struct job_cgroup *g = make_group("cpu", 0, 0);
	struct cgroup_readings r = { 0 };
	struct rusage ru;
	pid_t pids[50];

	assert_non_null(g);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		pids[i] = spawn(g, burn_ns, &each);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		assert_int_equal(wait4(pids[i], NULL, 0, &ru), pids[i]);
		waited_ns += ((uint64_t)ru.ru_utime.tv_sec + (uint64_t)ru.ru_stime.tv_sec) *
		             NS_PER_S;
		waited_ns += ((uint64_t)ru.ru_utime.tv_usec + (uint64_t)ru.ru_stime.tv_usec) *
		             NS_PER_US;
	}
	job_cgroup_read(g, &r);
	job_cgroup_close(g);
	assert_true(readings_has(&r, CGROUP_CPU));
	counted_ns = r.value[CGROUP_CPU];
	assert_true(counted_ns >= 50 * each);
	assert_in_range(counted_ns, waited_ns - NS_PER_MS, waited_ns + NS_PER_MS);
}

#define TOUCHED ((size_t)64 << 20)

static int touch_memory(void *arg)
{
	char *at = mmap(NULL, TOUCHED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)arg;
	EXPECT(at != MAP_FAILED);
	for (size_t i = 0; i < TOUCHED; i += 4096)
		at[i] = 1;
	return 0;
}

static void test_job_cgroup__knows_the_peak_of_memory(void **state)
{
	struct job_cgroup *g = make_group("peak", 0, 0);
	struct cgroup_readings r = { 0 };

	assert_non_null(g);
	assert_int_equal(reap(spawn(g, touch_memory, NULL)), 0);
	job_cgroup_read(g, &r);
	job_cgroup_close(g);
	if (!readings_has(&r, CGROUP_MEM_PEAK))
		skip(); /* v2 without the memory controller, and none on v1 */
	assert_in_range(r.value[CGROUP_MEM_PEAK], TOUCHED, TOUCHED + (16 << 20));
}

static void test_job_cgroup__kills_and_reports_processes_over_the_memory_limit(void **state)
{
	struct job_cgroup *g = limited(JOB_LIMIT_MEM, TOUCHED / 4);
	struct cgroup_readings r = { 0 };
	unsigned hit;
	int status;

	status = reap(spawn(g, touch_memory, NULL));
	hit = job_cgroup_limits_hit(g);
	job_cgroup_read(g, &r);
	job_cgroup_close(g);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	assert_int_equal(hit, 1u << JOB_LIMIT_MEM);
	assert_int_equal(readings_or(&r, CGROUP_OOM_KILLS, 0), 1);
}

static void test_job_cgroup__does_not_blame_a_limit_that_was_kept(void **state)
{
	struct job_cgroup *g = limited(JOB_LIMIT_MEM, 2 * TOUCHED);
	unsigned hit;
	int status;

	status = reap(spawn(g, touch_memory, NULL));
	hit = job_cgroup_limits_hit(g);
	job_cgroup_close(g);
	assert_int_equal(status, 0);
	assert_int_equal(hit, 0);
}

#define PIDS_LIMIT 8

/* How many children it could have. */
static int fork_many(void *arg)
{
	pid_t pids[2 * PIDS_LIMIT];
	int n = 0;

	(void)arg;
	while (n < 2 * PIDS_LIMIT && (pids[n] = fork()) > 0)
		n++;
	if (n < 2 * PIDS_LIMIT && pids[n] == 0)
		_exit(linger(NULL));
	for (int i = 0; i < n; i++) {
		kill(pids[i], SIGKILL);
		waitpid(pids[i], NULL, 0);
	}
	return n;
}

static void test_job_cgroup__refuses_and_reports_forks_past_the_limit(void **state)
{
	struct job_cgroup *g = limited(JOB_LIMIT_PIDS, PIDS_LIMIT);
	unsigned hit;
	int status;

	assert_false(job_cgroup_needs_rlimit_pids(
		g, (uint64_t[JOB_LIMIT_COUNT]){ [JOB_LIMIT_PIDS] = 8 }));
	status = reap(spawn(g, fork_many, NULL));
	hit = job_cgroup_limits_hit(g);
	job_cgroup_close(g);
	assert_int_equal(WEXITSTATUS(status), PIDS_LIMIT - 1);
	assert_int_equal(hit, 1u << JOB_LIMIT_PIDS);
}

static int burn_wall(void *arg)
{
	uint64_t until = clock_mono_ns() + *(const uint64_t *)arg;

	while (clock_mono_ns() < until)
		;
	return 0;
}

/* A share so small that it gets more even on a busy machine. */
static void test_job_cgroup__holds_a_job_to_its_share_of_a_core(void **state)
{
	struct job_cgroup *g = limited(JOB_LIMIT_CPU, 20);
	uint64_t wall_ns = 600 * NS_PER_MS;
	struct cgroup_readings r = { 0 };
	unsigned hit;

	assert_int_equal(reap(spawn(g, burn_wall, &wall_ns)), 0);
	hit = job_cgroup_limits_hit(g);
	job_cgroup_read(g, &r);
	job_cgroup_close(g);
	assert_int_equal(hit, 1u << JOB_LIMIT_CPU);
	assert_true(readings_or(&r, CGROUP_CPU_THROTTLED, 0) > 0);
	assert_true(r.value[CGROUP_CPU] < wall_ns / 2);
}

static void test_job_cgroup__is_refused_without_a_word_left_behind(void **state)
{
	uint64_t limit[JOB_LIMIT_COUNT] = {
		[JOB_LIMIT_MEM] = TOUCHED, [JOB_LIMIT_CPU] = UINT64_MAX / 2
	};
	struct job_cgroup *g = NULL;
	struct err err = { 0 };
	char why[256];

	/* No kernel takes that quota. */
	assert_int_equal(try_group("refused", limit, &g, why, &err), -ENOTSUP);
	assert_null(g);
	assert_non_null(strstr(err.msg, "--cpu"));
	assert_int_equal(count_dirs(home_v2(), CGROUP_DIR_PREFIX "refused"), 0);
}

/* A tree that never rests: each has two children and dies. */
static int fork_on(void *arg)
{
	(void)arg;
	alarm(20);
	for (;;) {
		pid_t pid = fork();

		if (pid == 0) {
			setsid();
			alarm(20);
		}
		while (waitpid(-1, NULL, WNOHANG) > 0)
			;
	}
	return 0;
}

/* Less than fork_on() lives, and more than the busiest machine needs. */
#define READS 10000

static bool is_empty_soon(int dir_fd)
{
	for (int i = 0; i < READS; i++) {
		if (cgroup_dir_pids(dir_fd, NULL, 0) == 0)
			return true;
		usleep(1000);
	}
	return false;
}

static bool is_grown_soon(int dir_fd)
{
	for (int i = 0; i < READS; i++) {
		if (cgroup_dir_pids(dir_fd, NULL, 0) > 16)
			return true;
		usleep(1000);
	}
	return false;
}

static void reap_all(void)
{
	while (waitpid(-1, NULL, 0) > 0)
		;
}

static void test_job_cgroup__kills_a_tree_that_forks_on(void **state)
{
	struct job_cgroup *g = limited(JOB_LIMIT_PIDS, 64);
	struct err err = { 0 };
	bool has_grown, was_killed, is_empty;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	spawn(g, fork_on, NULL);
	has_grown = is_grown_soon(job_cgroup_spawn_fd(g));
	was_killed = job_cgroup_kill(g, SIGKILL, &err) == 0;
	is_empty = is_empty_soon(job_cgroup_spawn_fd(g));
	job_cgroup_close(g);
	reap_all();
	assert_true(has_grown && was_killed && is_empty);
}

/* Without cgroup.kill: v1, and kernels before 5.14. */
static void test_cgdir_kill__kills_a_tree_that_forks_on_by_its_pids(void **state)
{
	const struct cgroup_dir *d = &home.dirs.of[CGROUP_FAMILY_PIDS];
	char name[CGROUP_DIR_NAME_MAX] = CGROUP_DIR_PREFIX "by-pids";
	int root = root_dir(), parent = openat(root, d->path, O_RDONLY | O_DIRECTORY | O_CLOEXEC),
	    dir;
	bool has_grown, was_killed, is_empty;
	pid_t pid;

	if (d->is_v2 || parent < 0)
		skip();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	dir = cgroup_dir_make(parent, name);
	assert_true(dir >= 0);
	assert_int_equal(cgroup_dir_write(dir, "pids.max", "64"), 0);
	pid = fork();
	if (pid == 0)
		_exit(cgroup_dir_write(dir, "cgroup.procs", "0") == 0 ? fork_on(NULL) : 1);
	has_grown = is_grown_soon(dir);
	was_killed = cgroup_dir_kill(dir, SIGKILL) == 0;
	is_empty = is_empty_soon(dir);
	assert_int_equal(cgroup_dir_remove(parent, name, dir), 0);
	reap_all();
	close(dir);
	close(parent);
	close(root);
	assert_true(has_grown && was_killed && is_empty);
}

static void test_job_cgroup__signals_everybody_once(void **state)
{
	struct job_cgroup *g = make_group("term", 0, 0);
	struct err err = { 0 };
	pid_t pids[5], listed[8];

	assert_non_null(g);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		pids[i] = spawn(g, linger, NULL);
	/* Each enters the groups of v1 by itself. */
	for (int i = 0; i < 5000 && job_cgroup_pids(g, listed, ARRAY_LEN(listed)) < ARRAY_LEN(pids); i++)
		usleep(1000);
	assert_int_equal(job_cgroup_pids(g, listed, ARRAY_LEN(listed)), ARRAY_LEN(pids));
	assert_int_equal(job_cgroup_kill(g, SIGTERM, &err), 0);
	for (size_t i = 0; i < ARRAY_LEN(pids); i++)
		assert_int_equal(WTERMSIG(reap(pids[i])), SIGTERM);
	assert_int_equal(job_cgroup_pids(g, listed, ARRAY_LEN(listed)), 0);
	job_cgroup_close(g);
}

static void test_job_cgroup__gives_leftovers_back_and_goes(void **state)
{
	struct job_cgroup *g = make_group("leftovers", 0, 0);
	char own[512], theirs[512], own_mem[512] = "", their_mem[512] = "";
	bool was_inside;
	pid_t pid;

	assert_non_null(g);
	pid = spawn(g, linger, NULL);
	assert_true(membership(getpid(), "0::", own) && membership(pid, "0::", theirs));
	was_inside = strstr(theirs, CGROUP_DIR_PREFIX "leftovers") != NULL;
	job_cgroup_close(g);
	assert_true(membership(pid, "0::", theirs));
	membership(getpid(), "memory:", own_mem);
	membership(pid, "memory:", their_mem);
	kill(pid, SIGKILL);
	reap(pid);
	assert_true(was_inside);
	assert_string_equal(theirs, own);
	assert_string_equal(their_mem, own_mem);
	assert_int_equal(count_dirs(home_v2(), CGROUP_DIR_PREFIX "leftovers"), 0);
}

static void test_job_cgroup__has_a_name_of_its_own(void **state)
{
	struct job_cgroup *a = make_group("../tw\nice", 0, 0), *b = make_group("../tw\nice", 0, 0);
	unsigned both = count_dirs(home_v2(), CGROUP_DIR_PREFIX ".._tw_ice");

	assert_true(a && b);
	job_cgroup_close(a);
	job_cgroup_close(b);
	assert_int_equal(both, 2);
	assert_int_equal(count_dirs(home_v2(), CGROUP_DIR_PREFIX ".._tw_ice"), 0);
}

static int leave_behind(void *arg)
{
	(void)arg;
	EXPECT(make_group("killed", 0, 0));
	return raise(SIGKILL);
}

static void test_job_cgroup__clears_away_what_killed_launchers_left(void **state)
{
	unsigned before, after;

	assert_int_equal(WTERMSIG(reap(child(leave_behind, NULL))), SIGKILL);
	before = count_dirs(home_v2(), CGROUP_DIR_PREFIX "killed");
	job_cgroup_close(make_group("next", 0, 0));
	after = count_dirs(home_v2(), CGROUP_DIR_PREFIX "killed");
	assert_int_equal(before, 1);
	assert_int_equal(after, 0);
}

#define SWEPT 1000

/* Never rests, but not for ever. */
static int keep_sweeping(void *arg)
{
	alarm(60);
	for (;;)
		cgroup_dir_sweep(*(const int *)arg);
	return 0;
}

/* The sweeper may have checked the one that had the name before. */
static void test_cgdir_make__is_not_swept_away_by_others(void **state)
{
	int root = root_dir(),
	    parent = openat(root, home.v2.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	unsigned made = 0, kept = 0;
	pid_t sweepers[2];

	assert_true(parent >= 0);
	for (size_t i = 0; i < ARRAY_LEN(sweepers); i++)
		sweepers[i] = child(keep_sweeping, &parent);
	for (int i = 0; i < SWEPT; i++) {
		char name[CGROUP_DIR_NAME_MAX] = CGROUP_DIR_PREFIX "again";
		int dir = cgroup_dir_make(parent, name);

		if (dir < 0)
			continue;
		sched_yield();
		made++;
		kept += cgroup_dir_has(dir, "cgroup.procs");
		(void)!cgroup_dir_remove(parent, name, dir);
		close(dir);
	}
	for (size_t i = 0; i < ARRAY_LEN(sweepers); i++) {
		kill(sweepers[i], SIGKILL);
		reap(sweepers[i]);
	}
	cgroup_dir_sweep(parent);
	close(parent);
	close(root);
	assert_true(made > SWEPT * 9 / 10); /* nobody else sweeps without a rest */
	assert_int_equal(kept, made);
}

static void test_job_cgroup__of_an_inner_job_lies_inside_and_goes_with_the_outer(void **state)
{
	struct job_cgroup *g = make_group("outer", 0, 0);
	char path[PATH_MAX + 64];
	unsigned inner;

	assert_non_null(g);
	assert_int_equal(WTERMSIG(reap(spawn(g, leave_behind, NULL))), SIGKILL);
	snprintf(path, sizeof path, "%s/" CGROUP_DIR_PREFIX "outer", home_v2());
	inner = count_dirs(path, CGROUP_DIR_PREFIX "killed");
	job_cgroup_close(g);
	assert_int_equal(inner, 1);
	assert_int_equal(count_dirs(home_v2(), CGROUP_DIR_PREFIX "outer"), 0);
}

/* Reports when its group is there, and closes it on request. */
static int outlive_outer(void *arg)
{
	struct job_cgroup *g = make_group("inner", 0, 0);
	int *pipes = arg;
	char byte = 0;
	pid_t pid;

	EXPECT(g && (pid = spawn(g, linger, NULL)) > 0);
	EXPECT(write(pipes[1], "", 1) == 1 && read(pipes[2], &byte, 1) == 1);
	EXPECT(job_cgroup_pids(g, NULL, 0) == 1);
	EXPECT(kill(pid, SIGKILL) == 0 && waitpid(pid, NULL, 0) == pid);
	job_cgroup_close(g);
	return 0;
}

static void test_job_cgroup__of_an_inner_job_that_lives_on_is_left_alone(void **state)
{
	struct job_cgroup *g = make_group("outer", 0, 0);
	int pipes[4]; /* from it, to it */
	unsigned stayed;
	char byte;
	pid_t pid;

	assert_non_null(g);
	assert_true(pipe2(pipes, O_CLOEXEC) == 0 && pipe2(pipes + 2, O_CLOEXEC) == 0);
	pid = spawn(g, outlive_outer, pipes);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	job_cgroup_close(g);
	stayed = count_dirs(home_v2(), CGROUP_DIR_PREFIX "outer");
	assert_int_equal(write(pipes[3], "", 1), 1);
	assert_int_equal(reap(pid), 0);
	for (size_t i = 0; i < ARRAY_LEN(pipes); i++)
		close(pipes[i]);
	assert_int_equal(stayed, 1);
	assert_int_equal(count_dirs(home_v2(), CGROUP_DIR_PREFIX "outer"), 0);
}

RUN_GROUP_TESTS(&home, TEST(test_job_cgroup__counts_cpu_time_as_wait4_does),
                TEST(test_job_cgroup__knows_the_peak_of_memory),
                TEST(test_job_cgroup__kills_and_reports_processes_over_the_memory_limit),
                TEST(test_job_cgroup__does_not_blame_a_limit_that_was_kept),
                TEST(test_job_cgroup__refuses_and_reports_forks_past_the_limit),
                TEST(test_job_cgroup__holds_a_job_to_its_share_of_a_core),
                TEST(test_job_cgroup__is_refused_without_a_word_left_behind),
                TEST(test_job_cgroup__kills_a_tree_that_forks_on),
                TEST(test_cgdir_kill__kills_a_tree_that_forks_on_by_its_pids),
                TEST(test_job_cgroup__signals_everybody_once),
                TEST(test_job_cgroup__gives_leftovers_back_and_goes),
                TEST(test_job_cgroup__has_a_name_of_its_own),
                TEST(test_job_cgroup__clears_away_what_killed_launchers_left),
                TEST(test_cgdir_make__is_not_swept_away_by_others),
                TEST(test_job_cgroup__of_an_inner_job_lies_inside_and_goes_with_the_outer),
                TEST(test_job_cgroup__of_an_inner_job_that_lives_on_is_left_alone))
