/* SPDX-License-Identifier: MIT */
/* listener.h - the daemon's socket: inherited from a supervisor (LISTEN_FDS), or made by us where
 * nobody listens yet. What a killed daemon left behind is replaced; a living one is not. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct listener {
	int dir_fd; /* locked while we listen; -1: it is not our socket */
	char *name; /* in that directory */
};

/* `path` is not looked at when a socket is inherited. -EALREADY: another daemon listens there. */
int listener_open(struct listener *l, const char *path, int *ret_fd, struct err *err) must_check;
void listener_close(struct listener *l); /* removes what we made */
