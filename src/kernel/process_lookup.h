/* SPDX-License-Identifier: MIT */
/* process_lookup.h - single processes, by pid: owner, start, counters, whether they are alive. All that could hang is read by
 * the process reader. */
#pragma once

#include "base/err.h"
#include "kernel/process_reader.h"

/* The effective user: 0 or -ENOENT. This one never hangs. */
int process_lookup_owner(struct process_reader *r, pid_t pid, uid_t *ret) must_check;
/* Reads /proc/PID/stat; false: there is no such process, or it hangs. */
bool process_lookup_stat(struct process_reader *r, pid_t pid, struct process_files_stat *ret);
/* Why process_lookup_stat() failed: -ENOENT, or -EAGAIN of one that hangs. */
int process_lookup_describe_failure(struct process_reader *r, pid_t pid, struct err *err)
	must_check;
int process_lookup_describe_hang(pid_t pid, struct err *err) must_check;
/* Its counters and its memory now: CPU time to the ns, faults, resident memory and its peak, and I/O where
 * we may read it. False: it has ended, or hangs. */
bool process_lookup_usage(struct process_reader *r, struct proc_id id, struct proc_readings *ret);
/* Reads these files of each of its threads, `max` at most; returns how many there are; 0: there is
 * no such process. */
size_t process_lookup_threads(struct process_reader *r, pid_t pid, unsigned files,
                              struct process_request *ret, size_t max);
/* CPU time of the children that it waited for, and whether it has any that it did not wait for yet (NULL: not
 * asked). False: that is not known, or it hangs. */
bool process_lookup_waited(struct process_reader *r, struct proc_id id, uint64_t *ret_cpu_ns,
                           bool *ret_has_children);
/* Fills in the start time of id->pid; it is unchanged if that cannot be read. */
void process_lookup_find_start(struct process_reader *r, struct proc_id *id);
/* Whether the process exists, even as a zombie. A start of 0 matches any process; one that hangs
 * matches any start. */
bool process_lookup_exists(struct process_reader *r, struct proc_id id);
/* … and has not ended. */
bool process_lookup_is_alive(struct process_reader *r, struct proc_id id);
/* How many of these are. */
size_t process_lookup_count_alive(struct process_reader *r, const struct proc_id *ids, size_t n);
