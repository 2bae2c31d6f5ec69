/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_child.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/vec.h"
#include "model/own_process.h"
#include "probe/gpu/gpu_helper.h"

#define ENVIRONMENT_MAX 16

/* All that is needed between clone and exec. A thread of the recorder's may hold any lock just
 * then, so that only calls stand there which take none. */
struct plan {
	const char *program, *source;
	const char *environment[ENVIRONMENT_MAX];
	int fd; /* the helper's end */
	pid_t parent;
};

static bool begins_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

/* Nothing of the caller's environment reaches the driver's library (LD_LIBRARY_PATH, for one), nor
 * makes the helper look like a process of a job. */
static void clean_environment(const char *ret[static ENVIRONMENT_MAX])
{
	size_t n = 0;

	ret[n++] = "LC_ALL=C";
	for (char **e = environ; e && *e && n < ENVIRONMENT_MAX - 1; e++)
		if (begins_with(*e, GPU_ENV_NVML "=") || begins_with(*e, GPU_ENV_SMI "=") ||
		    begins_with(*e, GPU_ENV_FAKE))
			ret[n++] = *e;
	ret[n] = NULL;
}

/* ---- in the helper, before it is one ---- */

/* The signal of its parent's death outlives exec. */
static _Noreturn void become_helper(const struct plan *plan, pid_t keeper)
{
	const char *const words[] = { "proctor", GPU_HELPER_VERB, plan->source, NULL };
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == keeper)
		execve(plan->program, helper_process_words(words),
		       helper_process_words(plan->environment));
	_exit(GPU_CHILD_NOT_STARTED);
}

/* ---- in the keeper ---- */

/* Its only file is the socket; what the library prints is lost. The recorder's
 * terminal is not its own. */
static bool settle(const struct plan *plan)
{
	int null_fd;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	setsid();
	if (getppid() != plan->parent || dup2(plan->fd, STDIN_FILENO) < 0 ||
	    dup2(STDIN_FILENO, GPU_HELPER_FD) < 0)
		return false;
	null_fd = open("/dev/null", O_RDWR);
	if (null_fd < 0)
		return false;
	for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
		if (dup2(null_fd, fd) < 0)
			return false;
	return close_range(GPU_HELPER_FD + 1, ~0U, 0) == 0;
}

/* A handler of the recorder's must not run here, and what it ignores the helper should not. */
static void reset_signals(void)
{
	const struct sigaction otherwise = { .sa_handler = SIG_DFL };
	sigset_t ours;

	sigemptyset(&ours);
	sigaddset(&ours, SIGTERM);
	sigaddset(&ours, SIGCHLD);
	sigprocmask(SIG_SETMASK, &ours, NULL);
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &otherwise, NULL);
}

/* How the helper ended, in the manner of a shell; -1 while it lives. Its orphans come to us. */
static int reap(pid_t helper)
{
	int status, result = -1;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == helper)
			result = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	return result;
}

static _Noreturn void keep(const struct plan *plan)
{
	sigset_t awaited;
	pid_t self = getpid(), helper;

	reset_signals();
	helper = settle(plan) ? _Fork() : -1;
	if (helper == 0)
		become_helper(plan, self);
	if (helper < 0)
		_exit(GPU_CHILD_NOT_STARTED);
	close(GPU_HELPER_FD); /* so that its end is the socket's */
	sigemptyset(&awaited);
	sigaddset(&awaited, SIGTERM);
	sigaddset(&awaited, SIGCHLD);
	for (;;) {
		int signo = sigwaitinfo(&awaited, NULL), status = reap(helper);

		if (status >= 0)
			_exit(status);
		if (signo == SIGTERM)
			kill(helper, SIGKILL);
	}
}

/* ---- in the recorder ---- */

int gpu_child_start(const char *program, const char *source, struct gpu_child *ret, struct err *err)
{
	cleanup(closep) int theirs = -1, ours = -1;
	struct gpu_child c = GPU_CHILD_NONE;
	struct plan plan = { .program = program, .source = source, .parent = getpid() };
	int fds[2], r;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) < 0)
		return err_set(err, errno, "make a socket for the GPU helper: %s", strerror(errno));
	ours = fds[0];
	plan.fd = theirs = fds[1];
	clean_environment(plan.environment);
	c.pid = helper_process_fork(OURS_GPU);
	if (c.pid == 0)
		keep(&plan);
	if (c.pid < 0)
		return err_set(err, -c.pid, "start the GPU helper: %s", strerror(-c.pid));
	c.pid_fd = pidfd_open(c.pid, 0);
	if (c.pid_fd < 0) {
		r = errno;
		kill(c.pid, SIGKILL); /* not reaped, so it is still ours */
		waitpid(c.pid, NULL, __WALL);
		return err_set(err, r, "watch the GPU helper: pidfd_open: %s", strerror(r));
	}
	c.fd = TAKE_FD(ours);
	*ret = c;
	return 0;
}

void gpu_child_end(const struct gpu_child *c)
{
	pidfd_send_signal(c->pid_fd, SIGTERM, NULL, 0);
}

bool gpu_child_reap(const struct gpu_child *c, int *ret_status)
{
	siginfo_t info = { 0 };

	if (waitid(P_PIDFD, (id_t)c->pid_fd, &info, WEXITED | WNOHANG | __WALL) < 0 || !info.si_pid)
		return false;
	*ret_status = info.si_code == CLD_EXITED ? info.si_status : 128 + info.si_status;
	return true;
}

void gpu_child_close(struct gpu_child *c)
{
	closep(&c->pid_fd);
	closep(&c->fd);
	*c = GPU_CHILD_NONE;
}
