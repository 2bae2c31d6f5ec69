/* SPDX-License-Identifier: MIT */
#include "config/config_load.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/io.h"

#define PATIENCE_NS (2 * NS_PER_S)

struct loader {
	struct config *to;
	struct config_files *files;
	struct config_problems *problems;
};

void config_files_done(struct config_files *files)
{
	vec_done(&files->list);
}

static struct config_file *note_file(struct loader *l, const char *path)
{
	struct config_file *f = vec_push(&l->files->list, CONFIG_FILES_MAX);

	if (f)
		snprintf(f->path, sizeof f->path, "%s", path);
	else
		ini_problem_add(l->problems, "%s: more than %d configuration files", path,
		                CONFIG_FILES_MAX);
	return f;
}

/* A FIFO without a writer, or one that writes nothing, must not stop us. The descriptor does not block. */
static int load_text(int fd, struct buf *to)
{
	uint64_t deadline_ns = clock_mono_ns() + PATIENCE_NS;
	struct pollfd ready = { .fd = fd, .events = POLLIN };

	for (;;) {
		uint64_t now_ns = clock_mono_ns();
		char bytes[4096];
		ssize_t n;

		if (now_ns >= deadline_ns ||
		    poll(&ready, 1, (int)((deadline_ns - now_ns) / NS_PER_MS) + 1) == 0)
			return -ETIMEDOUT;
		n = read(fd, bytes, sizeof bytes);
		if (n == 0)
			return 0;
		if (n < 0 && errno != EAGAIN && errno != EINTR)
			return -errno;
		if (n > 0 && !buf_put(to, bytes, (size_t)n))
			return -EFBIG;
	}
}

static void load_fd(struct loader *l, int fd, const char *path)
{
	struct buf text = { .max = CONFIG_FILE_MAX };
	int r = load_text(fd, &text);

	if (r == -EFBIG)
		ini_problem_add(l->problems, "%s: larger than %zu bytes", path, CONFIG_FILE_MAX);
	else if (r < 0)
		ini_problem_add(l->problems, "%s: read: %s", path, strerror(-r));
	else
		ini_read(scan_mem(text.at, text.len), path, l->to, l->problems);
	buf_done(&text);
}

/* Only regular files: opening a FIFO or a device could hang or have side effects. A user who wants
 * one names it with --config. */
static void load_found(struct loader *l, const char *path)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	int error = errno;
	struct config_file *f;
	struct stat st;

	if (fd < 0 && (error == ENOENT || error == ENOTDIR))
		return;
	f = note_file(l, path);
	if (!f)
		return;
	if (fd < 0 && error == EACCES)
		f->skipped = true;
	else if (fd < 0)
		ini_problem_add(l->problems, "%s: open: %s", path, strerror(error));
	else if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		ini_problem_add(l->problems, "%s: not a regular file", path);
	else
		load_fd(l, fd, path);
}

static void load_named(struct loader *l, const char *path)
{
	cleanup(closep) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	if (fd < 0) {
		ini_problem_add(l->problems, "%s: open: %s; name another with --config FILE", path,
		                strerror(errno));
		return;
	}
	note_file(l, path);
	load_fd(l, fd, path);
}

static int is_drop_in(const struct dirent *e)
{
	size_t n = strlen(e->d_name);

	return e->d_name[0] != '.' && n > 5 && strcmp(e->d_name + n - 5, ".conf") == 0;
}

static int by_bytes(const struct dirent **a, const struct dirent **b)
{
	return strcmp((*a)->d_name, (*b)->d_name);
}

static void load_drop_ins(struct loader *l, const char *dir)
{
	struct dirent **names = NULL;
	int n = scandir(dir, &names, is_drop_in, by_bytes);
	struct config_file *f = n < 0 && errno == EACCES ? note_file(l, dir) : NULL;

	if (f)
		f->skipped = true;
	for (int i = 0; i < n; i++) {
		cleanup(freep) char *path = xasprintf("%s/%s", dir, names[i]->d_name);

		load_found(l, path);
		free(names[i]);
	}
	free(names);
}

static void load_dir(struct loader *l, const char *dir)
{
	cleanup(freep) char *file = xasprintf("%s/proctor.conf", dir);
	cleanup(freep) char *drop_ins = xasprintf("%s/conf.d", dir);

	load_found(l, file);
	load_drop_ins(l, drop_ins);
}

/* systemd joins several directories with colons. */
static void load_dirs(struct loader *l, const char *dirs)
{
	struct scan left = scan_str(dirs), one;

	while (!scan_at_end(&left)) {
		if (!scan_until(&left, ':', &one)) {
			one = left;
			left.p = left.end;
		}
		cleanup(freep) char *dir = xstrndup(one.p, scan_left(&one));

		if (dir[0] == '/')
			load_dir(l, dir);
	}
}

static void load_user(struct loader *l, const struct config_env *env)
{
	cleanup(freep) char *dir = NULL;

	if (env->xdg_config_home && env->xdg_config_home[0] == '/')
		dir = xasprintf("%s/proctor", env->xdg_config_home);
	else if (env->home && env->home[0] == '/')
		dir = xasprintf("%s/.config/proctor", env->home);
	if (dir)
		load_dir(l, dir);
}

void config_load(const struct config_env *env, struct config *ret, struct config_files *files,
                 struct config_problems *problems)
{
	struct loader l = { .to = ret, .files = files, .problems = problems };
	const char *root = env->root ? env->root : "";
	cleanup(freep) char *vendor = xasprintf("%s/usr/lib/proctor", root);
	cleanup(freep) char *machine = xasprintf("%s/etc/proctor", root);

	config_init(ret);
	if (env->file) {
		load_named(&l, env->file);
		return;
	}
	load_dir(&l, vendor);
	if (env->configuration_dir && *env->configuration_dir) {
		load_dirs(&l, env->configuration_dir);
		return;
	}
	load_dir(&l, machine);
	if (!env->is_root) /* root must not follow a user's environment */
		load_user(&l, env);
}
