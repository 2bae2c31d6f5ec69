/* SPDX-License-Identifier: MIT */
/* kernel_kit.h - tests that ask the live kernel. They need root (CAP_BPF and CAP_PERFMON); without it
 * each is skipped by name and reports it. */
#pragma once

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/sched.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "job/cgroup/cgroup_home.h"
#include "job/cgroup/job_cgroup.h"
#include "kernel/process_reader.h"
#include "probe/probe.h"

struct live {
	const struct probe_ops *ops;
	void *self;
	struct sample out, last;
	int root_fd;
	struct process_reader *reader;
};

static inline int live_try(struct live *live, const struct probe_ops *ops, struct err *err)
{
	struct probe_env env = { .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		                 .is_live = true };

	env.reader = process_reader_new(env.root_fd);
	*live = (struct live){ .ops = ops, .root_fd = env.root_fd, .reader = env.reader };
	live->out.request.want = WANT_ALL;
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
	sample_done(&live->last);
	process_reader_free(live->reader);
	close(live->root_fd);
	free(live);
}

/* As the sampler does between two ticks. */
static inline void live_turn(struct live *live)
{
	struct sample oldest = live->last;

	live->last = live->out;
	live->out = oldest;
	sample_reset(&live->out);
	live->out.request.want = WANT_ALL;
	live->out.last = &live->last;
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

/* Root may not report that it cannot: then the probe is broken, and the tests shall fail. */
static inline bool live_is_possible(const struct probe_ops *ops)
{
	struct err err = { 0 };
	struct live live;
	bool ok = live_try(&live, ops, &err) == 0;

	if (ok)
		ops->close(live.self);
	else
		fprintf(stderr, "NOT TESTED, run as root: probe '%s': %s\n", ops->name, err.msg);
	process_reader_free(live.reader);
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

/* ---- the lifecycle probe: children, and waiting for their events ---------------------------- */

#define PATIENCE_NS (20 * NS_PER_S) /* a loaded machine is slow */

static inline int live_setup(void **state)
{
	*state = live_open(&probe_lifecycle_bpf);
	return 0;
}

static inline int live_teardown(void **state)
{
	if (*state)
		live_close(*state);
	return 0;
}

/* Which process that pid is: on a busy machine it may have belonged to others before, or belong to others
 * now. */
static inline struct proc_id id_of(const struct live *live, pid_t pid)
{
	struct proc_id id = { .pid = pid };

	vec_each(&live->out.events, e)
		if (e->kind == EVENT_SPAWN && e->id.pid == pid &&
		    (e->ppid == getpid() || !id.start_ticks))
			id = e->id;
	return id;
}

static inline bool is_about(const struct event *e, enum event_kind kind, struct proc_id id)
{
	return e->kind == kind && e->id.pid == id.pid &&
	       (!id.start_ticks || e->id.start_ticks == id.start_ticks);
}

static inline const struct event *find(const struct live *live, enum event_kind kind, pid_t pid)
{
	struct proc_id id = id_of(live, pid);

	vec_each(&live->out.events, e)
		if (is_about(e, kind, id))
			return e;
	return NULL;
}

static inline size_t count(const struct live *live, enum event_kind kind, pid_t pid)
{
	struct proc_id id = id_of(live, pid);
	size_t n = 0;

	vec_each(&live->out.events, e)
		n += is_about(e, kind, id);
	return n;
}

/* Reads until the event has come, NULL when it does not. */
static inline const struct event *wait_for(struct live *live, enum event_kind kind, pid_t pid)
{
	uint64_t give_up = clock_mono_ns() + PATIENCE_NS;
	const struct event *e;

	while (live_read(live), !(e = find(live, kind, pid)) && clock_mono_ns() < give_up)
		usleep(5000);
	return e;
}

/* For the compiler, which does not know that a failed check never returns. */
static const struct event no_event = { .kind = EVENT_KIND_COUNT };

/* What has been reported already. */
static inline const struct event *reported(const struct live *live, enum event_kind kind, pid_t pid)
{
	const struct event *e = find(live, kind, pid);

	if (e)
		return e;
	fail_msg("no %s event of pid %d%s", event_name(kind), pid,
	         live->out.events_complete ? "" : ", and events were lost");
	return &no_event;
}

/* Pointers into the sample are good until the next read. */
static inline const struct event *await(struct live *live, enum event_kind kind, pid_t pid)
{
	wait_for(live, kind, pid);
	return reported(live, kind, pid);
}

static inline int exec_true(void *arg)
{
	(void)arg;
	execl("/bin/true", "true", "one argument", "a\nline", (char *)NULL);
	return 127;
}

static inline int exit_with(void *code)
{
	return *(int *)code;
}

#define LIVE(name) cmocka_unit_test_setup_teardown(name, live_setup, live_teardown)

/* ---- control groups ------------------------------------------------------------------------- */

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

/* NULL when none can be made; the test gets the reason. */
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

static inline int burn_ns(void *arg)
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
