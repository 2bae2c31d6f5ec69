/* SPDX-License-Identifier: MIT */
/* verb_trace.c - every system call of a process as it happens: strace, attached and surely detached again. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cli/tracer.h"
#include "kernel/process_peek.h"
#include "kernel/ptrace_access.h"

#define NOT_GIVEN UINT64_MAX

struct request {
	pid_t pid;
	const char *file, *filter; /* NULL: not given */
	uint64_t for_ns;
	int root_fd;
	bool is_new_file, is_attached;
};

/* A reader of our output that waits for us, while strace waits for it to read, hangs. */
static int check_target(const struct request *rq)
{
	int status;

	if (rq->pid == getpid()) {
		log_error("process %d is this command itself", (int)rq->pid);
		return CLI_FAILED;
	}
	status = tracer_check(rq->root_fd, rq->pid);
	if (status != CLI_OK || rq->file || !ptrace_access_is_ancestor(rq->root_fd, rq->pid))
		return status;
	log_error("process %d is an ancestor of this command, and showing its trace would produce "
	          "more system calls to trace, without end; write it to a file with -o FILE",
	          (int)rq->pid);
	return CLI_FAILED;
}

static void report_begin(void *self)
{
	struct request *rq = self;
	char comm[COMM_LEN];

	rq->is_attached = true;
	process_peek_comm(rq->root_fd, rq->pid, comm);
	if (isatty(STDERR_FILENO))
		log_info("tracing %s (pid %d), its threads and new children%s", comm, (int)rq->pid,
		         rq->for_ns == NOT_GIVEN ? ", until they end or Ctrl-C is pressed" : "");
}

/* Its content is kept until strace has attached. */
static int open_file(struct request *rq)
{
	const int flags = O_WRONLY | O_CREAT | O_CLOEXEC | O_NOCTTY;
	int fd = open(rq->file, flags | O_EXCL, 0600);

	rq->is_new_file = fd >= 0;
	if (fd < 0 && errno == EEXIST)
		fd = open(rq->file, flags, 0600);
	if (fd < 0)
		log_error("open '%s': %s; choose another file with -o FILE", rq->file,
		          strerror(errno));
	return fd;
}

static int trace(const struct cli *cli, struct request *rq)
{
	cleanup(closep) int file_fd = -1;
	struct strace_options o = { .pid = rq->pid,
		                    .filter = rq->filter,
		                    .out_fd = STDOUT_FILENO,
		                    .empties_output = rq->file,
		                    .for_ns = rq->for_ns == NOT_GIVEN ? 0 : rq->for_ns };
	const struct tracer_hooks hooks = { .attached = report_begin, .self = rq };
	int status;

	if (rq->file) {
		o.out_fd = file_fd = open_file(rq);
		if (file_fd < 0)
			return CLI_FAILED;
	}
	status = tracer_run(cli, &o, rq->root_fd, rq->file ? rq->file : "standard output", &hooks);
	if (rq->is_new_file && !rq->is_attached)
		unlink(rq->file);
	return status;
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
	return status == CLI_OK ? trace(cli, &rq) : status;
}

const struct verb verb_trace = {
	.name = "trace",
	.summary = "every system call of a process as it happens, as strace shows it",
	.usage = "PID [-o FILE] [--for TIME] [--filter SET]",
	.about =
		"Runs strace -f -t on a process, its threads and the children that it makes from then on. However it\n"
		"ends (Ctrl-C, a closed pipe, the end of the process, a killed strace), the process goes on and no\n"
		"strace is left. It slows down each call about 100 times; proctor syscalls costs far less.\n"
		"Exit status: 0 traced, 1 it may not be traced or strace is missing, 3 no such process.",
	.instead_of_json = "it prints what strace prints",
	.example = "proctor trace 1234 --filter %file -o calls.txt",
	.run = run,
};
