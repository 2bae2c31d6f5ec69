/* SPDX-License-Identifier: MIT */
/* state_dir.h - where the database, the JSONL file and the jobs live:
 * --state-dir, $PROCTOR_STATE_DIR, $STATE_DIRECTORY, else /var/lib/proctor (root) or the user's XDG
 * state directory. */
#pragma once

#include "base/err.h"
#include "config/config.h"

struct state_dir_env {
	const char *option;         /* --state-dir */
	const char *ours;           /* $PROCTOR_STATE_DIR */
	const char *systemd;        /* $STATE_DIRECTORY; the first of several counts */
	const char *xdg_state_home; /* relative values are ignored, as XDG asks */
	const char *home;
	const char *cwd; /* what relative paths of the first two start from */
	bool is_root;
};

/* Absolute, without a slash at its end. -ENOENT: no place is known, the message says what to
 * set. */
int state_dir_resolve(const struct state_dir_env *env, char ret[static CONFIG_PATH_MAX],
                      struct err *err) must_check;
/* Creates what is missing, for its owner (root: and group) only, and makes sure that it can be
 * written. */
int state_dir_prepare(const char *path, bool is_root, struct err *err) must_check;
