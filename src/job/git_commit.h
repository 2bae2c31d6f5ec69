/* SPDX-License-Identifier: MIT */
/* git_commit.h - which commit a directory has checked out, read from the files of git. No git
 * process is started; changes of files since then are not detected. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define GIT_COMMIT_LEN 65 /* SHA-256 in hex, and a NUL */

/* Reads the commit of the directory, or of the nearest one above it on the same file system that is
 * a work tree. Does not allocate but for packed-refs. False: there is none, it has no commit yet,
 * or its files are not as expected. */
bool git_commit_read(int dir_fd, char ret[GIT_COMMIT_LEN]);
/* The same for the working directory, in a thread that is left behind after that time: reads from a
 * network file system whose server is gone never return. Not on FUSE, where such a thread could not even
 * be killed. */
bool git_commit_find(uint64_t timeout_ns, char ret[GIT_COMMIT_LEN]);
