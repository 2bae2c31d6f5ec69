/* SPDX-License-Identifier: MIT */
#include "job/launch/launch_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_process.h"
#include "kernel/process_peek.h"
#include "model/own_process.h"

/* The kernel signals the members of a group one after the other; we may be first. */
#define DETECT_TRIES 3
#define DETECT_PAUSE_NS 1000000
#define WAKER_POLL_MIN_MS 5
#define WAKER_POLL_MAX_MS 100

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

/* `live` runs until end of file on fd 0, and is async-signal-safe: this process may have threads. */
static int start(struct launch_helper *h, const char *name, void (*live)(void *arg), void *arg,
                 struct err *err)
{
	pid_t parent = getpid();
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	pid = helper_process_fork(name);
	if (pid == 0) {
		settle_in(parent, ends[0]);
		live(arg);
		_exit(0);
	}
	close(ends[0]);
	if (pid < 0) {
		close(ends[1]);
		return err_set(err, -pid, "start '%s': %s", name, strerror(-pid));
	}
	*h = (struct launch_helper){ .pid = pid, .pipe_fd = ends[1] };
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

/* ---- the group-signal detector --------------------------------------------------------------- */

static void await_end(void *arg)
{
	char byte;

	(void)arg;
	while (read(0, &byte, 1) < 0)
		;
}

int launch_helper_start_detector(struct launch_helper *h, struct err *err)
{
	return start(h, OURS_DETECTOR, await_end, NULL, err);
}

uint64_t launch_helper_pending(pid_t pid)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	return process_peek_pending_signals(root_fd, pid);
}

/* The old one is read first: signals in between are pending for the new one. Without a new one, the
 * next signal is forwarded: better twice than never. */
uint64_t launch_helper_renew_detector(struct launch_helper *h)
{
	struct launch_helper old = *h;
	uint64_t seen, by_new;
	struct err err;

	h->pid = 0;
	(void)!launch_helper_start_detector(h, &err);
	seen = old.pid > 0 ? launch_helper_pending(old.pid) : 0;
	by_new = h->pid > 0 ? launch_helper_pending(h->pid) : 0;
	launch_helper_stop(&old);
	return seen & ~by_new;
}

bool launch_helper_detects(const struct launch_helper *h, int signo)
{
	struct timespec a_moment = { .tv_nsec = DETECT_PAUSE_NS };
	bool saw = false;

	for (int i = 0; h->pid > 0 && !saw && i < DETECT_TRIES; i++) {
		if (i > 0)
			nanosleep(&a_moment, NULL);
		saw = launch_helper_pending(h->pid) & launch_helper_signal_bit(signo);
	}
	return saw;
}

/* ---- the waker ------------------------------------------------------------------------------- */

struct stopped_command {
	pid_t parent, stopped;
	uint64_t deadline_ns; /* monotonic; 0: none */
};

static bool is_late(uint64_t deadline_ns)
{
	return deadline_ns && clock_mono_ns() >= deadline_ns;
}

/* A SIGCONT that arrives before the stop has no effect, so it is sent repeatedly. */
static void watch(void *arg)
{
	const struct stopped_command *w = arg;
	struct pollfd over = { .fd = 0 };
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	for (int ms = WAKER_POLL_MIN_MS; poll(&over, 1, ms) == 0;
	     ms = MIN(ms * 2, WAKER_POLL_MAX_MS))
		if (!process_peek_is_stopped(root_fd, w->stopped) || is_late(w->deadline_ns))
			kill(w->parent, SIGCONT);
}

void launch_helper_start_waker(struct launch_helper *h, pid_t stopped, uint64_t deadline_ns)
{
	struct stopped_command what = { .parent = getpid(),
		                        .stopped = stopped,
		                        .deadline_ns = deadline_ns };
	struct err err;

	*h = (struct launch_helper){ 0 };
	(void)!start(h, OURS_WAKER, watch, &what, &err);
}
