/* SPDX-License-Identifier: MIT */
#include "kernel/pid_namespace.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/io.h"
#include "base/scan.h"

#define STATUS_MAX 8192
#define LINK_MAX 64

/* A process as those in its own namespace count it. */
struct counted {
	unsigned depth; /* of its namespace below ours: 0 is ours */
	uint64_t pid;
	char space[LINK_MAX]; /* which namespace; "" if we may not know */
};

static bool read_counts(int root_fd, pid_t pid, struct counted *ret)
{
	char path[32], text[STATUS_MAX];
	struct scan all, line;
	ssize_t n;

	snprintf(path, sizeof path, "proc/%d/status", pid);
	n = io_read_at(root_fd, path, text, sizeof text);
	*ret = (struct counted){ 0 };
	for (all = scan_mem(text, n < 0 ? 0 : (size_t)n); scan_line(&all, &line);) {
		if (!scan_lit(&line, "NSpid:"))
			continue;
		if (!scan_u64(&line, &ret->pid))
			return false;
		while (scan_u64(&line, &ret->pid))
			ret->depth++;
		return true;
	}
	return false;
}

static void read_space(int root_fd, pid_t pid, struct counted *to)
{
	char path[32];
	ssize_t n;

	snprintf(path, sizeof path, "proc/%d/ns/pid", pid);
	n = readlinkat(root_fd, path, to->space, sizeof to->space - 1);
	to->space[MAX(n, 0)] = '\0';
}

static bool is_meant(int root_fd, pid_t pid, const struct counted *wanted)
{
	struct counted one;

	if (!read_counts(root_fd, pid, &one) || one.depth != wanted->depth ||
	    one.pid != wanted->pid)
		return false;
	read_space(root_fd, pid, &one);
	return strcmp(one.space, wanted->space) == 0;
}

/* 0: there is none. */
static pid_t search(int root_fd, const struct counted *wanted)
{
	int fd = openat(root_fd, "proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	DIR *dir = fd < 0 ? NULL : fdopendir(fd);
	const struct dirent *entry;
	pid_t found = 0;

	if (!dir) {
		closep(&fd);
		return 0;
	}
	while (!found && (entry = readdir(dir))) {
		struct scan name = scan_str(entry->d_name);
		uint64_t pid;

		if (scan_u64(&name, &pid) && scan_at_end(&name) &&
		    is_meant(root_fd, (pid_t)pid, wanted))
			found = (pid_t)pid;
	}
	closedir(dir);
	return found;
}

int pid_namespace_find(int root_fd, pid_t speaker, pid_t pid, pid_t *ret, struct err *err)
{
	struct counted wanted;

	*ret = pid;
	if (!read_counts(root_fd, speaker, &wanted) || wanted.depth == 0)
		return 0;
	read_space(root_fd, speaker, &wanted);
	wanted.pid = (uint64_t)pid;
	*ret = wanted.space[0] ? search(root_fd, &wanted) : 0;
	if (!*ret)
		return err_set(err, ENOENT,
		               "there is no process with pid %d in the caller's pid namespace",
		               pid);
	return 0;
}
