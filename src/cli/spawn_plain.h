/* SPDX-License-Identifier: MIT */
/* spawn_plain.h - a command as our child, in our place: same process group, terminal and files, its
 * end and its stops are ours. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct spawn_end {
	bool has_exit_code; /* a code or a signal, never both */
	int exit_code, signal;
};

/* Runs it to its end. A negative errno: it was not started, -ENOENT when there is no such
 * command. */
int spawn_plain(char *const *argv, struct spawn_end *ret, struct err *err) must_check;
/* Tells it; returns the exit status that says so: 127 not found, 126 not executable, 125 else. */
int spawn_refused(const struct err *err);
/* Ends this process as the command ended. */
_Noreturn void spawn_end_alike(const struct spawn_end *end);
