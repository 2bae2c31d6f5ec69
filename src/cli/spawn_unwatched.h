/* SPDX-License-Identifier: MIT */
/* spawn_unwatched.h - runs a command to its end with the launcher but without recording, for verbs
 * that wrap one. */
#pragma once

#include "cli/cli.h"
#include "job/launch/launcher.h"

struct spawn_end {
	struct launch_end command;
	/* The usage of the command and of all that was waited for: this process is the
	 * subreaper. */
	struct rusage usage;
	uint64_t read_bytes, written_bytes;
	bool has_io;
	bool is_complete; /* nothing outlived the command */
};

/* 0 and how it ended; or, if it did not start, the exit status, logged. */
int spawn_unwatched(const struct cli *cli, char *const *argv, struct spawn_end *ret);
