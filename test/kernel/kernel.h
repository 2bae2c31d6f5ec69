/* SPDX-License-Identifier: MIT */
/* kernel.h - tests that ask the live kernel. They need root (CAP_BPF and CAP_PERFMON); without it each is skipped by
 * name and says so. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"
#include "probe/probe.h"

struct live {
	const struct probe_ops *ops;
	void                   *self;
	struct sample           out;
	int                     root_fd;
};

static inline int live_try(struct live *live, const struct probe_ops *ops, struct err *err)
{
	struct probe_env env = { .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), .is_live = true };

	*live = (struct live){ .ops = ops, .root_fd = env.root_fd };
	live->out.want = WANT_ALL;
	live->out.events_complete = true;
	return ops->open(&env, &live->self, err);
}

static inline struct live *live_open(const struct probe_ops *ops)
{
	struct live *live = xcalloc(1, sizeof *live);
	struct err err = { 0 };

	if (live_try(live, ops, &err) == 0)
		return live;
	free(live);
	fprintf(stderr, "NOT TESTED: probe '%s' does not open here: %s\n", ops->name, err.msg);
	if (geteuid() == 0 && err.code != ENOTSUP)
		fail_msg("root, and still: %s", err.msg);
	skip();
	return NULL;
}

static inline void live_close(struct live *live)
{
	live->ops->close(live->self);
	sample_done(&live->out);
	close(live->root_fd);
	free(live);
}

static inline void live_read(struct live *live)
{
	struct err err = { 0 };

	if (live->ops->read(live->self, &live->out, &err) < 0)
		fail_msg("read '%s': %s", live->ops->name, err.msg);
}

/* A child that runs `body` and exits with what it returns. */
static inline pid_t child(int (*body)(void *), void *arg)
{
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0)
		_exit(body(arg));
	return pid;
}

static inline int reap(pid_t pid)
{
	int status;

	assert_int_equal(waitpid(pid, &status, 0), pid);
	return status;
}

#define CAP_BIT(cap) (UINT64_C(1) << (cap))

/* Becomes user nobody with these capabilities alone. */
static inline bool drop_to(uint64_t caps)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct data[2] = { 0 };

	for (int i = 0; i < 2; i++)
		data[i].effective = data[i].permitted = (uint32_t)(caps >> (32 * i));
	return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresgid(65534, 65534, 65534) == 0 && setresuid(65534, 65534, 65534) == 0 &&
	       syscall(SYS_capset, &head, data) == 0;
}
