/* SPDX-License-Identifier: MIT */
/* How processes end, and what they have used by then, held against wait4. */
#include <pthread.h>
#include <sys/resource.h>
#include <time.h>

#include "kernel_kit.h"

#define BURNERS 50

static bool has_totals(const struct event *e)
{
	return e && readings_has(&e->final, PROC_CPU_TIME);
}

/* Totals come with the exit, or after it. NULL when they do not: some kernels run no program while
 * certain processes are on the CPU, and what the kernel does there, for others too, stays
 * unreported. */
static const struct event *wait_for_totals(struct live *live, pid_t pid)
{
	const struct event *e = await(live, EVENT_EXIT, pid);

	return has_totals(e) ? e : wait_for(live, EVENT_TOTALS, pid);
}

#define TRIES 5 /* for totals that may stay unreported */

static uint64_t cpu_of(const struct rusage *r)
{
	return (uint64_t)(r->ru_utime.tv_sec + r->ru_stime.tv_sec) * NS_PER_S +
	       (uint64_t)(r->ru_utime.tv_usec + r->ru_stime.tv_usec) * NS_PER_US;
}

/* wait4 asks while the dead may still be running on another CPU: what that takes comes on top. */
static void assert_near(uint64_t got, uint64_t want)
{
	if (got + want / 100 < want || got > want + want / 100 + NS_PER_MS)
		fail_msg("%lu ns is not near %lu ns", (unsigned long)got, (unsigned long)want);
}

static void assert_totals(const struct event *e, const struct rusage *used)
{
	assert_near(e->final.value[PROC_CPU_TIME], cpu_of(used));
	assert_int_equal(e->final.value[PROC_PEAK_RSS], used->ru_maxrss * 1024);
	assert_int_equal(e->final.value[PROC_MINOR_FAULTS], used->ru_minflt);
	assert_int_equal(e->final.value[PROC_MAJOR_FAULTS], used->ru_majflt);
}

static void test_lifecycle_bpf__totals_are_those_of_wait4(void **state)
{
	struct live *live = *state;
	uint64_t cpu_ns = 20 * NS_PER_MS, sum = 0, sum_of_wait4 = 0;
	pid_t pids[BURNERS];
	struct rusage used[BURNERS];
	int reported_count = 0;

	for (int i = 0; i < BURNERS; i++) {
		pids[i] = child(burn_ns, &cpu_ns);
		assert_int_equal(wait4(pids[i], NULL, 0, &used[i]), pids[i]);
		live_read(live); /* others may fill the ring */
	}
	for (int i = 0; i < BURNERS; i++) {
		const struct event *e = wait_for_totals(live, pids[i]);

		if (!e)
			continue;
		assert_totals(e, &used[i]);
		sum += e->final.value[PROC_CPU_TIME];
		sum_of_wait4 += cpu_of(&used[i]);
		reported_count++;
	}
	assert_true(reported_count >= BURNERS - 3);
	assert_true(sum * 100 >= sum_of_wait4 * 99 && sum * 100 <= sum_of_wait4 * 101);
}

static void *burn_thread(void *cpu_ns)
{
	struct timespec t = { 0 };

	while ((uint64_t)t.tv_sec * NS_PER_S + (uint64_t)t.tv_nsec < *(const uint64_t *)cpu_ns)
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return NULL;
}

static int burn_in_threads(void *cpu_ns)
{
	pthread_t threads[4];

	for (int i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, burn_thread, cpu_ns);
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

static void test_lifecycle_bpf__threads_are_counted_once_each(void **state)
{
	struct live *live = *state;
	uint64_t cpu_ns = 30 * NS_PER_MS;
	const struct event *e = NULL;
	struct rusage used;

	for (int i = 0; i < TRIES && !e; i++) {
		pid_t pid = child(burn_in_threads, &cpu_ns);

		wait4(pid, NULL, 0, &used);
		e = wait_for_totals(live, pid);
	}
	assert_true(has_totals(e));
	assert_near(e ? e->final.value[PROC_CPU_TIME] : 0, cpu_of(&used));
}

/* Nobody waits for a child of a process that ignores SIGCHLD: the kernel reaps it while it still runs. */
static int leave_unreaped(void *cpu_ns)
{
	signal(SIGCHLD, SIG_IGN);
	pid_t pid = child(burn_ns, cpu_ns);
	while (waitpid(pid, NULL, 0) >= 0)
		;
	return 0;
}

static pid_t child_of(const struct live *live, pid_t parent)
{
	vec_each(&live->out.events, e)
		if (e->kind == EVENT_SPAWN && e->ppid == parent)
			return e->id.pid;
	fail_msg("pid %d has no child", parent);
	return 0;
}

static const struct event *totals_of_unreaped(struct live *live, uint64_t cpu_ns)
{
	pid_t parent = child(leave_unreaped, &cpu_ns);

	reap(parent);
	await(live, EVENT_EXIT, parent);
	return wait_for_totals(live, child_of(live, parent));
}

static void test_lifecycle_bpf__totals_are_exact_where_wait4_is_blind(void **state)
{
	uint64_t cpu_ns = 9 * NS_PER_MS, got;
	const struct event *e = NULL;

	for (int i = 0; i < TRIES && !e; i++)
		e = totals_of_unreaped(*state, cpu_ns);
	assert_true(has_totals(e));
	got = e ? e->final.value[PROC_CPU_TIME] : 0;
	/* The kernel's work for the end of the process comes on top. */
	assert_true(got >= cpu_ns);
	assert_true(got <= cpu_ns + 3 * NS_PER_MS);
}

static void test_lifecycle_bpf__reports_the_exit_code(void **state)
{
	struct live *live = *state;
	int code = 42;
	pid_t pid = child(exit_with, &code);

	reap(pid);
	const struct event *e = await(live, EVENT_EXIT, pid);
	assert_true(e->has_exit_code);
	assert_int_equal(e->exit_code, 42);
	assert_int_equal(e->signal, 0);
}

static const struct event *totals_of_zombie(struct live *live)
{
	int code = 3;
	pid_t pid = child(exit_with, &code);
	const struct event *e = await(live, EVENT_EXIT, pid);

	assert_int_equal(e->exit_code, 3);
	assert_false(has_totals(e));
	assert_null(find(live, EVENT_TOTALS, pid));
	reap(pid);
	e = wait_for(live, EVENT_TOTALS, pid);
	assert_int_equal(count(live, EVENT_EXIT, pid), 1);
	return e;
}

static void test_lifecycle_bpf__a_zombie_is_reported_and_its_totals_when_it_is_reaped(void **state)
{
	const struct event *e = NULL;

	for (int i = 0; i < TRIES && !e; i++)
		e = totals_of_zombie(*state);
	assert_true(has_totals(e));
}

static void *outlive(void *arg)
{
	(void)arg;
	usleep(50000);
	_exit(5);
}

static int leader_first(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, outlive, arg);
	pthread_exit(NULL);
}

static void test_lifecycle_bpf__a_process_ends_with_its_last_thread(void **state)
{
	struct live *live = *state;
	uint64_t before = clock_boot_ns();
	pid_t pid = child(leader_first, NULL);

	assert_int_equal(WEXITSTATUS(reap(pid)), 5);
	const struct event *e = await(live, EVENT_EXIT, pid);
	assert_true(e->boot_ns >= before + 50 * NS_PER_MS);
	assert_int_equal(e->exit_code, 5);
	assert_int_equal(count(live, EVENT_EXIT, pid), 1);
}

static void *exec_in_thread(void *arg)
{
	exec_true(arg);
	return arg;
}

static int thread_execs(void *arg)
{
	pthread_t thread;

	pthread_create(&thread, NULL, exec_in_thread, arg);
	pause();
	return 1;
}

static void test_lifecycle_bpf__a_program_run_by_a_thread_keeps_the_process(void **state)
{
	struct live *live = *state;
	pid_t pid = child(thread_execs, NULL);

	assert_int_equal(reap(pid), 0);
	const struct event *e = await(live, EVENT_EXIT, pid);
	assert_true(proc_id_eq(reported(live, EVENT_SPAWN, pid)->id, e->id));
	assert_true(proc_id_eq(reported(live, EVENT_EXEC, pid)->id, e->id));
	assert_int_equal(count(live, EVENT_EXIT, pid), 1);
}

RUN_LIVE_TESTS(&probe_lifecycle_bpf, LIVE(test_lifecycle_bpf__totals_are_those_of_wait4),
               LIVE(test_lifecycle_bpf__threads_are_counted_once_each),
               LIVE(test_lifecycle_bpf__totals_are_exact_where_wait4_is_blind),
               LIVE(test_lifecycle_bpf__reports_the_exit_code),
               LIVE(test_lifecycle_bpf__a_zombie_is_reported_and_its_totals_when_it_is_reaped),
               LIVE(test_lifecycle_bpf__a_process_ends_with_its_last_thread),
               LIVE(test_lifecycle_bpf__a_program_run_by_a_thread_keeps_the_process))
