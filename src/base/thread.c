/* SPDX-License-Identifier: MIT */
#include "base/thread.h"

#include <errno.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

int thread_start(pthread_t *ret, size_t stack_bytes, void *(*run)(void *self), void *self)
{
	sigset_t all, before;
	pthread_attr_t attr;
	int error;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pthread_attr_init(&attr);
	if (stack_bytes)
		pthread_attr_setstacksize(&attr, stack_bytes);
	error = pthread_create(ret, &attr, run, self);
	pthread_attr_destroy(&attr);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return -error;
}

/* A child inherits its parent's name, so this thread has the helper's during the clone. */
pid_t thread_fork_helper(const char *name)
{
	char ours[16] = "";
	int error;
	long pid;

	prctl(PR_GET_NAME, ours);
	prctl(PR_SET_NAME, name);
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid == 0)
		return 0;
	error = errno;
	prctl(PR_SET_NAME, ours);
	return pid < 0 ? -error : (pid_t)pid;
}
