/* SPDX-License-Identifier: MIT */
/* state_dir.h - the directory of the database, the JSONL file and the jobs: --state-dir,
 * $PROCTOR_STATE_DIR, $STATE_DIRECTORY, else /var/lib/proctor (root, if that is writable) or the user's
 * XDG state directory. Where that cannot be written (a rootless container, a system user without a
 * home), and no directory was named, the first of these that can: XDG_RUNTIME_DIR/proctor/state, and
 * proctor-UID in TMPDIR, /var/tmp and /tmp. */
#pragma once

#include <sys/types.h>

#include "base/buf.h"
#include "base/err.h"
#include "config/config.h"

#define STATE_DIR_MACHINE "/var/lib/proctor"

struct state_dir_env {
	const char *option;         /* --state-dir */
	const char *ours;           /* $PROCTOR_STATE_DIR */
	const char *systemd;        /* $STATE_DIRECTORY; only the first of several is used */
	const char *xdg_state_home; /* relative values are ignored, as XDG requires */
	const char *home;
	const char *xdg_runtime_dir;
	const char *tmpdir; /* $TMPDIR */
	uid_t uid;          /* names the directory in those that all users share */
	const char *cwd;    /* for relative paths in `option` and `ours` */
	bool is_root; /* … which may write to the machine's: root of a user namespace often may not */
};

#define STATE_DIR_ROOM 4096 /* bytes of one entry in the user database */
/* The directories in the environment of this process; `home` may be in `room`. `option` and `cwd`
 * are not set. */
struct state_dir_env state_dir_environment(char room[static STATE_DIR_ROOM]);
/* An absolute path without a trailing slash. -ENOENT: unknown; the message names what to set. */
int state_dir_resolve(const struct state_dir_env *env, char ret[static CONFIG_PATH_MAX],
                      struct err *err) must_check;

struct state_dir {
	char path[CONFIG_PATH_MAX];
	char usual[CONFIG_PATH_MAX]; /* what state_dir_resolve() gives; "": nothing */
	bool is_fallback;            /* another than that, because: */
	bool is_shared_place;        /* … in a directory that all users share */
	struct err why;
};

/* The first directory that can be written, or created, by its rights: a full disk is no reason to use
 * another. A directory of another user, one that others may use, and a link are not used in a place
 * that all users share. If there is none: the usual one, whose error state_dir_prepare() reports; none
 * of those either: -ENOENT. */
int state_dir_choose(const struct state_dir_env *env, struct state_dir *ret, struct err *err)
	must_check;
/* The same for readers: what was written before the usual one became read-only is still found, as long
 * as nothing was written elsewhere. */
int state_dir_find(const struct state_dir_env *env, struct state_dir *ret, struct err *err)
	must_check;
/* Whether no place can be used, where none was named. *ret then has the places apart from the usual one, each
 * with the reason: "'/tmp/proctor-1000' (a link)". */
bool state_dir_is_nowhere(const struct state_dir_env *env, struct buf *ret);
/* Creates it if missing, for its owner only (for root: and its group), and checks that it is
 * writable. */
int state_dir_prepare(const struct state_dir *dir, bool is_root, struct err *err) must_check;
