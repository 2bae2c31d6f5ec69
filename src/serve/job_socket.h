/* SPDX-License-Identifier: MIT */
/* job_socket.h - the directory of a running job and the socket in it: made so that nobody else can put
 * theirs in its place, and gone when the job is. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct job_socket {
	int parent_fd, fd; /* the directory of all jobs, and that of this one */
	char *name;        /* of the second in the first */
	bool has_socket;
};

void job_socket_init(struct job_socket *d);
/* Makes `dir` and its parent, mode 0700, locks it and listens on "sock" in it. */
int job_socket_open(struct job_socket *d, const char *dir, int *ret_listen_fd, struct err *err)
	must_check;
/* A half-built one too. Removes what jobs left behind whose recorder was killed. */
void job_socket_close(struct job_socket *d);
