/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>

#include "base/clock.h"
#include "base/map.h"
#include "base/mem.h"
#include "kernel/cgroup_dir.h"

#define PIDS_MAX 4096       /* looked at in one round */
#define BATCH 128           /* pidfds open at a time */
#define KILL_ROUNDS_MAX 500 /* a ms each */
#define ROUNDS_MAX 16

struct killer {
	int dir_fd, signo;
	struct map told; /* pids that got the signal */
	size_t len;
	pid_t pids[PIDS_MAX], again[PIDS_MAX];
};

static int send(int pidfd, int signo)
{
	return syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0) < 0 ? -errno : 0;
}

static bool is_listed(const pid_t *pids, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++)
		if (pids[i] == pid)
			return true;
	return false;
}

/* Who is listed both before and after its pidfd was opened is one of the group; should it be dead
 * by now, and its number somebody else's, the pidfd knows. */
static int signal_batch(struct killer *k, const pid_t *pids, size_t n)
{
	int pidfds[BATCH], result = 0;
	size_t len;

	for (size_t i = 0; i < n; i++)
		pidfds[i] = (int)syscall(SYS_pidfd_open, pids[i], 0);
	len = cgroup_dir_pids(k->dir_fd, k->again, PIDS_MAX);
	for (size_t i = 0; i < n; i++) {
		int r = 0;

		if (pidfds[i] < 0)
			continue;
		if (is_listed(k->again, MIN(len, (size_t)PIDS_MAX), pids[i]))
			r = send(pidfds[i], k->signo);
		if (r < 0 && r != -ESRCH)
			result = r;
		map_put(&k->told, (uint64_t)pids[i], 1);
		close(pidfds[i]);
	}
	return result;
}

/* Keeps those that were not told yet; the number of them. */
static size_t list_untold(struct killer *k)
{
	size_t n = MIN(cgroup_dir_pids(k->dir_fd, k->pids, PIDS_MAX), (size_t)PIDS_MAX);
	uint64_t v;

	k->len = 0;
	for (size_t i = 0; i < n; i++)
		if (!map_get(&k->told, (uint64_t)k->pids[i], &v))
			k->pids[k->len++] = k->pids[i];
	return k->len;
}

static int signal_round(struct killer *k)
{
	int result = 0;

	for (size_t at = 0; at < k->len; at += BATCH) {
		int r = signal_batch(k, k->pids + at, MIN(k->len - at, (size_t)BATCH));

		result = r < 0 ? r : result;
	}
	return result;
}

static int signal_all(struct killer *k)
{
	int result = 0;

	for (int round = 0; round < ROUNDS_MAX && list_untold(k); round++) {
		int r = signal_round(k);

		result = r < 0 ? r : result;
	}
	return result;
}

/* Again and again: numbers of the dead may come back as those of new children. */
static int kill_until_empty(struct killer *k)
{
	for (int round = 0; round < KILL_ROUNDS_MAX; round++) {
		int r;

		map_reset(&k->told);
		if (!list_untold(k))
			return 0;
		r = signal_round(k);
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
	map_done(&k->told);
	return r;
}
