/* SPDX-License-Identifier: MIT */
#include "probe/bpf/grace_period.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/thread.h"

#define STACK_BYTES (64 << 10)
/* On a busy machine it may take milliseconds, and mostly nothing was detached recently. */
#define PATIENCE_NS NS_PER_MS

/* With rcu_normal set, as on real-time kernels, nothing is ever hurried: it would be a wait more. */
static bool is_hurried(int root_fd)
{
	char text[8];

	return io_read_at(root_fd, "sys/kernel/rcu_normal", text, sizeof text) > 0 &&
	       text[0] == '0';
}

/* Twice: the first time may only end a grace period that had begun before the program was
 * detached. */
#define TIMES 2

static bool hurry_up(int root_fd)
{
	int fd = (int)syscall(SYS_open_tree, root_fd, "proc", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);

	return fd >= 0 && close(fd) == 0;
}

static void *run(void *self)
{
	const struct grace_period *g = self;

	for (int i = 0; i < TIMES && hurry_up(g->root_fd); i++)
		;
	return NULL;
}

void grace_period_begin(struct grace_period *g, int root_fd)
{
	g->root_fd = root_fd;
	g->is_running = is_hurried(root_fd) && thread_start(&g->thread, STACK_BYTES, run, g) == 0;
}

void grace_period_await(struct grace_period *g)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;
	struct timespec end = { (time_t)(end_ns / NS_PER_S), (long)(end_ns % NS_PER_S) };

	if (g->is_running && pthread_clockjoin_np(g->thread, NULL, CLOCK_MONOTONIC, &end) == 0)
		g->is_running = false;
}

void grace_period_end(struct grace_period *g)
{
	if (g->is_running)
		pthread_join(g->thread, NULL);
	g->is_running = false;
}
