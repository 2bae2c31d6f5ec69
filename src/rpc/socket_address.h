/* SPDX-License-Identifier: MIT */
/* socket_address.h - unix sockets by path, of any length: the kernel's address takes 107 bytes, a state
 * directory and a job's name are easily more. Every fd is CLOEXEC. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/* Listens on `name` in this directory, mode 0600. `dir_path` is the same directory, for the name
 * that other tools show; it is used when it fits. -EADDRINUSE: something has that name already. */
int socket_address_listen(int dir_fd, const char *dir_path, const char *name, int backlog,
                          int *ret_fd, struct err *err) must_check;
/* Connects within the time; -ENOENT and -ECONNREFUSED: nobody is there, -ETIMEDOUT: nobody answers
 * the door. */
int socket_address_connect(const char *path, uint64_t deadline_mono_ns, int *ret_fd,
                           struct err *err) must_check;
/* Who is at the other end, as the kernel says: who connected, or who listens. -errno. */
int socket_address_peer(int fd, struct ucred *ret) must_check;
