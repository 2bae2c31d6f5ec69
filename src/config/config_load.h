/* SPDX-License-Identifier: MIT */
/* config_load.h - finds and reads all configuration files, in order:
 *
 *	/usr/lib/proctor
 *	/etc/proctor
 *	$XDG_CONFIG_HOME/proctor or ~/.config/proctor (not for root)
 *
 * In each directory proctor.conf comes first, then the *.conf files of conf.d by name. Later files win.
 * $CONFIGURATION_DIRECTORY, if set, replaces /etc and the user's directory. */
#pragma once

#include "config/ini.h"

#define CONFIG_FILES_MAX 256

struct config_env {
	const char *file; /* --config: only this file; NULL: search */
	const char *root; /* prefix of /usr/lib and /etc; NULL or "" except in tests */
	/* From the environment; NULL: not set. */
	const char *configuration_dir;      /* may name several */
	const char *xdg_config_home, *home; /* relative values are ignored, as XDG requires */
	bool is_root;
};

struct config_file {
	char path[CONFIG_PATH_MAX];
	bool skipped; /* this user may not read it */
};

struct config_files {
	VEC(struct config_file) list;
};

/* Applies the defaults, then every file. The result is usable only if problems->list is empty. A
 * missing file is not a problem unless `file` names it. */
void config_load(const struct config_env *env, struct config *ret, struct config_files *files,
                 struct config_problems *problems);
void config_files_done(struct config_files *files);
