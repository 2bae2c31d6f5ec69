/* SPDX-License-Identifier: MIT */
/* blocked_target.h - what the arguments of a call refer to, read from the memory of the process that is in it: the open
 * files of poll, select and epoll_wait, a path, and what is known about a lock. Whoever may read the call may read
 * these. */
#pragma once

#include "kernel/blocked_reader.h"

#define BLOCKED_FILES_NAMED 3

/* The open files that a call waits for. */
struct blocked_files {
	size_t n;
	int fds[BLOCKED_FILES_NAMED]; /* the first of them */
	bool writes;                  /* the first, until it can be written and not to be read */
};

/* False: not known. */
bool blocked_target_files(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                          const char *name, struct blocked_files *ret);
/* The path that argument `position`, from 1 on, points to; a relative one below its directory. */
bool blocked_target_path(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                         unsigned position, char *ret, size_t cap);
/* The thread that holds a lock, if the lock names it: those with priority inheritance do, and robust ones. 0: not
 * known. */
pid_t blocked_target_owner(struct process_reader *r, pid_t pid, const struct blocked_args *call);
/* Those of the processes that have the memory of a shared lock mapped, too: how many, and the first. */
size_t blocked_target_sharers(struct process_reader *r, pid_t pid, const struct blocked_args *call,
                              const struct proc_id *ids, size_t n, pid_t *ret_first);

/* An array of struct pollfd. */
void blocked_target_parse_poll(struct scan bytes, struct blocked_files *ret);
/* The sets of select: to be read, to be written, and exceptions; those that are not given are empty. */
void blocked_target_parse_sets(const struct scan sets[static 3], size_t nfds,
                               struct blocked_files *ret);
/* /proc/PID/fdinfo of an epoll. */
void blocked_target_parse_epoll(struct scan fdinfo, struct blocked_files *ret);

/* Where a mapping of shared memory is found in another process: /proc/PID/maps. */
struct blocked_mapping {
	char device[16];
	uint64_t inode, offset;
};
bool blocked_target_parse_maps(struct scan maps, uint64_t address, struct blocked_mapping *ret);
bool blocked_target_has_mapping(struct scan maps, const struct blocked_mapping *m);
