/* SPDX-License-Identifier: MIT */
#include "job/git_commit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/clock.h"
#include "base/io.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/thread.h"
#include "kernel/kernel_file.h"

#define LEVELS_MAX 64 /* of directories above */
#define SYMREFS_MAX 5 /* as git follows them */
#define LINE_LEN 4096 /* of a file that holds one line: a path, or the name of a ref */
#define PACKED_MAX ((size_t)16 << 20)
#define STACK_BYTES ((size_t)128 << 10)

/* ---- files ----------------------------------------------------------------------------------- */

/* A pipe or a device of that name would wait, and is no file of git's. */
static int open_file(int dir_fd, const char *path)
{
	cleanup(closep) int fd = openat(dir_fd, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -1;
	return TAKE_FD(fd);
}

/* The first line of a small file. */
static bool read_line(int dir_fd, const char *path, char ret[LINE_LEN])
{
	cleanup(closep) int fd = open_file(dir_fd, path);
	ssize_t n = fd < 0 ? -1 : read(fd, ret, LINE_LEN - 1);

	if (n <= 0)
		return false;
	ret[n] = '\0';
	ret[strcspn(ret, "\r\n")] = '\0';
	return true;
}

static int open_dir(int dir_fd, const char *path)
{
	return openat(dir_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

/* ---- refs ------------------------------------------------------------------------------------ */

static bool is_commit(const char *text, size_t len)
{
	return (len == 40 || len == 64) && strspn(text, "0123456789abcdef") >= len;
}

/* A name becomes part of a path: it stays below refs/. */
static bool is_ref(const char *name)
{
	return strncmp(name, "refs/", 5) == 0 && !strstr(name, "..");
}

/* packed-refs:
 *   # pack-refs with: peeled fully-peeled sorted
 *   0f6c9a63ddd5f1d8fb4a3ef2a1d8a4b2c9a3e9d1 refs/heads/main
 *   ^d670460b4b4aece5915caf5c68d12f560a9fe3e4 */
static bool find_packed(int common_fd, const char *ref, char ret[GIT_COMMIT_LEN])
{
	cleanup(closep) int fd = open_file(common_fd, "packed-refs");
	cleanup(buf_done) struct buf text = { .max = PACKED_MAX };
	struct scan s, line, hash;

	if (fd < 0 || io_load_fd(fd, &text) < 0 || !text.len)
		return false;
	s = scan_mem(text.at, text.len);
	while (scan_line(&s, &line))
		if (scan_until(&line, ' ', &hash) && scan_eq(&line, ref) &&
		    is_commit(hash.p, scan_left(&hash))) {
			snprintf(ret, GIT_COMMIT_LEN, "%.*s", (int)scan_left(&hash), hash.p);
			return true;
		}
	return false;
}

/* HEAD holds a commit, or "ref: refs/heads/main"; so does a ref. A linked work tree has a HEAD of its
 * own, and shares most refs with the others in the common directory. */
static bool resolve(int git_fd, int common_fd, char ret[GIT_COMMIT_LEN])
{
	char line[LINE_LEN], ref[LINE_LEN];
	bool is_there = read_line(git_fd, "HEAD", line);

	for (int i = 0; i < SYMREFS_MAX && is_there && strncmp(line, "ref: ", 5) == 0; i++) {
		snprintf(ref, sizeof ref, "%s", line + strlen("ref: "));
		if (!is_ref(ref))
			return false;
		is_there = read_line(git_fd, ref, line) || read_line(common_fd, ref, line);
		if (!is_there)
			return find_packed(common_fd, ref, ret);
	}
	if (!is_there || !is_commit(line, strlen(line)))
		return false;
	snprintf(ret, GIT_COMMIT_LEN, "%.*s", GIT_COMMIT_LEN - 1, line);
	return true;
}

/* ---- the work tree --------------------------------------------------------------------------- */

/* .git is the directory, or a file with "gitdir: PATH" (linked work trees, submodules). */
static int open_git(int dir_fd)
{
	char line[LINE_LEN];
	int fd = open_dir(dir_fd, ".git");

	if (fd < 0 && errno == ENOTDIR && read_line(dir_fd, ".git", line) &&
	    strncmp(line, "gitdir: ", 8) == 0)
		fd = open_dir(dir_fd, line + strlen("gitdir: "));
	return fd;
}

static bool read_git(int git_fd, char ret[GIT_COMMIT_LEN])
{
	char line[LINE_LEN];
	cleanup(closep) int common_fd = read_line(git_fd, "commondir", line)
	                                        ? open_dir(git_fd, line)
	                                        : -1;

	return resolve(git_fd, common_fd < 0 ? git_fd : common_fd, ret);
}

bool git_commit_read(int dir_fd, char ret[GIT_COMMIT_LEN])
{
	cleanup(closep) int at = open_dir(dir_fd, ".");
	struct stat here, above;

	if (at < 0 || fstat(at, &here) < 0)
		return false;
	for (int i = 0; i < LEVELS_MAX; i++) {
		cleanup(closep) int git_fd = open_git(at);
		int up;

		if (git_fd >= 0)
			return read_git(git_fd, ret);
		up = open_dir(at, "..");
		closep(&at);
		at = up;
		if (at < 0 || fstat(at, &above) < 0 || above.st_dev != here.st_dev ||
		    above.st_ino == here.st_ino)
			return false;
		here = above;
	}
	return false;
}

/* ---- with a time limit ----------------------------------------------------------------------- */

/* From what the kernel knows: asking the file system would wait for its server. Only those without a block
 * device are looked up. */
static bool is_on_fuse(void)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(buf_done) struct buf mounts = { .max = KERNEL_FILE_MAX };
	struct kernel_mount m;
	struct statx here;
	struct scan text, line;
	char device[32];
	struct err ignored;

	if (statx(AT_FDCWD, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, 0, &here) < 0)
		return true;
	if (here.stx_dev_major)
		return false;
	if (kernel_file_load_own(root_fd, "mountinfo", &mounts, &ignored) < 0)
		return true;
	snprintf(device, sizeof device, "0:%u", here.stx_dev_minor);
	text = kernel_file_text(&mounts);
	while (scan_line(&text, &line))
		if (kernel_file_parse_mount(line, &m) && scan_eq(&m.device, device))
			return scan_lit(&m.type, "fuse");
	return false;
}

/* Shared by the thread and the caller; the last of them frees it. */
struct search {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	unsigned users;
	bool is_done, has_commit;
	char commit[GIT_COMMIT_LEN];
};

static void leave(struct search *s)
{
	unsigned left = --s->users;

	pthread_mutex_unlock(&s->lock);
	if (left)
		return;
	pthread_cond_destroy(&s->changed);
	pthread_mutex_destroy(&s->lock);
	free(s);
}

static void *run_search(void *self)
{
	struct search *s = self;
	char commit[GIT_COMMIT_LEN] = "";
	bool found = git_commit_read(AT_FDCWD, commit);

	pthread_mutex_lock(&s->lock);
	memcpy(s->commit, commit, sizeof commit);
	s->has_commit = found;
	s->is_done = true;
	pthread_cond_signal(&s->changed);
	leave(s);
	return NULL;
}

static struct search *search_new(void)
{
	struct search *s = xcalloc(1, sizeof *s);
	pthread_condattr_t attr;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_mutex_init(&s->lock, NULL);
	pthread_cond_init(&s->changed, &attr);
	pthread_condattr_destroy(&attr);
	s->users = 1;
	return s;
}

bool git_commit_find(uint64_t timeout_ns, char ret[GIT_COMMIT_LEN])
{
	uint64_t end_ns = clock_mono_ns() + timeout_ns;
	const struct timespec end = { .tv_sec = (time_t)(end_ns / NS_PER_S),
		                      .tv_nsec = (long)(end_ns % NS_PER_S) };
	struct search *s;
	pthread_t thread;
	bool found;

	if (is_on_fuse())
		return false;
	s = search_new();
	pthread_mutex_lock(&s->lock);
	if (thread_start(&thread, STACK_BYTES, run_search, s) == 0) {
		s->users++;
		pthread_detach(thread);
		while (!s->is_done && pthread_cond_timedwait(&s->changed, &s->lock, &end) == 0)
			;
	}
	found = s->has_commit;
	if (found)
		memcpy(ret, s->commit, sizeof s->commit);
	leave(s);
	return found;
}
