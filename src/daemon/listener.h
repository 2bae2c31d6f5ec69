/* SPDX-License-Identifier: MIT */
/* listener.h - the daemon's socket: inherited from a supervisor (LISTEN_FDS), or made by us where
 * nobody listens yet. A socket of ours that nobody listens on, which a killed daemon left, is
 * replaced; whatever else has that name stays, and is told. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "base/err.h"

struct listener {
	int dir_fd;       /* -1: it is not our socket */
	char *name;       /* in that directory */
	struct stat made; /* what it is */
};

/* `path` is not looked at when a socket is inherited. -EALREADY: somebody listens there; -EEXIST,
 * -EISDIR, -EPERM: something else is there. */
int listener_open(struct listener *l, const char *path, int *ret_fd, struct err *err) must_check;
/* Removes what we made, if it is still there. Before the socket itself is closed: after that,
 * another daemon may take the name. */
void listener_close(struct listener *l);
