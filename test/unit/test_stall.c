/* SPDX-License-Identifier: MIT */
#include "analyze/stall.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"

/* A process that waits: its pid, what for, and the pid at the other end. */
struct waiter {
	pid_t pid;
	const char *call;
	enum blocked_thing thing;
	pid_t peer;
	char state;
	bool may_wake;
	const char *name;
};

static struct stall find(const struct waiter *waiters, size_t n, size_t n_processes)
{
	struct blocked_call calls[8] = { 0 };
	struct stall ret;

	for (size_t i = 0; i < n; i++) {
		struct blocked_call *b = &calls[i];

		b->id = (struct proc_id){ waiters[i].pid, 1 };
		snprintf(b->name, sizeof b->name, "%s", waiters[i].name ? waiters[i].name : "python");
		snprintf(b->call, sizeof b->call, "%s", waiters[i].call);
		b->state = waiters[i].state ? waiters[i].state : 'S';
		b->thing = waiters[i].thing;
		b->peer = waiters[i].peer;
		b->may_wake = waiters[i].may_wake;
		snprintf(b->peer_name, sizeof b->peer_name, "python");
		snprintf(b->wchan, sizeof b->wchan, "pipe_read");
	}
	stall_find(calls, n, n_processes, &ret);
	return ret;
}

#define FIND(...)                                                                                  \
	({                                                                                         \
		const struct waiter list_[] = { __VA_ARGS__ };                                     \
		find(list_, ARRAY_LEN(list_), ARRAY_LEN(list_));                                   \
	})
#define PARENT { 1, "wait4", BLOCKED_ON_CHILD, 0 }
#define PIPE(pid, peer) { pid, "read", BLOCKED_ON_PIPE, peer }

static void test_stall__processes_that_wait_for_each_other_are_a_deadlock(void **state)
{
	struct stall s = FIND(PARENT, PIPE(2, 3), PIPE(3, 2));

	assert_int_equal(s.kind, STALL_DEADLOCK);
	assert_int_equal(s.id.pid, 2);
	assert_string_equal(s.text, "waits in read on a pipe from python 3 (S, pipe_read)");
	/* The classic: a parent waits for its child, which writes to it. */
	s = FIND({ 1, "wait4", BLOCKED_ON_CHILD, 2 }, { 2, "write", BLOCKED_ON_PIPE, 1 });
	assert_int_equal(s.kind, STALL_DEADLOCK);
	s = FIND(PIPE(1, 2), PIPE(2, 3), { 3, "recvfrom", BLOCKED_ON_SOCKET, 1 });
	assert_int_equal(s.kind, STALL_DEADLOCK);
	/* What only waits for the command does not count. */
	s = FIND({ 9, "rt_sigsuspend", BLOCKED_ON_UNKNOWN, .may_wake = true, .name = "timeout" },
	         PIPE(2, 3), PIPE(3, 2));
	assert_int_equal(s.kind, STALL_DEADLOCK);
	s = FIND({ 9, "epoll_wait", BLOCKED_ON_FILES, .may_wake = true, .name = "proctor" },
	         PIPE(2, 3), PIPE(3, 2));
	assert_int_equal(s.kind, STALL_DEADLOCK);
}

static void test_stall__is_none_if_anything_may_go_on(void **state)
{
	static const struct waiter others[] = {
		{ 4, "clock_nanosleep", BLOCKED_ON_TIMER, .may_wake = true },
		{ 4, "epoll_wait", BLOCKED_ON_FILES, .may_wake = true },
		{ 4, "accept4", BLOCKED_ON_SOCKET, .may_wake = true },
		{ 4, "read", BLOCKED_ON_PIPE, .peer = 0 },   /* its input comes from elsewhere */
		{ 4, "read", BLOCKED_ON_PIPE, .peer = 999 }, /* … from a process of no job */
		{ 4, "read", BLOCKED_ON_FILE },              /* a named pipe, a device */
		{ 4, "read", BLOCKED_ON_PIPE, 2, .state = 'T' },
	};

	for (size_t i = 0; i < ARRAY_LEN(others); i++)
		assert_int_equal(FIND(PARENT, PIPE(2, 3), PIPE(3, 2), others[i]).kind, STALL_NONE);
	/* One of them runs, or cannot be read. */
	assert_int_equal(find((const struct waiter[]){ PIPE(2, 3), PIPE(3, 2) }, 2, 3).kind,
	                 STALL_NONE);
	assert_int_equal(find(NULL, 0, 0).kind, STALL_NONE);
}

static void test_stall__a_parent_that_waits_for_its_children_is_none(void **state)
{
	assert_int_equal(FIND(PARENT).kind, STALL_NONE);
	assert_int_equal(FIND(PARENT, { 2, "clock_nanosleep", BLOCKED_ON_TIMER, .may_wake = true }).kind,
	                 STALL_NONE);
	/* The reader of a pipeline, and its writer that sleeps. */
	assert_int_equal(FIND(PARENT, PIPE(2, 3),
	                      { 3, "clock_nanosleep", BLOCKED_ON_TIMER, .may_wake = true })
	                         .kind,
	                 STALL_NONE);
}

static void test_stall__knows_disks_locks_and_the_network(void **state)
{
	assert_int_equal(FIND(PARENT, { 2, "read", BLOCKED_ON_FILE, .state = 'D' }).kind,
	                 STALL_UNINTERRUPTIBLE);
	assert_int_equal(FIND(PARENT, { 2, "futex", BLOCKED_ON_LOCK }).kind, STALL_LOCK);
	assert_int_equal(FIND(PARENT, { 2, "flock", BLOCKED_ON_FILE }).kind, STALL_LOCK);
	assert_int_equal(FIND(PARENT, { 2, "recvfrom", BLOCKED_ON_SOCKET }).kind, STALL_NETWORK);
	/* What explains more comes first; two that wait for one lock do not wait for each other. */
	assert_int_equal(FIND({ 2, "recvfrom", BLOCKED_ON_SOCKET },
	                      { 3, "futex", BLOCKED_ON_LOCK, 4 }, { 4, "futex", BLOCKED_ON_LOCK, 3 })
	                         .kind,
	                 STALL_LOCK);
	/* A worker waits for another, which waits for the network. */
	assert_int_equal(FIND(PIPE(2, 3), { 3, "recvfrom", BLOCKED_ON_SOCKET }).kind, STALL_NETWORK);
}

static void test_stall__the_less_certain_the_longer_is_waited(void **state)
{
	for (enum stall_kind i = STALL_DEADLOCK + 1; i < STALL_KIND_COUNT; i++)
		assert_true(stall_patience_ns(i) > stall_patience_ns(i - 1));
	assert_int_equal(stall_patience_ns(STALL_DEADLOCK), 15 * NS_PER_S);
}

RUN_TESTS(TEST(test_stall__processes_that_wait_for_each_other_are_a_deadlock),
          TEST(test_stall__is_none_if_anything_may_go_on),
          TEST(test_stall__a_parent_that_waits_for_its_children_is_none),
          TEST(test_stall__knows_disks_locks_and_the_network),
          TEST(test_stall__the_less_certain_the_longer_is_waited))
