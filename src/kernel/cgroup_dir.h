/* SPDX-License-Identifier: MIT */
/* cgroup_dir.h - one directory of a control group hierarchy, by file descriptor: made, filled, emptied
 * and removed. Works the same on v1 and v2.
 *
 * A directory of ours is named CGROUP_DIR_PREFIX… and is flock()ed as long as its launcher lives. So one
 * whose lock is free was left behind by a launcher that was killed, and may be removed. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

#include "base/defs.h"

#define CGROUP_DIR_PREFIX "proctor-"
#define CGROUP_DIR_NAME_MAX 192

/* Makes parent_fd/name and locks it; the fd, or -errno. When the name is taken, name.2, name.3 … is
 * tried. The name that was used is written back. */
int cgroup_dir_make(int parent_fd, char name[CGROUP_DIR_NAME_MAX]) must_check;

/* 0 or -errno, -EIO for a short write. */
int cgroup_dir_write(int dir_fd, const char *file, const char *text) must_check;
bool cgroup_dir_has(int dir_fd, const char *file);
/* Whether the file's first line is this text. */
bool cgroup_dir_contains(int dir_fd, const char *file, const char *text);

/* The processes in it and in the groups below: returns their number and writes the first `cap`. */
size_t cgroup_dir_pids(int dir_fd, pid_t *ret, size_t cap);

/* Moves its processes, but not those of the groups below, to the parent; returns how many. */
size_t cgroup_dir_empty(int parent_fd, int dir_fd);
/* Moves its processes to the parent, and removes it and the empty groups below. A group below that
 * has processes stays as it is, and so does then this one. 0 or -errno. */
int cgroup_dir_remove(int parent_fd, const char *name, int dir_fd);

/* Signals all processes in it and in the groups below, and those that join meanwhile; SIGKILL also
 * until none is left. Each process at most once. 0 or -errno. */
int cgroup_dir_kill(int dir_fd, int signo) must_check;

/* Removes a directory, or all below parent_fd, that killed launchers left behind: those of ours that
 * are not locked and have no processes. */
void cgroup_dir_clear(int parent_fd, const char *name);
void cgroup_dir_sweep(int parent_fd);
