/* SPDX-License-Identifier: MIT */
#include "cli/hook_keeper.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/io.h"
#include "kernel/own_children.h"
#include "model/own_process.h"

#define CONTROL_FD 3
#define NULL_FD 0 /* the keeper has no other standard files */
#define KILL_PATIENCE_NS NS_PER_S /* for processes that the kernel does not end at once */
#define KILL_STEP_MS 5

struct keeper {
	const char *command;
	int root_fd;
	int signal_fd; /* SIGCHLD */
	uint64_t last_ns; /* monotonic: all must be over then; 0: `run` is still there */
};

struct hook {
	pid_t pid;
	int stderr_fd; /* -1: nothing more comes */
	size_t line_len;
	bool is_line_over;
	struct hook_end end;
};

/* ---- one hook ----------------------------------------------------------------------------------- */

/* Runs the command with default signal handling, in a process group of its own. */
static _Noreturn void become_hook(const char *command, int input_fd, int stderr_fd)
{
	const struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t none;

	(void)setpgid(0, 0);
	for (int signo = 1; signo < NSIG; signo++)
		(void)sigaction(signo, &usual, NULL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	if (dup2(NULL_FD, STDOUT_FILENO) < 0 || dup2(stderr_fd, STDERR_FILENO) < 0 ||
	    dup2(input_fd, STDIN_FILENO) < 0)
		_exit(126);
	execl("/bin/sh", "sh", "-c", command, (char *)NULL);
	_exit(127);
}

static int start(const struct keeper *k, const char *input, size_t n, struct hook *ret)
{
	cleanup(closep) int read_fd = -1;
	cleanup(closep) int write_fd = -1;
	cleanup(closep) int stderr_write_fd = -1;
	int in[2], err[2];

	if (pipe2(in, O_CLOEXEC) < 0)
		return -errno;
	read_fd = in[0];
	write_fd = in[1];
	if (pipe2(err, O_CLOEXEC | O_NONBLOCK) < 0)
		return -errno;
	ret->stderr_fd = err[0];
	stderr_write_fd = err[1];
	(void)fcntl(stderr_write_fd, F_SETFL, 0); /* the hook's own end is as usual */
	if (io_write_all(write_fd, input, n) < 0) /* an empty pipe has room for it */
		return -errno;
	ret->pid = fork();
	if (ret->pid < 0)
		return -errno;
	if (ret->pid == 0)
		become_hook(k->command, read_fd, stderr_write_fd);
	(void)setpgid(ret->pid, ret->pid);
	return 0;
}

static void read_output(struct hook *h)
{
	char bytes[512];
	ssize_t n = read(h->stderr_fd, bytes, sizeof bytes);

	if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
		closep(&h->stderr_fd);
	for (ssize_t i = 0; i < n && !h->is_line_over; i++) {
		h->is_line_over = bytes[i] == '\n' || h->line_len + 1 == sizeof h->end.stderr_line;
		if (!h->is_line_over)
			h->end.stderr_line[h->line_len++] = (unsigned char)bytes[i] < ' '
			                                            ? ' '
			                                            : bytes[i];
	}
}

/* Reaps what has ended. False: nothing of it is left. */
static bool is_alive(struct hook *h)
{
	int status;
	pid_t pid;

	while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
		if (pid == h->pid)
			h->end.status = status;
	return pid == 0;
}

static int left_ms(uint64_t until_ns)
{
	uint64_t now_ns = clock_mono_ns();

	return now_ns >= until_ns ? 0 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;
}

static void watch(struct keeper *k, struct hook *h)
{
	uint64_t until_ns = clock_mono_ns() + HOOK_LIMIT_NS;

	while (is_alive(h)) {
		struct pollfd fds[] = { { .fd = k->signal_fd, .events = POLLIN },
			                { .fd = h->stderr_fd, .events = POLLIN },
			                { .fd = k->last_ns ? -1 : CONTROL_FD,
			                  .events = POLLRDHUP } };
		struct signalfd_siginfo ignored;

		if (k->last_ns)
			until_ns = MIN(until_ns, k->last_ns);
		if (!left_ms(until_ns)) {
			h->end.timed_out = true;
			return;
		}
		(void)poll(fds, ARRAY_LEN(fds), left_ms(until_ns));
		if (fds[0].revents)
			(void)!read(k->signal_fd, &ignored, sizeof ignored);
		if (fds[1].revents)
			read_output(h);
		if (fds[2].revents)
			k->last_ns = clock_mono_ns() + HOOK_LIMIT_NS;
	}
}

/* Processes that left its process group have become our children, or will when their parents have
 * ended. */
static void kill_all(const struct keeper *k, struct hook *h)
{
	uint64_t until_ns = clock_mono_ns() + KILL_PATIENCE_NS;

	do {
		(void)kill(-h->pid, SIGKILL);
		own_children_signal(k->root_fd, SIGKILL);
		(void)poll(NULL, 0, KILL_STEP_MS);
	} while (is_alive(h) && left_ms(until_ns));
}

static void run_hook(struct keeper *k, const char *input, size_t n, struct hook_end *ret)
{
	struct hook h = { .stderr_fd = -1 };
	int r = start(k, input, n, &h);

	if (r < 0)
		h.end.error = -r;
	else
		watch(k, &h);
	if (h.end.timed_out)
		kill_all(k, &h);
	if (h.stderr_fd >= 0)
		read_output(&h);
	closep(&h.stderr_fd);
	*ret = h.end;
}

/* ---- all of them -------------------------------------------------------------------------------- */

/* It keeps none of our files open, and no signal of a terminal or to our group reaches it. */
static bool set_up(int control_fd)
{
	int null_fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null_fd < 0)
		return false;
	for (int fd = 0; fd < CONTROL_FD; fd++)
		if (dup2(null_fd, fd) < 0)
			return false;
	if (control_fd != CONTROL_FD && dup3(control_fd, CONTROL_FD, O_CLOEXEC) < 0)
		return false;
	(void)syscall(SYS_close_range, CONTROL_FD + 1, ~0U, 0);
	(void)setsid();
	return prctl(PR_SET_CHILD_SUBREAPER, 1) == 0;
}

static _Noreturn void run_keeper(const char *command, int control_fd)
{
	struct keeper k = { .command = command };
	char input[HOOK_INPUT_MAX];
	sigset_t signals;

	sigfillset(&signals);
	sigprocmask(SIG_SETMASK, &signals, NULL);
	sigemptyset(&signals);
	sigaddset(&signals, SIGCHLD);
	if (!set_up(control_fd) || (k.signal_fd = signalfd(-1, &signals, SFD_CLOEXEC)) < 0)
		_exit(1);
	k.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	for (;;) {
		ssize_t n = recv(CONTROL_FD, input, sizeof input, 0);
		struct hook_end end;

		/* Our last answer was not read: what waits is still there. */
		if (n < 0 && (errno == EINTR || errno == ECONNRESET))
			continue;
		if (n <= 0 || (k.last_ns && !left_ms(k.last_ns)))
			_exit(0);
		run_hook(&k, input, (size_t)n, &end);
		(void)send(CONTROL_FD, &end, sizeof end, MSG_NOSIGNAL | MSG_DONTWAIT);
	}
}

pid_t hook_keeper_start(const char *command, int control_fd, struct err *err)
{
	pid_t pid = helper_process_fork(OURS_HOOK);

	if (pid == 0)
		run_keeper(command, control_fd);
	if (pid < 0)
		return err_set(err, -pid, "cannot start the helper process of --on-anomaly");
	return pid;
}
