/* SPDX-License-Identifier: MIT */
#include "job/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/mem.h"
#include "job/reaped.h"
#include "job/witness.h"

struct launcher {
	struct launch_options options;
	struct witness witness;
	sigset_t mask; /* as we were given it */
	struct sigaction pipe, child;
	pid_t pid; /* of the command */
	int pidfd;
	int gate[2];    /* a byte lets the command go; its end without one means that we are gone */
	int error[2];   /* tells why exec failed; a successful one closes it */
	bool is_inside; /* the command was born in its group */
	bool has_ended;
};

/* ---- signals --------------------------------------------------------------------------------- */

/* All but those that tell of our own faults. */
static void fill_signals(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		sigdelset(set, faults[i]);
}

static void pass_on(const struct launcher *l, const struct signalfd_siginfo *from)
{
	siginfo_t info = { .si_signo = (int)from->ssi_signo, .si_code = SI_QUEUE };

	info.si_pid = (pid_t)from->ssi_pid;
	info.si_uid = from->ssi_uid;
	info.si_ptr = (void *)from->ssi_ptr; /* NOLINT: a value that was queued with it */
	(void)syscall(SYS_pidfd_send_signal, l->pidfd, from->ssi_signo,
	              from->ssi_code == SI_QUEUE ? &info : NULL, 0);
}

/* The terminal (SI_KERNEL) signals the whole group, and so does `kill -- -PGID`: the command has
 * those already. */
static bool went_to_group(struct launcher *l, const struct signalfd_siginfo *info)
{
	if (info->ssi_code != SI_KERNEL)
		return witness_saw(&l->witness, (int)info->ssi_signo);
	witness_renew(&l->witness);
	return true;
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct launcher *l = self;

	if (info->ssi_signo == SIGCHLD) {
		launcher_reap(l);
		return;
	}
	if (l->pidfd < 0 || l->has_ended || info->ssi_pid == (uint32_t)l->pid)
		return;
	if (!went_to_group(l, info))
		pass_on(l, info);
}

static bool is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

/* The command was stopped, so we stop by the same signal, for the shell to see. The SIGCONT that
 * wakes us is read like any other signal, and reaches the command if it was sent to us alone. */
static void stop_too(int signo)
{
	struct timespec none = { 0 };
	sigset_t one;

	if (is_ignored(signo))
		signo = SIGSTOP;
	sigemptyset(&one);
	sigaddset(&one, signo);
	(void)sigtimedwait(&one, NULL, &none); /* ours, from the group: answered by this stop */
	raise(signo);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL); /* here we stand still */
	pthread_sigmask(SIG_BLOCK, &one, NULL);
}

/* ---- children -------------------------------------------------------------------------------- */

static void took_end(struct launcher *l, const struct launch_end *end)
{
	l->options.on_reaped(l->options.self, end);
	if (end->pid != l->pid || l->has_ended)
		return;
	l->has_ended = true;
	l->options.on_ended(l->options.self, end);
}

/* Looked at before it is reaped: /proc still has its I/O then. */
static bool reap_one(struct launcher *l)
{
	siginfo_t info = { 0 };
	struct launch_end end;

	if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return false;
	if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
		(void)waitid(P_PID, (id_t)info.si_pid, &info, WSTOPPED | WNOHANG);
		if (info.si_pid == l->pid && info.si_code == CLD_STOPPED)
			stop_too(info.si_status);
		return true;
	}
	if (reaped_take(info.si_pid, &end))
		took_end(l, &end);
	return true;
}

void launcher_reap(struct launcher *l)
{
	while (reap_one(l))
		;
}

bool launcher_has_children(const struct launcher *l)
{
	siginfo_t info;

	(void)l;
	return waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

/* ---- starting -------------------------------------------------------------------------------- */

/* The command's pipes are the command's: a reader must see the end when the command closes them.
 * Only stderr is kept, for what we have to say. */
static void let_go_of_pipes(void)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (fd < 0)
		return;
	(void)dup2(fd, 0);
	(void)dup2(fd, 1);
	close(fd);
}

int launcher_new(struct loop *loop, void (*sigpipe)(int), struct launcher **ret, struct err *err)
{
	cleanup(launcher_freep) struct launcher *l = xcalloc(1, sizeof *l);
	struct sigaction usual = { .sa_handler = SIG_DFL };
	sigset_t signals;

	l->pidfd = l->gate[0] = l->gate[1] = l->error[0] = l->error[1] = -1;
	fill_signals(&signals);
	pthread_sigmask(SIG_SETMASK, NULL, &l->mask);
	l->pipe.sa_handler = sigpipe;
	sigaction(SIGCHLD, &usual, &l->child); /* ignored, children would vanish unseen */
	sigdelset(&signals, SIGPIPE);
	if (loop_add_signals(loop, &signals, on_signal, l, err) < 0 ||
	    witness_start(&l->witness, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(l);
	return 0;
}

static bool await_release(const struct launcher *l)
{
	ssize_t n;
	char byte;

	close(l->gate[1]);
	do
		n = read(l->gate[0], &byte, 1);
	while (n < 0 && errno == EINTR);
	return n == 1;
}

/* In the child. */
static _Noreturn void become_command(const struct launcher *l)
{
	struct err err = { 0 };

	if (!await_release(l))
		_exit(125);
	if (!l->options.prepare || l->options.prepare(l->options.self, l->is_inside, &err) == 0) {
		sigaction(SIGPIPE, &l->pipe, NULL);
		sigaction(SIGCHLD, &l->child, NULL);
		sigprocmask(SIG_SETMASK, &l->mask, NULL);
		execvp(l->options.argv[0], l->options.argv);
		(void)err_set(&err, errno, "%.200s: %s", l->options.argv[0], strerror(errno));
	}
	(void)!write(l->error[1], &err, sizeof err);
	_exit(125);
}

static pid_t clone_child(int cgroup_fd, int *ret_pidfd)
{
	struct clone_args args = { .flags = CLONE_PIDFD,
		                   .pidfd = (uint64_t)(uintptr_t)ret_pidfd,
		                   .exit_signal = SIGCHLD };

	if (cgroup_fd >= 0) {
		args.flags |= CLONE_INTO_CGROUP;
		args.cgroup = (uint64_t)cgroup_fd;
	}
	return (pid_t)syscall(SYS_clone3, &args, sizeof args);
}

int launcher_fork(struct launcher *l, const struct launch_options *options, struct err *err)
{
	l->options = *options;
	if (pipe2(l->gate, O_CLOEXEC) < 0 || pipe2(l->error, O_CLOEXEC) < 0)
		return err_set(err, errno, "make a pipe: %s", strerror(errno));
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* without it orphans are lost, not the job */
	l->is_inside = options->cgroup_fd >= 0;
	l->pid = clone_child(options->cgroup_fd, &l->pidfd);
	if (l->pid < 0 && l->is_inside) { /* an old kernel: prepare() moves it there */
		l->is_inside = false;
		l->pid = clone_child(-1, &l->pidfd);
	}
	if (l->pid == 0)
		become_command(l);
	if (l->pid < 0)
		return err_set(err, errno, "start a process: %s", strerror(errno));
	closep(&l->gate[0]);
	closep(&l->error[1]);
	return 0;
}

/* Waits until exec has happened, or failed and said why. */
static int await_exec(struct launcher *l, struct err *err)
{
	struct err why;
	ssize_t n;

	do
		n = read(l->error[0], &why, sizeof why);
	while (n < 0 && errno == EINTR);
	if (n != sizeof why)
		return 0;
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	l->pid = 0;
	*err = why;
	return -why.code;
}

int launcher_release(struct launcher *l, struct err *err)
{
	int r;

	(void)!write(l->gate[1], "", 1);
	closep(&l->gate[1]);
	r = await_exec(l, err);
	closep(&l->error[0]);
	if (r == 0)
		let_go_of_pipes();
	return r;
}

pid_t launcher_pid(const struct launcher *l)
{
	return l->pid;
}

pid_t launcher_witness(const struct launcher *l)
{
	return l->witness.pid;
}

void launcher_signal(const struct launcher *l, int signo)
{
	if (l->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, signo, NULL, 0);
}

void launcher_free(struct launcher *l)
{
	if (!l)
		return;
	witness_stop(&l->witness);
	for (int i = 0; i < 2; i++) {
		closep(&l->gate[i]);
		closep(&l->error[i]);
	}
	closep(&l->pidfd);
	free(l);
}

void launch_end_alike(const struct launch_end *end)
{
	sigset_t one;

	if (end->has_exit_code)
		_exit(end->exit_code);
	setrlimit(RLIMIT_CORE,
	          &(struct rlimit){ 0 }); /* the command's own core stays the last one */
	signal(end->signal, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, end->signal);
	raise(end->signal);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + end->signal);
}
