/* SPDX-License-Identifier: MIT */
#include "job/launch/launch_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* If we die, it is killed before it can read the end of the pipe. */
static void settle_in(pid_t parent, int pipe_fd)
{
	sigset_t all;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(0);
	(void)dup2(pipe_fd, 0);
	(void)syscall(SYS_close_range, 1, ~0U, 0);
}

/* A child inherits its parent's name, so this process takes the helper's name during the clone: the
 * birth event then carries it. */
static long clone_named(const char *name)
{
	char ours[16] = "";
	long pid;

	prctl(PR_GET_NAME, ours);
	prctl(PR_SET_NAME, name);
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid != 0)
		prctl(PR_SET_NAME, ours);
	return pid;
}

/* Without an exit signal there is no SIGCHLD, and wait() does not see it. */
int launch_helper_start(struct launch_helper *h, const char *name, void (*live)(void *arg),
                        void *arg, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];
	long pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	pid = clone_named(name);
	if (pid == 0) {
		settle_in(parent, ends[0]);
		live(arg);
		_exit(0);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return err_set(err, errno, "start '%s': %s", name, strerror(errno));
	}
	*h = (struct launch_helper){ .pid = (pid_t)pid, .pipe_fd = ends[1] };
	return 0;
}

/* If it was stopped with the group, it must continue to read the end of the pipe. */
static bool has_ended(pid_t pid)
{
	int status;

	if (waitpid(pid, &status, __WCLONE | WUNTRACED) < 0)
		return errno != EINTR;
	if (!WIFSTOPPED(status))
		return true;
	kill(pid, SIGCONT);
	return false;
}

void launch_helper_stop(struct launch_helper *h)
{
	if (h->pid <= 0)
		return;
	close(h->pipe_fd);
	while (!has_ended(h->pid))
		;
	h->pid = 0;
}
