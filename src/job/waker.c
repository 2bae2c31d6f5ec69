/* SPDX-License-Identifier: MIT */
#include "job/waker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/defs.h"

#define POLL_MIN_MS 5
#define POLL_MAX_MS 100

/* 4711 (a) b) T 4710 …: the name may hold anything, so the state is found from its end. A tracer
 * that has it stopped is somebody else's business. */
static bool is_stopped(int stat_fd)
{
	char text[512];
	ssize_t n = pread(stat_fd, text, sizeof text, 0);
	const char *paren = n > 0 ? memrchr(text, ')', (size_t)n) : NULL;

	return paren && text + n - paren > 2 && (paren[2] == 'T' || paren[2] == 't');
}

/* A SIGCONT that comes before the stop is undone by it: so it is sent until we are heard. */
static _Noreturn void watch(pid_t parent, pid_t stopped, int pipe_fd)
{
	struct pollfd over = { .fd = 0 };
	char path[40];
	sigset_t all;
	int stat_fd;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "proctor-waker");
	if (getppid() != parent)
		_exit(0);
	(void)dup2(pipe_fd, 0);
	(void)syscall(SYS_close_range, 1, ~0U, 0);
	snprintf(path, sizeof path, "/proc/%d/stat", stopped);
	stat_fd = open(path, O_RDONLY | O_CLOEXEC);
	for (int ms = POLL_MIN_MS; poll(&over, 1, ms) == 0; ms = MIN(ms * 2, POLL_MAX_MS))
		if (!is_stopped(stat_fd))
			kill(parent, SIGCONT);
	_exit(0);
}

void waker_start(struct waker *w, pid_t stopped)
{
	pid_t parent = getpid();
	int ends[2];
	long pid;

	*w = (struct waker){ .pipe_fd = -1 };
	if (pipe2(ends, O_CLOEXEC) < 0)
		return;
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid == 0)
		watch(parent, stopped, ends[0]);
	close(ends[0]);
	if (pid < 0)
		close(ends[1]);
	else
		*w = (struct waker){ .pid = (pid_t)pid, .pipe_fd = ends[1] };
}

void waker_stop(struct waker *w)
{
	if (w->pid <= 0)
		return;
	close(w->pipe_fd);
	kill(w->pid, SIGCONT); /* it may have been stopped with the group */
	while (waitpid(w->pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	w->pid = 0;
}
