/* SPDX-License-Identifier: MIT */
#include "job/witness.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/scan.h"

#define STATUS_BYTES 4096
/* The kernel signals the members of a group one after the other; we may be first. */
#define TRIES 3
#define BETWEEN_TRIES_NS 1000000

/* Until the other end of the pipe is closed; if that is by our death, we are killed before. */
static _Noreturn void stand_there(pid_t parent, int pipe_fd)
{
	sigset_t all;
	char byte;

	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	prctl(PR_SET_NAME, "proctor-witness");
	if (getppid() != parent)
		_exit(0);
	(void)dup2(pipe_fd, 0);
	(void)syscall(SYS_close_range, 1, ~0U, 0);
	while (read(0, &byte, 1) < 0)
		;
	_exit(0);
}

/* Without an exit signal nobody's SIGCHLD handling hears of it, and wait() does not see it. */
int witness_start(struct witness *w, struct err *err)
{
	pid_t parent = getpid();
	int ends[2];
	long pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	pid = syscall(SYS_clone, 0, NULL, NULL, NULL, NULL);
	if (pid == 0)
		stand_there(parent, ends[0]);
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return err_set(err, errno, "start a witness for signals: %s", strerror(errno));
	}
	*w = (struct witness){ .pid = (pid_t)pid, .pipe_fd = ends[1] };
	return 0;
}

void witness_stop(struct witness *w)
{
	if (w->pid <= 0)
		return;
	close(w->pipe_fd);
	kill(w->pid, SIGCONT); /* it may have been stopped with the group */
	while (waitpid(w->pid, NULL, __WCLONE) < 0 && errno == EINTR)
		;
	w->pid = 0;
}

/* ShdPnd:	0000000000004000 */
uint64_t witness_pending(pid_t pid)
{
	char path[40], text[STATUS_BYTES + 1];
	const char *line;
	struct scan s;
	uint64_t set;
	ssize_t n;
	int fd;

	snprintf(path, sizeof path, "/proc/%d/status", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	n = read(fd, text, STATUS_BYTES);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	line = strstr(text, "\nShdPnd:");
	if (!line)
		return 0;
	s = scan_str(line + strlen("\nShdPnd:"));
	return scan_hex(&s, &set) ? set : 0;
}

/* The old one is asked first: what comes in between is the new one's. Without a new one, the next
 * signal is passed on: better twice than never. */
uint64_t witness_renew(struct witness *w)
{
	struct witness old = *w;
	uint64_t seen, by_new;
	struct err err;

	w->pid = 0;
	(void)!witness_start(w, &err);
	seen = old.pid > 0 ? witness_pending(old.pid) : 0;
	by_new = w->pid > 0 ? witness_pending(w->pid) : 0;
	witness_stop(&old);
	return seen & ~by_new;
}

bool witness_saw(const struct witness *w, int signo)
{
	struct timespec a_moment = { .tv_nsec = BETWEEN_TRIES_NS };
	bool saw = false;

	for (int i = 0; w->pid > 0 && !saw && i < TRIES; i++) {
		if (i > 0)
			nanosleep(&a_moment, NULL);
		saw = witness_pending(w->pid) & witness_bit(signo);
	}
	return saw;
}
