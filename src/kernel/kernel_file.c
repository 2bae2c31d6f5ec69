/* SPDX-License-Identifier: MIT */
#include "kernel/kernel_file.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

int kernel_file_open(int dir_fd, const char *path)
{
	int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd < 0 ? -errno : fd;
}

static ssize_t read_once(int fd, char *to, size_t cap)
{
	ssize_t n;

	do
		n = read(fd, to, cap);
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : n;
}

ssize_t kernel_file_read_from(int dir_fd, const char *path, off_t offset, char *to, size_t cap)
{
	cleanup(closep) int fd = kernel_file_open(dir_fd, path);

	if (fd < 0)
		return fd;
	if (offset && lseek(fd, offset, SEEK_SET) < 0)
		return -errno;
	return read_once(fd, to, cap);
}

ssize_t kernel_file_read(int dir_fd, const char *path, char *to, size_t cap)
{
	return kernel_file_read_from(dir_fd, path, 0, to, cap);
}

/* Listings come a page at a time, so only an empty read is the end. */
int kernel_file_load_fd(int fd, struct buf *to)
{
	buf_reset(to);
	for (;;) {
		char *room = buf_grow(to, 4096);
		ssize_t n;

		if (!room)
			return -EFBIG;
		n = pread(fd, room, to->cap - to->len - 1, (off_t)to->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return -errno;
		if (n == 0)
			return 0;
		to->len += (size_t)n;
		to->at[to->len] = '\0';
	}
}

int kernel_file_load(int dir_fd, const char *path, struct buf *to)
{
	cleanup(closep) int fd = kernel_file_open(dir_fd, path);

	return fd < 0 ? fd : kernel_file_load_fd(fd, to);
}

int kernel_file_load_own(int root_fd, const char *name, struct buf *to, struct err *err)
{
	char path[64];
	int r;

	snprintf(path, sizeof path, "proc/self/%s", name);
	r = kernel_file_load(root_fd, path, to);
	return r < 0 ? err_set(err, -r, "read '/%s': %s", path, strerror(-r)) : 0;
}

bool kernel_file_is_our_proc(int proc_fd)
{
	char ours[16], target[16];
	int len = snprintf(ours, sizeof ours, "%d", (int)getpid());

	return readlinkat(proc_fd, "self", target, sizeof target) == len &&
	       memcmp(target, ours, (size_t)len) == 0;
}

int kernel_file_open_own_fds(int root_fd)
{
	int fd = openat(root_fd, "proc/self/fd", O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	return fd < 0 ? -errno : fd;
}

struct scan kernel_file_text(const struct buf *b)
{
	return scan_mem(b->at ? b->at : "", b->len);
}

/* 35 31 0:32 / /sys/fs/cgroup/memory rw,relatime shared:9 - cgroup cgroup rw,memory
 * id parent device root mount-point options [tags…] - type source super-options */
bool kernel_file_parse_mount(struct scan line, struct kernel_mount *ret)
{
	struct scan word;

	if (!scan_skip(&line, 2) || !scan_word(&line, &ret->device) ||
	    !scan_word(&line, &ret->root) || !scan_word(&line, &ret->point))
		return false;
	while (scan_word(&line, &word) && !scan_eq(&word, "-"))
		;
	return scan_word(&line, &ret->type) && scan_skip(&line, 1) &&
	       scan_word(&line, &ret->options);
}

void kernel_file_list_begin(struct kernel_list *l)
{
	l->at = l->len = 0;
}

static bool is_dots(const char *name)
{
	return name[0] == '.' && (name[1] == '\0' || (name[1] == '.' && name[2] == '\0'));
}

const char *kernel_file_list_next(struct kernel_list *l, int dir_fd, int *ret_error)
{
	*ret_error = 0;
	for (;;) {
		struct dirent64 *entry;

		if (l->at == l->len) {
			ssize_t n = getdents64(dir_fd, l->entries, sizeof l->entries);

			if (n <= 0) {
				*ret_error = n < 0 ? -errno : 0;
				return NULL;
			}
			l->at = 0;
			l->len = (size_t)n;
		}
		entry = (struct dirent64 *)(void *)(l->entries + l->at);
		l->at += entry->d_reclen;
		if (!is_dots(entry->d_name))
			return entry->d_name;
	}
}

pid_t kernel_file_list_next_pid(struct kernel_list *l, int dir_fd, int *ret_error)
{
	const char *name;

	while ((name = kernel_file_list_next(l, dir_fd, ret_error))) {
		struct scan s = scan_str(name);
		uint64_t pid;

		if (scan_u64(&s, &pid) && scan_at_end(&s) && pid <= INT32_MAX)
			return (pid_t)pid;
	}
	return 0;
}

/* f2d4b4a9-6c3b-4c1e-9a53-0d9f6c1a7d52 and a newline */
bool kernel_file_boot_id(int root_fd, char ret[static 37])
{
	char text[64];

	if (kernel_file_read(root_fd, "proc/sys/kernel/random/boot_id", text, sizeof text) < 36)
		return false;
	memcpy(ret, text, 36);
	ret[36] = '\0';
	return true;
}
