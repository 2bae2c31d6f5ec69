/* SPDX-License-Identifier: MIT */
#include "kernel/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/kernel_file.h"

#define DEPTH_MAX 16  /* of groups below a job's that are looked at */
#define NAMES_MAX 9   /* name, name.2 … name.9 */
#define SWEEP_MAX 512 /* names of the parent that are looked at: it may have any number */
#define ROUNDS_MAX 1000
#define IDLE_ROUNDS_MAX 20   /* without anybody to move, a ms each: groups below are in use */
#define DYING_ROUNDS_MAX 500 /* nor below: the dead hold it until they got to leave the CPU */

static int open_dir(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* Between mkdir and flock somebody who sweeps may have taken it for left behind; between open and
 * flock somebody may have given it up, and another one taken its name. */
static bool is_still_there(int parent_fd, const char *name, int fd)
{
	struct stat a, b;

	return fstat(fd, &a) == 0 && fstatat(parent_fd, name, &b, AT_SYMLINK_NOFOLLOW) == 0 &&
	       a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int make_one(int parent_fd, const char *name)
{
	cleanup(closep) int fd = -1;

	if (mkdirat(parent_fd, name, 0755) < 0)
		return -errno;
	fd = open_dir(parent_fd, name);
	if (fd < 0) {
		(void)unlinkat(parent_fd, name, AT_REMOVEDIR);
		return fd == -ENOENT ? -EEXIST : fd; /* swept away already */
	}
	if (flock(fd, LOCK_EX | LOCK_NB) < 0 || !is_still_there(parent_fd, name, fd))
		return -EEXIST; /* somebody swept it away for a stale one */
	return TAKE_FD(fd);
}

int cgroup_dir_make(int parent_fd, char name[CGROUP_DIR_NAME_MAX])
{
	char tried[CGROUP_DIR_NAME_MAX];
	int fd = make_one(parent_fd, name);

	for (int i = 2; fd == -EEXIST && i <= NAMES_MAX; i++) {
		snprintf(tried, sizeof tried, "%.*s.%d", CGROUP_DIR_NAME_MAX - 3, name, i);
		fd = make_one(parent_fd, tried);
		if (fd >= 0)
			memcpy(name, tried, sizeof tried);
	}
	return fd;
}

int cgroup_dir_write(int dir_fd, const char *file, const char *text)
{
	cleanup(closep) int fd = openat(dir_fd, file, O_WRONLY | O_CLOEXEC);
	ssize_t n;

	if (fd < 0)
		return -errno;
	do
		n = write(fd, text, strlen(text));
	while (n < 0 && errno == EINTR);
	return n < 0 ? -errno : (size_t)n < strlen(text) ? -EIO : 0;
}

bool cgroup_dir_has(int dir_fd, const char *file)
{
	return faccessat(dir_fd, file, F_OK, 0) == 0;
}

bool cgroup_dir_says(int dir_fd, const char *file, const char *text)
{
	char bytes[128];
	ssize_t n = kernel_file_read(dir_fd, file, bytes, sizeof bytes);
	struct scan s = scan_mem(bytes, n > 0 ? (size_t)n : 0), line;

	return scan_line(&s, &line) && scan_eq(&line, text);
}

/* Calls fn with every directory below whose name begins so. kernfs counts directories in st_nlink,
 * so the usual group without any is not even listed. */
typedef void child_fn(int dir_fd, const char *name, void *arg);

static void each_child(int dir_fd, const char *prefix, child_fn *fn, void *arg)
{
	size_t names_max = prefix ? SWEEP_MAX : SIZE_MAX;
	cleanup(freep) struct kernel_list *list = NULL;
	cleanup(closep) int fd = -1;
	const char *name;
	struct stat st;
	int error = 0;

	if (fstat(dir_fd, &st) < 0 || st.st_nlink == 2)
		return;
	fd = open_dir(dir_fd, "."); /* an offset of its own */
	if (fd < 0)
		return;
	list = xmalloc(sizeof *list);
	kernel_list_begin(list);
	while (names_max-- && (name = kernel_list_next(list, fd, &error)))
		if ((!prefix || strncmp(name, prefix, strlen(prefix)) == 0) &&
		    fstatat(fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISDIR(st.st_mode))
			fn(dir_fd, name, arg);
}

struct pids {
	pid_t *at;
	size_t len, cap;
	unsigned depth;
};

static void list_pids(int dir_fd, struct pids *p);

static void list_child(int dir_fd, const char *name, void *arg)
{
	struct pids *p = arg;
	cleanup(closep) int fd = open_dir(dir_fd, name);

	if (fd < 0 || p->depth == DEPTH_MAX)
		return;
	p->depth++;
	list_pids(fd, p);
	p->depth--;
}

/* 0 stands for a process of another pid namespace: there is no way to name it. */
static void list_pids(int dir_fd, struct pids *p)
{
	cleanup(buf_done) struct buf text = { .max = KERNEL_FILE_MAX };
	struct scan s, line;
	uint64_t pid;

	if (kernel_file_load(dir_fd, "cgroup.procs", &text) < 0)
		return;
	s = kernel_file_text(&text);
	while (scan_line(&s, &line)) {
		if (!scan_u64(&line, &pid) || !pid || pid > INT32_MAX)
			continue;
		if (p->len < p->cap)
			p->at[p->len] = (pid_t)pid;
		p->len++;
	}
	each_child(dir_fd, NULL, list_child, p);
}

size_t cgroup_dir_pids(int dir_fd, pid_t *ret, size_t cap)
{
	struct pids p = { .at = ret, .cap = cap };

	list_pids(dir_fd, &p);
	return p.len;
}

/* An empty group below goes too, unless it is of a launcher that lives and is about to fill it.
 * Our lock may be on one that is gone, while the name belongs to a new one. */
static void remove_empty(int dir_fd, const char *name, void *arg)
{
	cleanup(closep) int fd = open_dir(dir_fd, name);
	unsigned *depth = arg;

	if (fd < 0 || *depth == DEPTH_MAX || flock(fd, LOCK_EX | LOCK_NB) < 0 ||
	    !is_still_there(dir_fd, name, fd))
		return;
	++*depth;
	each_child(fd, NULL, remove_empty, depth);
	--*depth;
	unlinkat(dir_fd, name, AT_REMOVEDIR); /* refused when somebody is in it */
}

size_t cgroup_dir_empty(int parent_fd, int dir_fd)
{
	cleanup(buf_done) struct buf text = { .max = KERNEL_FILE_MAX };
	struct scan s, line;
	uint64_t pid;
	size_t n = 0;

	if (kernel_file_load(dir_fd, "cgroup.procs", &text) < 0)
		return 0;
	s = kernel_file_text(&text);
	while (scan_line(&s, &line))
		if (scan_u64(&line, &pid) && pid) {
			char number[24];

			snprintf(number, sizeof number, "%" PRIu64, pid);
			(void)!cgroup_dir_write(parent_fd, "cgroup.procs",
			                        number); /* or it just died */
			n++;
		}
	return n;
}

static int idle_rounds(int dir_fd)
{
	return cgroup_dir_pids(dir_fd, NULL, 0) ? IDLE_ROUNDS_MAX : DYING_ROUNDS_MAX;
}

/* Who forks while being moved leaves children behind, and who is dying still counts for a moment:
 * so again, until it goes. */
int cgroup_dir_remove(int parent_fd, const char *name, int dir_fd)
{
	for (int round = 0, idle = 0;; round++) {
		unsigned depth = 0;
		int error;

		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		error = errno;
		if ((error != EBUSY && error != ENOTEMPTY) || round == ROUNDS_MAX ||
		    idle >= idle_rounds(dir_fd))
			return -error;
		each_child(dir_fd, NULL, remove_empty, &depth);
		idle = cgroup_dir_empty(parent_fd, dir_fd) ? 0 : idle + 1;
		if (idle > 1)
			nanosleep(&(struct timespec){ .tv_nsec = NS_PER_MS }, NULL);
	}
}

void cgroup_dir_clear(int parent_fd, const char *name)
{
	unsigned depth = 0;

	if (strncmp(name, CGROUP_DIR_PREFIX, strlen(CGROUP_DIR_PREFIX)) == 0)
		remove_empty(parent_fd, name, &depth);
}

void cgroup_dir_sweep(int parent_fd)
{
	unsigned depth = 0;

	each_child(parent_fd, CGROUP_DIR_PREFIX, remove_empty, &depth);
}
