/* SPDX-License-Identifier: MIT */
#include "cli/spawn_plain.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/log.h"

enum { STATUS_FAILED = 125, STATUS_NOT_EXECUTABLE = 126, STATUS_NOT_FOUND = 127 };

struct spawn {
	pid_t pid;
	sigset_t mask; /* as we were given it */
};

/* All but those that tell of our own faults. */
static void block_signals(sigset_t *set, sigset_t *ret_before)
{
	static const int faults[] = { SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGTRAP, SIGSYS };

	sigfillset(set);
	for (size_t i = 0; i < ARRAY_LEN(faults); i++)
		sigdelset(set, faults[i]);
	sigprocmask(SIG_BLOCK, set, ret_before);
}

static _Noreturn void become(const struct spawn *s, char *const *argv, int error_fd)
{
	int code;

	signal(SIGPIPE, SIG_DFL);
	sigprocmask(SIG_SETMASK, &s->mask, NULL);
	execvp(argv[0], argv);
	code = errno;
	(void)!write(error_fd, &code, sizeof code);
	_exit(STATUS_FAILED);
}

static int start(struct spawn *s, char *const *argv, struct err *err)
{
	int error[2], code = 0;
	ssize_t n;

	if (pipe2(error, O_CLOEXEC) < 0)
		return err_set(err, EAGAIN, "make a pipe: %s", strerror(errno));
	s->pid = fork();
	if (s->pid == 0)
		become(s, argv, error[1]);
	close(error[1]);
	if (s->pid < 0) {
		close(error[0]);
		return err_set(err, EAGAIN, "start a process: %s", strerror(errno));
	}
	do
		n = read(error[0], &code, sizeof code);
	while (n < 0 && errno == EINTR);
	close(error[0]);
	if (n != sizeof code)
		return 0;
	while (waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	return err_set(err, code, "%.200s: %s", argv[0], strerror(code));
}

/* By the same signal, for the shell to see. */
static void stop_too(int signo)
{
	struct timespec none = { 0 };
	sigset_t one;

	sigemptyset(&one);
	sigaddset(&one, signo);
	(void)sigtimedwait(&one, NULL, &none);
	raise(signo);
	sigprocmask(SIG_UNBLOCK, &one, NULL); /* here we stand still */
	sigprocmask(SIG_BLOCK, &one, NULL);
}

/* Whether the command is over; a stop is shared. */
static bool has_ended(const struct spawn *s, struct spawn_end *ret)
{
	int status;

	while (waitpid(s->pid, &status, WNOHANG | WUNTRACED) == s->pid) {
		if (WIFSTOPPED(status)) {
			stop_too(WSTOPSIG(status));
			continue;
		}
		*ret = (struct spawn_end){ .has_exit_code = WIFEXITED(status) };
		if (WIFEXITED(status))
			ret->exit_code = WEXITSTATUS(status);
		else
			ret->signal = WTERMSIG(status);
		return true;
	}
	return false;
}

/* What the terminal sends, it sends to the command too. */
static void pass_on(const struct spawn *s, const siginfo_t *info)
{
	if (info->si_code != SI_KERNEL && info->si_pid != s->pid)
		kill(s->pid, info->si_signo);
}

int spawn_plain(char *const *argv, struct spawn_end *ret, struct err *err)
{
	struct spawn s;
	sigset_t signals;
	siginfo_t info;
	int r;

	signal(SIGCHLD, SIG_DFL);
	block_signals(&signals, &s.mask);
	r = start(&s, argv, err);
	if (r < 0)
		return r;
	for (;;) {
		if (sigwaitinfo(&signals, &info) < 0)
			continue;
		if (info.si_signo != SIGCHLD)
			pass_on(&s, &info);
		else if (has_ended(&s, ret))
			return 0;
	}
}

int spawn_refused(const struct err *err)
{
	log_error("%s", err->msg);
	if (err->code == EAGAIN)
		return STATUS_FAILED;
	return err->code == ENOENT ? STATUS_NOT_FOUND : STATUS_NOT_EXECUTABLE;
}

void spawn_end_alike(const struct spawn_end *end)
{
	sigset_t one;

	if (end->has_exit_code)
		_exit(end->exit_code);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 }); /* the command's own core stays the last */
	signal(end->signal, SIG_DFL);
	sigemptyset(&one);
	sigaddset(&one, end->signal);
	raise(end->signal);
	sigprocmask(SIG_UNBLOCK, &one, NULL);
	_exit(128 + end->signal);
}
