/* SPDX-License-Identifier: MIT */
/* fake_machine.h - what probes read, without the machine: the frozen trees of test/fixtures,
 * throw-away ones built by a test, and a GPU driver that is not there. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "check.h"
#include "kernel/process_reader.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/probe.h"

/* One for each root, for as long as the test runs. */
static inline struct process_reader *tree_reader(int root_fd)
{
	static struct process_reader *readers[256];
	static size_t n;

	assert_true(n < ARRAY_LEN(readers));
	readers[n] = process_reader_new(root_fd);
	return readers[n++];
}

/* A tree of test/fixtures; close env.root_fd after use. */
static inline struct probe_env tree_frozen(const char *name)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	char path[512];
	struct probe_env env = { 0 };

	snprintf(path, sizeof path, "%s/test/fixtures/%s", source ? source : ".", name);
	env.root_fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(env.root_fd >= 0);
	env.reader = tree_reader(env.root_fd);
	return env;
}

static inline struct probe_env tree_live(void)
{
	struct probe_env env = { .root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC),
		                 .is_live = true };

	assert_true(env.root_fd >= 0);
	env.reader = tree_reader(env.root_fd);
	return env;
}

struct tree {
	char path[SCRATCH_DIR_MAX];
	struct probe_env env;
};

static inline struct tree tree_new(void)
{
	struct tree t = { 0 };

	assert_true(scratch_dir(t.path));
	t.env.root_fd = open(t.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	assert_true(t.env.root_fd >= 0);
	t.env.reader = tree_reader(t.env.root_fd);
	return t;
}

static inline void tree_mkdirs(const struct tree *t, const char *path)
{
	char part[512];

	for (const char *slash = strchr(path, '/'); slash; slash = strchr(slash + 1, '/')) {
		snprintf(part, sizeof part, "%.*s", (int)(slash - path), path);
		mkdirat(t->env.root_fd, part, 0755);
	}
}

static inline void tree_write(const struct tree *t, const char *path, const char *bytes, size_t n)
{
	int fd;

	tree_mkdirs(t, path);
	fd = openat(t->env.root_fd, path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, n), (ssize_t)n);
	close(fd);
}

static inline void tree_puts(const struct tree *t, const char *path, const char *text)
{
	tree_write(t, path, text, strlen(text));
}

static inline void tree_fifo(const struct tree *t, const char *path)
{
	tree_mkdirs(t, path);
	assert_int_equal(mkfifoat(t->env.root_fd, path, 0644), 0);
}

static inline int tree_remove_one(const char *path, const struct stat *st, int type,
                                  struct FTW *where)
{
	(void)st, (void)type, (void)where;
	return remove(path);
}

static inline void tree_remove(struct tree *t)
{
	close(t->env.root_fd);
	nftw(t->path, tree_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

/* Opens and reads once; the probe stays open. */
static inline void *tree_probe(const struct probe_ops *ops, const struct probe_env *env,
                               struct sample *out)
{
	struct err err = { 0 };
	void *self = NULL;

	if (ops->open(env, &self, &err) < 0)
		fail_msg("open: %s", err.msg);
	if (ops->read(self, out, &err) < 0)
		fail_msg("read: %s", err.msg);
	return self;
}

/* Whether the command line of a process is this text. */
static inline bool tree_has_command(const struct sample *s, const struct proc_sample *p,
                                    const char *text)
{
	return p && p->command.len == strlen(text) &&
	       memcmp(s->text.at + p->command.at, text, p->command.len) == 0;
}

/* ---- GPU ------------------------------------------------------------------------------------ */

#define MIB (UINT64_C(1) << 20)
#define SELF "/proc/self/exe"
#define PATIENCE_NS (20 * NS_PER_S) /* of a test; a loaded machine is slow */

static inline void set_path(const char *variable, const char *name)
{
	const char *dir = getenv("PROCTOR_FAKE_DIR");
	char path[512];

	snprintf(path, sizeof path, "%s/%s", dir ? dir : ".", name);
	setenv(variable, path, 1);
}

static inline void use_library(const char *name, const char *mood)
{
	set_path(GPU_ENV_NVML, name);
	setenv("PROCTOR_FAKE_NVML", mood, 1);
}

static inline void use_program(const char *mood)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	char path[512];

	snprintf(path, sizeof path, "%s/test/fake/nvidia-smi", source ? source : ".");
	setenv(GPU_ENV_SMI, path, 1);
	setenv("PROCTOR_FAKE_SMI", mood, 1);
}

/* Instead of RUN_TESTS(): as the helper when started so, else the tests. */
#define RUN_TESTS_OR_HELP(...)                                                                     \
	int main(int argc, char **argv)                                                            \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		if (argc > 1 && strcmp(argv[1], GPU_HELPER_VERB) == 0)                             \
			return gpu_helper_main(argc - 1, argv + 1);                                \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
