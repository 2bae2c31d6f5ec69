/* SPDX-License-Identifier: MIT */
/* spawn_unwatched.h - a command to its end, behind the launcher and with nobody watching, for verbs
 * that stand in for it. */
#pragma once

#include "cli/cli.h"
#include "job/launch/launcher.h"

/* 0 and how it ended; or, when it did not start, the exit status that says so, and told: 127 not
 * found, 126 not executable, 125 our own failure. */
int spawn_unwatched(const struct cli *cli, char *const *argv, struct launch_end *ret);
