/* SPDX-License-Identifier: MIT */
/* kernel_file.h - the kernel's small files and listings: bounded reads that never wait for a writer.
 * A frozen tree may hold anything in their place, a FIFO too: all is opened O_NONBLOCK. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "base/scan.h"

/* The ceiling for files whose size depends on the machine: /proc/stat, diskstats, mountinfo. */
#define KERNEL_FILE_MAX ((size_t)1 << 20)

int kernel_file_open(int dir_fd, const char *path) must_check; /* the fd, or -errno */
/* One read of at most cap bytes, which is all of a file that fits a page; the count, or -errno. */
ssize_t kernel_file_read(int dir_fd, const char *path, char *to, size_t cap) must_check;
ssize_t kernel_file_read_from(int dir_fd, const char *path, off_t offset, char *to, size_t cap)
	must_check;
/* The whole file in place of what `to` held (its memory is kept): 0 or -errno; -EFBIG past
 * to->max. */
int kernel_file_load_fd(int fd, struct buf *to) must_check;
int kernel_file_load(int dir_fd, const char *path, struct buf *to) must_check;
/* The same of a file of our own process: /proc/self/NAME. */
int kernel_file_load_own(int root_fd, const char *name, struct buf *to, struct err *err) must_check;
/* Whether a procfs numbers processes as we do: that of another pid namespace (unshare --pid without --mount-proc)
 * means others by the same numbers. */
bool kernel_file_is_our_proc(int proc_fd);
/* The directory of our own open files, for kernel_file_list_next(): the fd, or -errno. */
int kernel_file_open_own_fds(int root_fd) must_check;
/* The loaded text, for a parser. */
struct scan kernel_file_text(const struct buf *b);

/* A line of /proc/self/mountinfo; paths are escaped. */
struct kernel_mount {
	struct scan device, root, point, type, options; /* "8:1"; options of the file system */
};

bool kernel_file_parse_mount(struct scan line, struct kernel_mount *ret);

/* Names in a directory, one at a time, without allocation. */
struct kernel_list {
	size_t at, len;
	char entries[16 << 10];
};

void kernel_file_list_begin(struct kernel_list *l);
/* The next name ("." and ".." are left out), valid until the next call; NULL at the end, or with an
 * error. */
const char *kernel_file_list_next(struct kernel_list *l, int dir_fd, int *ret_error);
/* The next pid or tid that a directory is named for; 0 at the end, or with an error. */
pid_t kernel_file_list_next_pid(struct kernel_list *l, int dir_fd, int *ret_error);
/* The kernel's id of this boot, 36 characters. False: it is not known. */
bool kernel_file_boot_id(int root_fd, char ret[static 37]);
