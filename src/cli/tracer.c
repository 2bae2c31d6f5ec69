/* SPDX-License-Identifier: MIT */
#include "cli/tracer.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/log.h"
#include "base/signal_name.h"
#include "kernel/ptrace_access.h"

#define STOP_MS 5000 /* until a keeper that was asked to end is killed: it may be stopped */

int tracer_refuse(const struct err *err)
{
	log_error("%s", err->msg);
	return err->code == ESRCH ? CLI_NOT_FOUND : CLI_FAILED;
}

static int find_program(char ret[static PATH_MAX], struct err *err)
{
	const char *dirs = getenv("PATH");

	return strace_find(dirs ? dirs : "", ret, err);
}

int tracer_check(int root_fd, pid_t pid)
{
	const struct ptrace_caller us = ptrace_access_own(root_fd);
	char program[PATH_MAX];
	struct err err;

	if (ptrace_access_check(NULL, root_fd, pid, &us, &err) < 0)
		return tracer_refuse(&err);
	return find_program(program, &err) < 0 ? cli_failed(&err) : CLI_OK;
}

static int explain_refusal(const struct cli *cli, const struct strace_options *o, int root_fd,
                           const struct strace_news *news)
{
	const struct ptrace_caller us = ptrace_access_own(root_fd);
	struct err err;

	if (news->code == EINVAL)
		return cli_usage(cli, "--filter '%s': %s", o->filter, news->text);
	if (news->code == ESRCH) {
		log_error("process %d has ended in the meantime", (int)o->pid);
		return CLI_NOT_FOUND;
	}
	if (news->code == EPERM && ptrace_access_explain(NULL, root_fd, o->pid, &us, &err) < 0)
		return tracer_refuse(&err);
	log_error("strace: %s", news->text[0] ? news->text : "it could not be started");
	return CLI_FAILED;
}

static int report_failure(const struct strace_options *o, const char *output,
                          const struct strace_news *news)
{
	if (news->end == STRACE_OUTPUT_FAILED)
		log_error("write '%s': %s", output, strerror(news->code));
	else if (news->end == STRACE_KEEPER_LOST)
		log_error(
			"the helper process that controls strace was killed: process %d is no longer traced",
			(int)o->pid);
	else if (news->code)
		log_error("strace was ended by %s: process %d is no longer traced",
		          signal_name(news->code).at, (int)o->pid);
	else
		log_error("strace failed: %s", news->text);
	return CLI_FAILED;
}

/* Ctrl-Z would stop us, but not the trace. */
static int catch_signals(void)
{
	sigset_t signals;

	(void)signal(SIGTSTP, SIG_IGN);
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigaddset(&signals, SIGQUIT);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	return signalfd(-1, &signals, SFD_CLOEXEC);
}

static void follow(struct strace *s, int signal_fd, const struct tracer_hooks *hooks,
                   struct strace_news *news)
{
	int timeout = -1;

	for (;;) {
		struct pollfd fds[] = { { .fd = strace_fd(s), .events = POLLIN },
			                { .fd = signal_fd, .events = POLLIN },
			                { .fd = hooks->readable ? hooks->fd : -1,
			                  .events = POLLIN } };
		int n = poll(fds, ARRAY_LEN(fds), timeout);

		if (fds[2].revents)
			hooks->readable(hooks->self);
		while (strace_read(s, news)) {
			if (news->kind == STRACE_IS_ATTACHED)
				hooks->attached(hooks->self);
			else if (news->kind == STRACE_IS_OVER)
				return;
		}
		if (fds[1].revents) {
			strace_stop(s);
			signal_fd = -1; /* once is enough: from here on there is a deadline */
			timeout = STOP_MS;
		} else if (n == 0) {
			*news = (struct strace_news){ .kind = STRACE_IS_OVER,
				                      .end = STRACE_STOPPED };
			return;
		}
	}
}

int tracer_run(const struct cli *cli, struct strace_options *o, int root_fd, const char *output,
               const struct tracer_hooks *hooks)
{
	cleanup(closep) int signal_fd = -1;
	cleanup(strace_freep) struct strace *s = NULL;
	char program[PATH_MAX];
	struct strace_news news;
	struct err err;

	if (find_program(program, &err) < 0)
		return cli_failed(&err);
	o->program = program;
	signal_fd = catch_signals();
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (strace_start(o, &s, &err) < 0)
		return cli_failed(&err);
	follow(s, signal_fd, hooks, &news);
	strace_kill(s);
	if (news.end == STRACE_NOT_ATTACHED)
		return explain_refusal(cli, o, root_fd, &news);
	return news.end < STRACE_OUTPUT_FAILED ? CLI_OK : report_failure(o, output, &news);
}
