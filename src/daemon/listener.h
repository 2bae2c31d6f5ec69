/* SPDX-License-Identifier: MIT */
/* listener.h - the daemon's socket: inherited from a supervisor (LISTEN_FDS), or created. A stale
 * socket of our own user, left by a killed daemon, is replaced; anything else of that name is kept
 * and reported. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

struct listener {
	int dir_fd;       /* -1: the socket was inherited */
	char *name;       /* in that directory */
	struct stat made; /* identifies the socket file that we created */
};

/* `path` is ignored if a socket is inherited. -EALREADY: another process listens there; -EEXIST,
 * -EISDIR, -EPERM: the path is taken by something else. */
int listener_open(struct listener *l, const char *path, int *ret_fd, struct err *err) must_check;
/* Removes the socket file if it is still ours. Call it before the socket is closed: after that,
 * another daemon may use the name. */
void listener_close(struct listener *l);
