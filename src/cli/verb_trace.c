/* SPDX-License-Identifier: MIT */
/* verb_trace.c - every system call of a process as it happens: strace, attached and surely detached again. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/signal_name.h"
#include "cli/cli.h"
#include "kernel/process_peek.h"
#include "kernel/ptrace_access.h"
#include "trace/strace.h"

#define STOP_MS 5000 /* until a keeper that was asked to end is killed: it may be stopped */
#define NOT_GIVEN UINT64_MAX

struct request {
	pid_t pid;
	const char *file, *filter; /* NULL: not given */
	uint64_t for_ns;
	int root_fd;
};

/* ---- what cannot be traced ------------------------------------------------------------------- */

static int refuse(const struct err *err)
{
	log_error("%s", err->msg);
	return err->code == ESRCH ? CLI_NOT_FOUND : CLI_FAILED;
}

/* A reader of our output that waits for us, while strace waits for it to read, hangs. */
static int check_target(const struct request *rq)
{
	const struct ptrace_caller us = ptrace_access_own(rq->root_fd);
	struct err err;

	if (rq->pid == getpid()) {
		log_error("process %d is this command itself", (int)rq->pid);
		return CLI_FAILED;
	}
	if (!rq->file && ptrace_access_is_ancestor(rq->root_fd, rq->pid)) {
		log_error(
			"process %d is an ancestor of this command, and showing a trace of it may cause "
			"more of it without end; write it to a file with -o FILE",
			(int)rq->pid);
		return CLI_FAILED;
	}
	return ptrace_access_check(rq->root_fd, rq->pid, &us, &err) < 0 ? refuse(&err) : CLI_OK;
}

static int explain_refusal(const struct cli *cli, const struct request *rq,
                           const struct strace_news *news)
{
	const struct ptrace_caller us = ptrace_access_own(rq->root_fd);
	struct err err;

	if (news->code == EINVAL)
		return cli_usage(cli, "--filter '%s': %s", rq->filter, news->text);
	if (news->code == ESRCH) {
		log_error("process %d has ended meanwhile", (int)rq->pid);
		return CLI_NOT_FOUND;
	}
	if (news->code == EPERM && ptrace_access_explain(rq->root_fd, rq->pid, &us, &err) < 0)
		return refuse(&err);
	log_error("strace: %s", news->text[0] ? news->text : "it could not be started");
	return CLI_FAILED;
}

/* ---- the trace ------------------------------------------------------------------------------- */

static int report_failure(const struct request *rq, const struct strace_news *news)
{
	if (news->end == STRACE_OUTPUT_FAILED)
		log_error("write '%s': %s", rq->file ? rq->file : "standard output",
		          strerror(news->code));
	else if (news->end == STRACE_KEEPER_LOST)
		log_error(
			"the helper process that controls strace was killed: process %d is no longer traced",
			(int)rq->pid);
	else if (news->code)
		log_error("strace was ended by %s: process %d is no longer traced",
		          signal_name(news->code).at, (int)rq->pid);
	else
		log_error("strace failed: %s", news->text);
	return CLI_FAILED;
}

static int report_end(const struct cli *cli, const struct request *rq,
                      const struct strace_news *news)
{
	if (news->end == STRACE_NOT_ATTACHED)
		return explain_refusal(cli, rq, news);
	return news->end < STRACE_OUTPUT_FAILED ? CLI_OK : report_failure(rq, news);
}

static void report_begin(const struct request *rq)
{
	char comm[COMM_LEN];

	process_peek_comm(rq->root_fd, rq->pid, comm);
	if (isatty(STDERR_FILENO))
		log_info("tracing %s (pid %d), its threads and new children%s", comm, (int)rq->pid,
		         rq->for_ns == NOT_GIVEN ? ", until they end or Ctrl-C is pressed" : "");
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

static void follow(struct strace *s, const struct request *rq, int signal_fd,
                   struct strace_news *news)
{
	int timeout = -1;

	for (;;) {
		struct pollfd fds[] = { { .fd = strace_fd(s), .events = POLLIN },
			                { .fd = signal_fd, .events = POLLIN } };
		int n = poll(fds, ARRAY_LEN(fds), timeout);

		while (strace_read(s, news)) {
			if (news->kind == STRACE_IS_ATTACHED)
				report_begin(rq);
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

static int trace(const struct cli *cli, const struct request *rq, const char *program, int out_fd)
{
	const struct strace_options options = { .program = program,
		                                .pid = rq->pid,
		                                .filter = rq->filter,
		                                .out_fd = out_fd,
		                                .for_ns = rq->for_ns == NOT_GIVEN ? 0
		                                                                  : rq->for_ns };
	cleanup(closep) int signal_fd = catch_signals();
	cleanup(strace_freep) struct strace *s = NULL;
	struct strace_news news;
	struct err err;

	prctl(PR_SET_CHILD_SUBREAPER, 1);
	if (strace_start(&options, &s, &err) < 0)
		return cli_failed(&err);
	follow(s, rq, signal_fd, &news);
	strace_kill(s);
	return report_end(cli, rq, &news);
}

static int open_and_trace(const struct cli *cli, const struct request *rq)
{
	const char *dirs = getenv("PATH");
	cleanup(closep) int file_fd = -1;
	char program[PATH_MAX];
	struct err err;

	if (strace_find(dirs ? dirs : "", program, &err) < 0)
		return cli_failed(&err);
	if (rq->file) {
		file_fd = open(rq->file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0600);
		if (file_fd < 0) {
			log_error("open '%s': %s", rq->file, strerror(errno));
			return CLI_FAILED;
		}
	}
	return trace(cli, rq, program, rq->file ? file_fd : STDOUT_FILENO);
}

static int run(struct cli *cli, int argc, char **argv)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct request rq = { .for_ns = NOT_GIVEN, .root_fd = root_fd };
	const struct opt opts[] = {
		{ "output", 'o', OPT_PATH, &rq.file, "FILE",
		  "write to this file (default: standard output)" },
		{ "for", 0, OPT_DURATION, &rq.for_ns, "TIME",
		  "trace for so long (default: until it ends or Ctrl-C is pressed)" },
		{ "filter", 0, OPT_TEXT, &rq.filter, "SET",
		  "only these calls, as for strace -e trace=: open,read, %file, %network, …" },
		CLI_COMMON_OPTS(cli),
	};
	struct config config;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 1 || !cli_is_pid(argv[1], &rq.pid))
		return cli_usage(cli,
		                 words == 1 ? "'%s' is not the number of a process"
		                            : "give the number of one process",
		                 words == 1 ? argv[1] : "");
	if (rq.for_ns == 0)
		return cli_usage(cli, "--for must be greater than 0");
	if (rq.filter && (!*rq.filter || strlen(rq.filter) > STRACE_FILTER_MAX))
		return cli_usage(cli, "--filter has 1 to %d bytes", STRACE_FILTER_MAX);
	status = cli_config_to_read(cli, &config);
	if (status != CLI_OK)
		return status;
	if (!config.profiler.strace_full_on_demand) {
		log_error("traces are switched off: [profiler] strace_full_on_demand is false");
		return CLI_FAILED;
	}
	status = check_target(&rq);
	return status == CLI_OK ? open_and_trace(cli, &rq) : status;
}

const struct verb verb_trace = {
	.name = "trace",
	.summary = "every system call of a process as it happens, as strace shows it",
	.usage = "PID [-o FILE] [--for TIME] [--filter SET]",
	.about =
		"Runs strace -f -t on a process, its threads and the children that it makes from then on. However it\n"
		"ends (Ctrl-C, a closed pipe, the end of the process, a killed strace), the process goes on and no\n"
		"strace is left. It slows down each call about 80 times; proctor syscalls costs far less.\n"
		"Exit status: 0 traced, 1 it may not be traced or strace is missing, 3 no such process.",
	.instead_of_json = "it prints what strace prints",
	.run = run,
};
