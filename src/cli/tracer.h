/* SPDX-License-Identifier: MIT */
/* tracer.h - strace for a verb: checks the process, runs strace until it ends or a signal asks for it, and reports
 * failures. */
#pragma once

#include "cli/cli.h"
#include "trace/strace.h"

/* Logs why a process cannot be traced: CLI_NOT_FOUND, if there is none, or CLI_FAILED. */
int tracer_refuse(const struct err *err);
/* CLI_OK, or why the process cannot be traced here, logged: CLI_NOT_FOUND or CLI_FAILED. */
int tracer_check(int root_fd, pid_t pid);

struct tracer_hooks {
	void (*attached)(void *self);
	void (*readable)(void *self); /* `fd` is; NULL: there is none */
	int fd;
	void *self;
};

/* The options' program is found in PATH. CLI_OK if the trace ended in order, also by Ctrl-C, SIGTERM or SIGHUP; else
 * logged. `output` names the file in messages. */
int tracer_run(const struct cli *cli, struct strace_options *o, int root_fd, const char *output,
               const struct tracer_hooks *hooks);
