/* SPDX-License-Identifier: MIT */
/* socket_path.h - the path of the daemon's socket, for the daemon and for its clients: --socket,
 * $PROCTOR_SOCKET, else daemon.sock in the runtime directory, which is $RUNTIME_DIRECTORY under
 * systemd, /run/proctor for root and $XDG_RUNTIME_DIR/proctor for a user. */
#pragma once

#include "base/err.h"
#include "config/config.h"

struct socket_path_env {
	const char *option;          /* --socket */
	const char *ours;            /* $PROCTOR_SOCKET */
	const char *systemd;         /* $RUNTIME_DIRECTORY; only the first of several is used */
	const char *xdg_runtime_dir; /* relative values are ignored, as XDG requires */
	bool is_root;
};

/* The paths in the environment of this process, and --socket. */
struct socket_path_env socket_path_environment(const char *option);
/* Where to listen. -ENOENT: unknown, -EINVAL: not an absolute path; the message names what to set. */
int socket_path_own(const struct socket_path_env *env, char ret[static CONFIG_PATH_MAX],
                    struct err *err) must_check;
/* Where a client searches for a daemon, in order: the socket that was named, or else the user's own and
 * then the machine's. False: there are no more. */
bool socket_path_find(const struct socket_path_env *env, unsigned nth,
                      char ret[static CONFIG_PATH_MAX]);
