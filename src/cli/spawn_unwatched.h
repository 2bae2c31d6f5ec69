/* SPDX-License-Identifier: MIT */
/* spawn_unwatched.h - runs a command to its end with the launcher but without recording, for verbs
 * that wrap one. */
#pragma once

#include "cli/cli.h"
#include "job/launch/launcher.h"

/* 0 and how it ended; or, if it did not start, the exit status, logged: 127 not found, 126 not
 * executable, 125 our own failure. */
int spawn_unwatched(const struct cli *cli, char *const *argv, struct launch_end *ret);
