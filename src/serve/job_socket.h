/* SPDX-License-Identifier: MIT */
/* job_socket.h - the directory of a running job and the socket in it: created so that no other user
 * can replace it, and removed at the end of the job. */
#pragma once

#include <stdbool.h>

#include "base/err.h"

struct job_socket {
	int parent_fd, fd; /* the directory of all jobs, and that of this job */
	char *name;        /* of the job's directory */
	bool has_socket;
};

void job_socket_init(struct job_socket *d);
/* Creates `dir` and its parent, mode 0700, locks it and listens on "sock" in it. */
int job_socket_open(struct job_socket *d, const char *dir, int *ret_listen_fd, struct err *err)
	must_check;
/* Accepts a half-built one, too. Also removes the directories of jobs whose recorder was killed. */
void job_socket_close(struct job_socket *d);
