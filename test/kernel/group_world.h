/* SPDX-License-Identifier: MIT */
/* group_world.h - real control groups for tests: a job's group, processes put into it, and a
 * process of one's own to try things that cannot be undone. */
#pragma once

#include <dirent.h>
#include <linux/sched.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "job/cgroup/job_cgroup.h"
#include "job/cgroup/cgroup_home.h"
#include "kernel.h"

/* For bodies that run in a child: cmocka's asserts work only in the test itself. */
#define EXPECT(cond)                                                                               \
	do {                                                                                       \
		if (!(cond)) {                                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #cond);                 \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

static inline int root_dir(void)
{
	return open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
}

static inline int try_group(const char *id, const uint64_t *limit, struct job_cgroup **ret,
                            char why[256], struct err *err)
{
	struct job_cgroup_options o = { .root_fd = root_dir(), .job_id = id, .limit = limit };

	return job_cgroup_open(&o, ret, why, 256, err);
}

/* NULL when none can be made; the test is told why. */
static inline struct job_cgroup *make_group(const char *id, enum job_limit limit, uint64_t value)
{
	uint64_t limits[JOB_LIMIT_COUNT] = { 0 };
	struct job_cgroup *g = NULL;
	struct err err = { 0 };
	char why[256];

	if (value)
		limits[limit] = value;
	if (try_group(id, limits, &g, why, &err) < 0)
		fprintf(stderr, "job_cgroup_open: %s\n", err.msg);
	else if (!g)
		fprintf(stderr, "no group: %s\n", why);
	return g;
}

/* As the launcher does it. */
static inline pid_t spawn(const struct job_cgroup *g, int (*body)(void *), void *arg)
{
	struct clone_args a = { .flags = CLONE_INTO_CGROUP,
		                .exit_signal = SIGCHLD,
		                .cgroup = (uint64_t)job_cgroup_spawn_fd(g) };
	const char *where;
	pid_t pid = (pid_t)syscall(SYS_clone3, &a, sizeof a);

	if (pid == 0)
		_exit(job_cgroup_join(g, true, &where) == 0 ? body(arg) : 99);
	return pid;
}

static inline int burn(void *arg)
{
	uint64_t until = clock_process_cpu_ns() + *(const uint64_t *)arg;

	while (clock_process_cpu_ns() < until)
		;
	return 0;
}

/* Waits to be killed, but not for ever. */
static inline int linger(void *arg)
{
	(void)arg;
	alarm(30);
	return pause();
}

/* Directories below own v2 or v1 groups that begin so. */
static inline unsigned count_dirs(const char *at, const char *prefix)
{
	DIR *d = opendir(at);
	unsigned n = 0;

	for (struct dirent *e; d && (e = readdir(d));)
		n += strncmp(e->d_name, prefix, strlen(prefix)) == 0;
	if (d)
		closedir(d);
	return n;
}

/* A line of /proc/PID/cgroup: "0::" for v2, "memory:" for v1. */
static inline bool membership(pid_t pid, const char *key, char ret[512])
{
	char path[64], text[8192], *at;
	FILE *f;
	size_t n;

	snprintf(path, sizeof path, "/proc/%d/cgroup", pid);
	f = fopen(path, "re");
	if (!f)
		return false;
	n = fread(text, 1, sizeof text - 1, f);
	fclose(f);
	text[n] = '\0';
	at = strstr(text, key);
	if (!at)
		return false;
	at += strlen(key);
	snprintf(ret, 512, "%.*s", (int)strcspn(at, "\n"), at);
	return true;
}

static inline bool put_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool ok = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return ok;
}

/* Root can make groups, or else the tests shall fail. */
#define RUN_GROUP_TESTS(home, ...)                                                                 \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		struct err err = { 0 };                                                            \
		if (geteuid() == 0 && cgroup_home_find(root_dir(), (home), &err) < 0)              \
			fprintf(stderr, "%s\n", err.msg);                                          \
		if (geteuid() == 0)                                                                \
			return cmocka_run_group_tests(tests, NULL, NULL);                          \
		fprintf(stderr, "NOT TESTED, run as root: control groups\n");                      \
		for (size_t i = 0; i < ARRAY_LEN(tests); i++)                                      \
			printf("[  SKIPPED ] %s\n", tests[i].name);                                \
		return EXIT_SKIPPED;                                                               \
	}
