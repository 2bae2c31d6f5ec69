/* SPDX-License-Identifier: MIT */
#include "kernel/cgroup_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "kernel/kernel_file.h"

#define DEPTH_MAX 16  /* of groups below a job's that are searched */
#define NAMES_MAX 9   /* name, name.2 … name.9 */
#define SWEEP_MAX 512 /* names of the parent that are checked: it may have any number */
#define REMOVE_ROUNDS_MAX 1000
#define IDLE_ROUNDS_MAX 20   /* without a process to move, a ms each: groups below are in use */
#define DYING_ROUNDS_MAX 500 /* nor below: the dead hold it until they leave the CPU */
#define SIGNAL_PIDS_MAX 4096 /* signalled in one round */
#define SIGNAL_BATCH 128     /* pidfds open at a time */
#define SIGNAL_ROUNDS_MAX 16
#define KILL_ROUNDS_MAX 500 /* a ms each */

static int open_dir(int parent_fd, const char *name)
{
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : fd;
}

/* Between mkdir and flock another launcher may have swept it away as left behind; between open and
 * flock its owner may have removed it, and another one taken its name. */
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
		return -EEXIST; /* it was swept away as a stale one */
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

bool cgroup_dir_contains(int dir_fd, const char *file, const char *text)
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
	kernel_file_list_begin(list);
	while (names_max-- && (name = kernel_file_list_next(list, fd, &error)))
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
	unlinkat(dir_fd, name, AT_REMOVEDIR); /* refused when a process is in it */
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

/* A process that forks while it is moved leaves children behind, and one that is dying still counts
 * for a moment: so it is repeated until the group is gone. */
int cgroup_dir_remove(int parent_fd, const char *name, int dir_fd)
{
	for (int round = 0, idle = 0;; round++) {
		unsigned depth = 0;
		int error;

		if (unlinkat(parent_fd, name, AT_REMOVEDIR) == 0 || errno == ENOENT)
			return 0;
		error = errno;
		if ((error != EBUSY && error != ENOTEMPTY) || round == REMOVE_ROUNDS_MAX ||
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

/* ---- signals --------------------------------------------------------------------------------- */

struct killer {
	int dir_fd, signo;
	struct map signalled; /* pids that got the signal */
	size_t len;
	pid_t pids[SIGNAL_PIDS_MAX], again[SIGNAL_PIDS_MAX];
};

static bool is_listed(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* A process that is listed both before and after its pidfd was opened is one of the group; should it
 * be dead by now, and its number another's, the pidfd refuses the signal. */
static int signal_batch(struct killer *k, const pid_t *pids, size_t n)
{
	int pidfds[SIGNAL_BATCH], result = 0;
	size_t len;

	for (size_t i = 0; i < n; i++)
		pidfds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
	len = cgroup_dir_pids(k->dir_fd, k->again, SIGNAL_PIDS_MAX);
	for (size_t i = 0; i < n; i++) {
		if (pidfds[i] < 0)
			continue;
		if (is_listed(k->again, MIN(len, (size_t)SIGNAL_PIDS_MAX), pids[i]) &&
		    syscall(SYS_pidfd_send_signal, pidfds[i], k->signo, NULL, 0) < 0 &&
		    errno != ESRCH)
			result = -errno;
		map_put(&k->signalled, (uint64_t)pids[i], 1);
		close(pidfds[i]);
	}
	return result;
}

/* Keeps those that were not signalled yet; their number. */
static size_t list_unsignalled(struct killer *k)
{
	size_t n = MIN(cgroup_dir_pids(k->dir_fd, k->pids, SIGNAL_PIDS_MAX),
	               (size_t)SIGNAL_PIDS_MAX);
	uint64_t v;

	k->len = 0;
	for (size_t i = 0; i < n; i++)
		if (!map_get(&k->signalled, (uint64_t)k->pids[i], &v))
			k->pids[k->len++] = k->pids[i];
	return k->len;
}

static int signal_listed(struct killer *k)
{
	int result = 0;

	for (size_t at = 0; at < k->len; at += SIGNAL_BATCH) {
		int r = signal_batch(k, k->pids + at, MIN(k->len - at, (size_t)SIGNAL_BATCH));

		result = r < 0 ? r : result;
	}
	return result;
}

static int signal_all(struct killer *k)
{
	int result = 0;

	for (int round = 0; round < SIGNAL_ROUNDS_MAX && list_unsignalled(k); round++) {
		int r = signal_listed(k);

		result = r < 0 ? r : result;
	}
	return result;
}

/* Numbers of the dead may come back as those of new children: all that are listed are killed in each
 * round. */
static int kill_until_empty(struct killer *k)
{
	for (int round = 0; round < KILL_ROUNDS_MAX; round++) {
		int r;

		map_reset(&k->signalled);
		if (!list_unsignalled(k))
			return 0;
		r = signal_listed(k);
		if (r < 0)
			return r;
		nanosleep(&(struct timespec){ .tv_nsec = NS_PER_MS }, NULL);
	}
	return -ETIMEDOUT;
}

int cgroup_dir_kill(int dir_fd, int signo)
{
	cleanup(freep) struct killer *k = NULL;
	int r;

	if (signo == SIGKILL && cgroup_dir_write(dir_fd, "cgroup.kill", "1") == 0) /* Linux 5.14 */
		return 0;
	k = xcalloc(1, sizeof *k);
	k->dir_fd = dir_fd;
	k->signo = signo;
	r = signo == SIGKILL ? kill_until_empty(k) : signal_all(k);
	map_done(&k->signalled);
	return r;
}
