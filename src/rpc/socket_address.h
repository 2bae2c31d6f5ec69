/* SPDX-License-Identifier: MIT */
/* socket_address.h - unix sockets by paths of any length. The kernel's limit is 107 bytes, which a
 * state directory and a job's name easily exceed. Every fd is CLOEXEC. */
#pragma once

#include <stdint.h>
#include <sys/socket.h>

#include "base/err.h"

/* Listens on `name` in this directory, mode 0600. `dir_path` is the path of the same directory; it
 * is used if it fits, so that other tools show the full name. -EADDRINUSE: the name exists. */
int socket_address_listen(int dir_fd, const char *dir_path, const char *name, int backlog,
                          int *ret_fd, struct err *err) must_check;
/* -ENOENT and -ECONNREFUSED: there is no server; -ETIMEDOUT: it does not accept connections. */
int socket_address_connect(const char *path, uint64_t deadline_mono_ns, int *ret_fd,
                           struct err *err) must_check;
/* The same, but only to a server of root or of our own user; -EACCES: it belongs to another user. Any
 * user who can write to the directory could have placed a socket there (atop, 2025). */
int socket_address_connect_trusted(const char *path, uint64_t deadline_mono_ns, int *ret_fd,
                                   struct err *err) must_check;
/* The credentials of the process at the other end: the one that connected, or that listens. Returns
 * 0 or -errno. */
int socket_address_peer(int fd, struct ucred *ret) must_check;
