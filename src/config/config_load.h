/* SPDX-License-Identifier: MIT */
/* config_load.h - which configuration files there are, in which order, and reading them all.
 *
 *	/usr/lib/proctor, then /etc/proctor, then (not for root) $XDG_CONFIG_HOME/proctor or
 *~/.config/proctor; in each proctor.conf first, then conf.d with its *.conf files by name. What is
 *read later wins. $CONFIGURATION_DIRECTORY, when set, takes the place of /etc and the user's. */
#pragma once

#include "config/ini.h"

#define CONFIG_FILES_MAX 256

struct config_env {
	const char *file; /* --config: this one and no other; NULL: look for them */
	const char *root; /* put before /usr/lib and /etc; NULL or "" outside of tests */
	const char
		*configuration_dir; /* $CONFIGURATION_DIRECTORY, may name several; NULL: not set */
	const char *xdg_config_home,
		*home; /* NULL: not set; relative values are ignored, as XDG asks */
	bool is_root;
};

struct config_file {
	char path[CONFIG_PATH_MAX];
	bool skipped; /* exists, and this user may not read it */
};

struct config_files {
	VEC(struct config_file) list;
};

/* Defaults, then every file. Whether it may be used is told by problems->list.len == 0. A file that
 * is missing is no problem unless `file` names it. */
void config_load(const struct config_env *env, struct config *ret, struct config_files *files,
                 struct config_problems *problems);
void config_files_done(struct config_files *files);
