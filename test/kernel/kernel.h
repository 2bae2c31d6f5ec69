/* SPDX-License-Identifier: MIT */
/* kernel.h - tests that ask the live kernel. They need root (CAP_BPF and CAP_PERFMON); without it
 * each is skipped by name and says so. */
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
	void *self;
	struct sample out;
	int root_fd;
};

static inline int live_try(struct live *live, const struct probe_ops *ops, struct err *err)
{
	struct probe_env env = { .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		                 .is_live = true };

	*live = (struct live){ .ops = ops, .root_fd = env.root_fd };
	live->out.want = WANT_ALL;
	live->out.events_complete = true;
	return ops->open(&env, &live->self, err);
}

static inline struct live *live_open(const struct probe_ops *ops)
{
	struct live *live = xcalloc(1, sizeof *live);
	struct err err = { 0 };

	if (live_try(live, ops, &err) < 0)
		fail_msg("probe '%s' does not open: %s", ops->name, err.msg);
	return live;
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
	return prctl(PR_SET_KEEPCAPS, 1) == 0 && setresgid(65534, 65534, 65534) == 0 &&
	       setresuid(65534, 65534, 65534) == 0 && syscall(SYS_capset, &head, data) == 0;
}

#define EXIT_SKIPPED 77 /* for meson */

/* Root may not say that it cannot: then the probe is broken, and the tests shall fail. */
static inline bool live_is_possible(const struct probe_ops *ops)
{
	struct err err = { 0 };
	struct live live;
	bool ok = live_try(&live, ops, &err) == 0;

	if (ok)
		ops->close(live.self);
	else
		fprintf(stderr, "NOT TESTED, run as root: probe '%s': %s\n", ops->name, err.msg);
	close(live.root_fd);
	return ok || geteuid() == 0;
}

#define RUN_LIVE_TESTS(ops, ...)                                                                   \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		if (live_is_possible(ops))                                                         \
			return cmocka_run_group_tests(tests, NULL, NULL);                          \
		for (size_t i = 0; i < ARRAY_LEN(tests); i++)                                      \
			printf("[  SKIPPED ] %s\n", tests[i].name);                                \
		return EXIT_SKIPPED;                                                               \
	}
