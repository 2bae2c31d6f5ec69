/* SPDX-License-Identifier: MIT */
/* tracer.h - strace for a verb: checks the process, runs strace until it ends or a signal asks for it, and reports
 * failures. */
#pragma once

#include "cli/cli.h"
#include "trace/strace.h"

/* CLI_OK, or why the process cannot be traced here, logged: CLI_NOT_FOUND or CLI_FAILED. */
int tracer_check(int root_fd, pid_t pid);
/* The options' program is found in PATH. `attached` is called when strace has attached. CLI_OK if the trace ended in
 * order, also by Ctrl-C, SIGTERM or SIGHUP; else logged. `output` names the file in messages. */
int tracer_run(const struct cli *cli, struct strace_options *o, int root_fd, const char *output,
               void (*attached)(void *self), void *self);
