/* SPDX-License-Identifier: MIT */
/* state_dir.h - the directory of the database, the JSONL file and the jobs: --state-dir,
 * $PROCTOR_STATE_DIR, $STATE_DIRECTORY, else /var/lib/proctor (root, if that is writable) or the user's
 * XDG state directory. */
#pragma once

#include "base/err.h"
#include "config/config.h"

#define STATE_DIR_MACHINE "/var/lib/proctor"

struct state_dir_env {
	const char *option;         /* --state-dir */
	const char *ours;           /* $PROCTOR_STATE_DIR */
	const char *systemd;        /* $STATE_DIRECTORY; only the first of several is used */
	const char *xdg_state_home; /* relative values are ignored, as XDG requires */
	const char *home;
	const char *cwd; /* for relative paths in `option` and `ours` */
	bool is_root; /* … which may write to the machine's: root of a user namespace often may not */
};

#define STATE_DIR_ROOM 4096 /* bytes of one entry in the user database */
/* What this process's environment has; `home` may be in `room`. `option` and `cwd` are not set. */
struct state_dir_env state_dir_environment(char room[static STATE_DIR_ROOM]);
/* An absolute path without a trailing slash. -ENOENT: unknown; the message names what to set. */
int state_dir_resolve(const struct state_dir_env *env, char ret[static CONFIG_PATH_MAX],
                      struct err *err) must_check;
/* Creates it if missing, for its owner only (for root: and its group), and checks that it is
 * writable. */
int state_dir_prepare(const char *path, bool is_root, struct err *err) must_check;
