/* SPDX-License-Identifier: MIT */
/* More processes than one buffer of the task iterator holds: none may be lost at the seams. */
#include "kernel_kit.h"

#define MANY 1500

static int rest(void *arg)
{
	(void)arg;
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	alarm(60);
	return pause();
}

static size_t count_seen(struct live *live, const pid_t *pids)
{
	size_t seen = 0;

	live_turn(live);
	live_read(live);
	for (size_t i = 0; i < MANY; i++)
		seen += sample_find_proc(&live->out, pids[i]) != NULL;
	return seen;
}

static void sees_all(const struct probe_ops *ops)
{
	struct live *live = live_open(ops);
	static pid_t pids[MANY];
	size_t seen;
	bool complete;

	for (size_t i = 0; i < MANY; i++)
		pids[i] = child(rest, NULL);
	seen = count_seen(live, pids);
	complete = live->out.procs_complete;
	for (size_t i = 0; i < MANY; i++)
		kill(pids[i], SIGKILL);
	for (size_t i = 0; i < MANY; i++)
		reap(pids[i]);
	live_close(live);
	assert_int_equal(seen, MANY);
	assert_true(complete);
}

static void test_tasks_bpf__loses_none_among_many_processes(void **state)
{
	(void)state;
	sees_all(&probe_tasks_bpf);
}

static void test_tasks_proc__loses_none_among_many_processes(void **state)
{
	(void)state;
	sees_all(&probe_tasks_proc);
}

RUN_LIVE_TESTS(&probe_tasks_bpf, TEST(test_tasks_bpf__loses_none_among_many_processes),
               TEST(test_tasks_proc__loses_none_among_many_processes))
