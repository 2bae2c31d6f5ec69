/* SPDX-License-Identifier: MIT */
#include "job/launch/launcher.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/helper_process.h"
#include "base/mem.h"
#include "base/scan.h"
#include "base/signal_name.h"
#include "base/vec.h"
#include "job/launch/exec_error.h"
#include "job/launch/launch_helper.h"
#include "kernel/kernel_file.h"
#include "kernel/process_peek.h"

#define EXEC_CHECK_MS 50 /* between two checks whether it was stopped before its exec */
#define INHERITED_MAX 65536
#define SECTOR_BYTES 512

struct launcher {
	struct launch_options options;
	struct launch_helper detector, waker;
	uint64_t deadline_ns; /* we may not be stopped after it; 0: none */
	struct launch_inherited state;
	int death_signal;   /* our PR_SET_PDEATHSIG; 0: none */
	VEC(int) inherited; /* open files besides stdin, stdout and stderr */
	pid_t pid;          /* of the command */
	int pidfd;
	int gate[2];     /* a byte releases the command; end of file means that we are gone */
	int error[2];    /* carries the error of exec; a successful exec closes it */
	bool is_inside;  /* the command was born in its group */
	bool is_waiting; /* the command waits to be released */
	bool has_ended;
};

/* ---- signals --------------------------------------------------------------------------------- */

/* All but those that report faults of our own. */
static void fill_signals(sigset_t *set)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		sigdelset(set, faults[i]);
}

/* A process outside of our pid namespace has no number here. */
static pid_t sender_of(int code, pid_t pid)
{
	if (!signal_has_sender(code))
		return 0;
	return pid ? pid : -1;
}

static void report_forward(const struct launcher *l, int signo, int code, pid_t pid, uid_t uid)
{
	if (l->options.on_forward)
		l->options.on_forward(l->options.self, signo, sender_of(code, pid),
		                      signal_has_sender(code) ? uid : 0);
}

static void report_group_signal(const struct launcher *l, int signo, int code, pid_t pid, uid_t uid)
{
	if (l->options.on_group_signal)
		l->options.on_group_signal(l->options.self, signo, sender_of(code, pid),
		                           signal_has_sender(code) ? uid : 0);
}

static void pass_on(const struct launcher *l, const struct signalfd_siginfo *from)
{
	siginfo_t info = { .si_signo = (int)from->ssi_signo, .si_code = SI_QUEUE };

	info.si_pid = (pid_t)from->ssi_pid;
	info.si_uid = from->ssi_uid;
	info.si_ptr = (void *)from->ssi_ptr; /* NOLINT: the value that was queued with it */
	(void)syscall(SYS_pidfd_send_signal, l->pidfd, from->ssi_signo,
	              from->ssi_code == SI_QUEUE ? &info : NULL, 0);
	report_forward(l, info.si_signo, from->ssi_code, (pid_t)from->ssi_pid, from->ssi_uid);
}

static void signal_command(const struct launcher *l, int signo)
{
	if (l->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, l->pidfd, signo, NULL, 0);
}

/* A pending signal that we did not wait for. */
static void pass_on_taken(const struct launcher *l, const siginfo_t *from)
{
	signal_command(l, from->si_signo);
	report_forward(l, from->si_signo, from->si_code, from->si_pid, from->si_uid);
}

static sigset_t set_of(int signo)
{
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	return one;
}

static bool take_pending(int signo, siginfo_t *ret)
{
	struct timespec none = { 0 };
	sigset_t one = set_of(signo);

	return sigtimedwait(&one, ret, &none) == signo;
}

/* An interactive shell moves to a group of its own. */
static bool is_in_our_group(const struct launcher *l)
{
	return getpgid(l->pid) == getpgrp();
}

/* Renews the detector: signals that are pending for us and for the old one went to the group. */
static void settle_with_group(struct launcher *l)
{
	uint64_t seen = launch_helper_renew_detector(&l->detector) &
	                ~launch_helper_signal_bit(SIGCHLD);
	siginfo_t info;

	for (int signo = 1; seen; signo++) {
		bool was_seen = seen & launch_helper_signal_bit(signo);

		seen &= ~launch_helper_signal_bit(signo);
		while (was_seen && take_pending(signo, &info))
			if (!is_in_our_group(l))
				pass_on_taken(l, &info);
	}
}

/* The terminal signals the whole group, and so does `kill -- -PGID`: the command has received
 * those. */
static bool has_it_already(struct launcher *l, int signo)
{
	if (!launch_helper_detects(&l->detector, signo))
		return false;
	settle_with_group(l);
	return is_in_our_group(l);
}

/* From ourselves (a write beyond a limit, our waker, our CPU time), or from the command, which would
 * get its own signal back. */
static bool is_ours(const struct launcher *l, const struct signalfd_siginfo *info)
{
	pid_t from = (pid_t)info->ssi_pid;

	if (info->ssi_code == SI_KERNEL)
		return info->ssi_signo == SIGXCPU;
	return from > 0 && (from == getpid() || from == l->waker.pid || from == l->pid);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct launcher *l = self;

	if (info->ssi_signo == SIGCHLD) {
		launcher_reap(l);
		return;
	}
	if (l->pidfd < 0 || is_ours(l, info))
		return;
	if (l->has_ended) {
		if (l->options.on_late_signal)
			l->options.on_late_signal(l->options.self, (int)info->ssi_signo);
		return;
	}
	if (has_it_already(l, (int)info->ssi_signo))
		report_group_signal(l, (int)info->ssi_signo, info->ssi_code, (pid_t)info->ssi_pid,
		                    info->ssi_uid);
	else
		pass_on(l, info);
}

static bool is_ignored(int signo)
{
	struct sigaction action;

	return sigaction(signo, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

static bool is_pending(int signo)
{
	sigset_t set;

	return sigpending(&set) == 0 && sigismember(&set, signo) == 1;
}

/* We were continued, by another process or by our waker; in the latter case the command runs. */
static void pass_on_cont(struct launcher *l, pid_t waker)
{
	siginfo_t info;

	if (!take_pending(SIGCONT, &info) || info.si_pid == waker)
		return;
	if (!has_it_already(l, SIGCONT))
		signal_command(l, SIGCONT);
}

/* The command was stopped, so we stop by the same signal, for the shell to see. A pending SIGCONT
 * came after it: we were stopped with the command and continued already. */
static void stop_too(struct launcher *l, int signo)
{
	sigset_t one;
	pid_t waker;

	if (is_pending(SIGCONT)) {
		pass_on_cont(l, 0);
		return;
	}
	(void)take_pending(signo, NULL); /* sent to the group: this stop handles it */
	if (launch_helper_pending(l->detector.pid) & launch_helper_signal_bit(signo))
		settle_with_group(l);
	if (is_ignored(signo))
		signo = SIGSTOP;
	one = set_of(signo);
	launch_helper_start_waker(&l->waker, l->pid, l->deadline_ns);
	raise(signo);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL); /* we are stopped here */
	pthread_sigmask(SIG_BLOCK, &one, NULL);
	/* Before the command goes on: a SIGCONT of the waker's that stays pending would hide the next stop. */
	waker = l->waker.pid;
	launch_helper_stop(&l->waker);
	pass_on_cont(l, waker);
}

/* ---- children -------------------------------------------------------------------------------- */

/* I/O is counted for the process and all it reaped. False when this kernel keeps no account of it. Some let
 * only root read that of a process that has ended. */
static bool read_ended(pid_t pid, struct launch_end *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct proc_readings io = { 0 };
	int r = process_peek_ended_io(root_fd, pid, &io);

	ret->start_ticks = process_peek_start(root_fd, pid);
	ret->has_io = r == 0;
	ret->read_bytes = readings_or(&io, PROC_READ_BYTES, 0);
	ret->written_bytes = readings_or(&io, PROC_WRITE_BYTES, 0);
	return r != -ENOENT;
}

/* The same two sums; storage is read and written in sectors. */
static void set_io_from_usage(struct launch_end *ret)
{
	ret->has_io = true;
	ret->read_bytes = (uint64_t)ret->usage.ru_inblock * SECTOR_BYTES;
	ret->written_bytes = (uint64_t)ret->usage.ru_oublock * SECTOR_BYTES;
}

/* With everything that the kernel reports about it. False: it was reaped elsewhere. */
static bool reap_child(pid_t pid, struct launch_end *ret)
{
	bool is_kept;
	int status;
	pid_t got;

	*ret = (struct launch_end){ .pid = pid };
	is_kept = read_ended(pid, ret);
	do
		got = wait4(pid, &status, WNOHANG, &ret->usage);
	while (got < 0 && errno == EINTR);
	if (got != pid)
		return false;
	if (is_kept && !ret->has_io)
		set_io_from_usage(ret);
	ret->has_exit_code = WIFEXITED(status);
	ret->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
	ret->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
	ret->core_dumped = WIFSIGNALED(status) && WCOREDUMP(status);
	return true;
}

/* Its end may be found before the signal to the group that caused it, which waits for us too. */
static void report_last_signal(const struct launcher *l, int signo)
{
	siginfo_t info;

	if (signo && launch_helper_pending(l->detector.pid) & launch_helper_signal_bit(signo) &&
	    take_pending(signo, &info))
		report_group_signal(l, signo, info.si_code, info.si_pid, info.si_uid);
}

static void report_end(struct launcher *l, const struct launch_end *end)
{
	bool is_command = end->pid == l->pid && !l->has_ended;

	if (is_command)
		report_last_signal(l, end->signal);
	l->options.on_reaped(l->options.self, end);
	if (!is_command)
		return;
	l->has_ended = true;
	l->options.on_ended(l->options.self, end);
}

/* Read before it is reaped, while it is still in /proc. */
static bool reap_one(struct launcher *l)
{
	siginfo_t info = { 0 };
	struct launch_end end;

	if (waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | WNOHANG | WNOWAIT) < 0 || !info.si_pid)
		return false;
	if (info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED) {
		(void)waitid(P_PID, (id_t)info.si_pid, &info, WSTOPPED | WNOHANG);
		if (info.si_pid == l->pid && info.si_code == CLD_STOPPED)
			stop_too(l, info.si_status);
		return true;
	}
	if (info.si_pid == l->pid && l->options.on_dying)
		l->options.on_dying(l->options.self);
	if (reap_child(info.si_pid, &end))
		report_end(l, &end);
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

/* All inherited files: ours are closed on exec. */
static void list_inherited(struct launcher *l)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(closep) int dir_fd = kernel_file_open_own_fds(root_fd);
	struct kernel_list list;
	const char *name;
	int error;

	kernel_file_list_begin(&list);
	while (dir_fd >= 0 && (name = kernel_file_list_next(&list, dir_fd, &error))) {
		struct scan s = scan_str(name);
		uint64_t fd;
		int flags, *slot;

		if (!scan_u64(&s, &fd) || fd <= STDERR_FILENO)
			continue;
		flags = fcntl((int)fd, F_GETFD);
		if (flags < 0 || flags & FD_CLOEXEC)
			continue;
		slot = vec_push(&l->inherited, INHERITED_MAX);
		if (slot)
			*slot = (int)fd;
	}
}

/* We must not keep the command's pipes open: a reader must see the end when the command closes them.
 * Only stderr is kept, for messages. */
static void let_go_of_files(struct launcher *l)
{
	int fd = open("/dev/null", O_RDWR | O_CLOEXEC);

	vec_each(&l->inherited, inherited)
		close(*inherited);
	vec_done(&l->inherited);
	if (fd < 0)
		return;
	(void)dup2(fd, 0);
	(void)dup2(fd, 1);
	close(fd);
}

void launcher_save_inherited(struct launch_inherited *i, void (*sigpipe)(int))
{
	*i = (struct launch_inherited){ .pipe.sa_handler = sigpipe };
	pthread_sigmask(SIG_SETMASK, NULL, &i->mask);
	sigaction(SIGCHLD, NULL, &i->child);
	(void)prctl(PR_GET_CHILD_SUBREAPER, &i->subreaper);
}

static void restore_signals(const struct launch_inherited *i)
{
	sigaction(SIGPIPE, &i->pipe, NULL);
	sigaction(SIGCHLD, &i->child, NULL);
	pthread_sigmask(SIG_SETMASK, &i->mask, NULL);
}

static int set_exec_error(struct err *err, const char *name, int error)
{
	int code = exec_error_code(name, error);

	return err_set(err, code, "%.200s: %s", name, strerror(code));
}

int launcher_run_unwatched(const struct launch_inherited *i, char *const *argv, struct err *err)
{
	signal(SIGCHLD, SIG_IGN); /* pending ones are about our own helpers */
	(void)prctl(PR_SET_CHILD_SUBREAPER, i->subreaper);
	restore_signals(i);
	execvp(argv[0], argv);
	return set_exec_error(err, argv[0], errno);
}

int launcher_new(struct loop *loop, const struct launch_inherited *inherited, struct launcher **ret,
                 struct err *err)
{
	cleanup(launcher_freep) struct launcher *l = xcalloc(1, sizeof *l);
	sigset_t signals;

	l->pidfd = l->gate[0] = l->gate[1] = l->error[0] = l->error[1] = -1;
	list_inherited(l);
	(void)prctl(PR_GET_PDEATHSIG, &l->death_signal);
	fill_signals(&signals);
	l->state = *inherited;
	signal(SIGCHLD, SIG_DFL); /* if it is ignored, children are reaped by the kernel */
	if (loop_add_signals(loop, &signals, on_signal, l, err) < 0 ||
	    launch_helper_start_detector(&l->detector, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(l);
	return 0;
}

static bool await_release(const struct launcher *l)
{
	ssize_t n;
	char byte;

	close(l->detector.pipe_fd); /* its end must not depend on us */
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

	if (l->options.may_be_traced) /* where kernel.yama.ptrace_scope is 1 */
		(void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY);
	if (!await_release(l))
		_exit(EXEC_ERROR_OURS);
	if (l->options.may_be_traced)
		(void)prctl(PR_SET_PTRACER, 0);
	if (!l->options.prepare || l->options.prepare(l->options.self, l->is_inside, &err) == 0) {
		if (l->death_signal) /* it is meant for the command, too */
			(void)prctl(PR_SET_PDEATHSIG, l->death_signal);
		restore_signals(&l->state);
		if (l->options.capture)
			capture_attach(l->options.capture);
		execvp(l->options.argv[0], l->options.argv);
		(void)set_exec_error(&err, l->options.argv[0], errno);
	} else {
		err.code = ECANCELED;
	}
	(void)!write(l->error[1], &err, sizeof err);
	_exit(exec_error_status(err.code));
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
	(void)prctl(PR_SET_CHILD_SUBREAPER, 1); /* if it fails, only orphans are lost */
	l->is_inside = options->cgroup_fd >= 0;
	l->pid = clone_child(options->cgroup_fd, &l->pidfd);
	if (l->pid < 0 && l->is_inside) { /* an old kernel: prepare() joins the group */
		l->is_inside = false;
		l->pid = clone_child(-1, &l->pidfd);
	}
	if (l->pid == 0)
		become_command(l);
	if (l->pid < 0)
		return err_set(err, errno, "start a process: %s", strerror(errno));
	l->is_waiting = true;
	if (options->capture)
		capture_release(options->capture);
	closep(&l->gate[0]);
	closep(&l->error[1]);
	return 0;
}

/* Forwards signals that arrived before the command existed. Those that are pending for it were sent
 * to the group, and it has them already. */
static void hand_over_early(struct launcher *l)
{
	sigset_t early;
	siginfo_t info;

	sigpending(&early);
	sigdelset(&early, SIGCHLD);
	if (sigisemptyset(&early))
		return;
	for (int signo = 1; signo < NSIG; signo++) {
		if (sigismember(&early, signo) != 1 || !take_pending(signo, &info))
			continue;
		if (!(launch_helper_pending(l->pid) & launch_helper_signal_bit(signo)))
			pass_on_taken(l, &info);
	}
	settle_with_group(l);
}

/* Ctrl-Z may stop it between restoring its signals and its exec. A SIGCONT to us is meant for the
 * command. */
static void check_for_stop(struct launcher *l)
{
	siginfo_t info = { 0 };

	if (waitid(P_PID, (id_t)l->pid, &info, WSTOPPED | WNOHANG) < 0 || !info.si_pid)
		return;
	stop_too(l, info.si_status);
	signal_command(l, SIGCONT);
}

/* Waits until exec has succeeded, or failed with an error. */
static int await_exec(struct launcher *l, struct err *err)
{
	struct pollfd result = { .fd = l->error[0], .events = POLLIN };
	struct err why;
	ssize_t n;

	while (poll(&result, 1, EXEC_CHECK_MS) <= 0)
		check_for_stop(l);
	do
		n = read(l->error[0], &why, sizeof why);
	while (n < 0 && errno == EINTR);
	if (n != sizeof why)
		return 0;
	while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
		;
	helper_process_add(l->pid); /* it never became the command */
	l->pid = 0;
	*err = why;
	return -why.code;
}

int launcher_release(struct launcher *l, struct err *err)
{
	int r;

	hand_over_early(l);
	l->is_waiting = false;
	(void)!write(l->gate[1], "", 1);
	closep(&l->gate[1]);
	r = await_exec(l, err);
	closep(&l->error[0]);
	if (r == 0)
		let_go_of_files(l);
	return r;
}

pid_t launcher_pid(const struct launcher *l)
{
	return l->pid;
}

void launcher_set_deadline(struct launcher *l, uint64_t mono_ns)
{
	l->deadline_ns = mono_ns;
}

void launcher_free(struct launcher *l)
{
	if (!l)
		return;
	launch_helper_stop(&l->detector);
	for (int i = 0; i < 2; i++) {
		closep(&l->gate[i]);
		closep(&l->error[i]);
	}
	if (l->is_waiting) /* it sees the gate close, and ends */
		while (waitpid(l->pid, NULL, 0) < 0 && errno == EINTR)
			;
	closep(&l->pidfd);
	vec_done(&l->inherited);
	free(l);
}

void launch_end_alike(const struct launch_end *end)
{
	sigset_t one = set_of(end->signal);

	if (end->has_exit_code)
		_exit(end->exit_code);
	/* No core dump of ours replaces the command's. */
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	(void)prctl(PR_SET_DUMPABLE, 0);
	signal(end->signal, SIG_DFL);
	raise(end->signal);
	pthread_sigmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + end->signal);
}
