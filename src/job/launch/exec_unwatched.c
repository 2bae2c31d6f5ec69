/* SPDX-License-Identifier: MIT */
#include "job/launch/exec_unwatched.h"

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

void exec_unwatched_keep(struct exec_unwatched *p, void (*sigpipe)(int))
{
	pthread_sigmask(SIG_SETMASK, NULL, &p->mask);
	sigaction(SIGCHLD, NULL, &p->child);
	p->pipe = (struct sigaction){ .sa_handler = sigpipe };
	p->subreaper = 0;
	(void)prctl(PR_GET_CHILD_SUBREAPER, &p->subreaper);
}

int exec_unwatched(const struct exec_unwatched *p, char *const *argv, struct err *err)
{
	signal(SIGCHLD, SIG_IGN); /* what waits tells of our own helpers */
	(void)prctl(PR_SET_CHILD_SUBREAPER, p->subreaper);
	sigaction(SIGPIPE, &p->pipe, NULL);
	sigaction(SIGCHLD, &p->child, NULL);
	pthread_sigmask(SIG_SETMASK, &p->mask, NULL);
	execvp(argv[0], argv);
	return err_set(err, errno, "%.200s: %s", argv[0], strerror(errno));
}
