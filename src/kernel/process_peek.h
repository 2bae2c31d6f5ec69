/* SPDX-License-Identifier: MIT */
/* process_peek.h - the few files in /proc/PID that may be read on any thread, because reading them
 * waits for nothing that a process can hold for long: neither for the lock of an exec (exec_update_lock) nor
 * for that of the address space (mmap_lock), on which other files can hang. These are all:
 *	comm, limits            filled from counters, under spinlocks alone
 *	status                  likewise, but its reader holds the address space for some microseconds. If the
 *	                        process ends in them, the reader frees all of its memory, and waits for its
 *	                        asynchronous I/O. So the loop reads it only of children of ours, and of processes
 *	                        that were just found to hang: a user cannot make it do so at a chosen moment
 *	cgroup                  under the lock of the control groups, which no process holds
 *	io, stat                only of a child of ours that waits to begin, or that has ended and was not waited
 *	                        for: it executes nothing, and has no address space any more
 *	task/TID/children       from the list of tasks (probe/tasks/tasks_proc.c reads it, too)
 *	net/tcp, net/udp, …     of its network namespace, not of the process (kernel/socket_peer.c)
 *	the mere presence and the owner of its directory or of a file (stat(2), access(2))
 * All others are read by process_reader.h. */
#pragma once

#include "base/defs.h"
#include "kernel/process_files.h"

#define PROCESS_PEEK_STATUS_MAX 8192 /* the kernel's text is about 1.5 KiB, more with many groups */

/* The text of /proc/PID/status: its length, or -errno. pid 0: our own. */
ssize_t process_peek_status(int root_fd, pid_t pid, char ret[static PROCESS_PEEK_STATUS_MAX])
	must_check;
/* "" when there is no such process. */
void process_peek_comm(int root_fd, pid_t pid, char ret[static COMM_LEN]);
/* Signals that wait for the process as a whole, 1 << (number - 1); 0 when there is no such process.
 */
uint64_t process_peek_pending_signals(int root_fd, pid_t pid);
/* The text of /proc/PID/cgroup, for cgroup_locate(): its length, or -errno. pid 0: our own. */
ssize_t process_peek_cgroup(int root_fd, pid_t pid, char *to, size_t cap) must_check;
/* CPUs that it may run on: its affinity, which the kernel keeps within its cpuset. pid 0: we; 0: there is no
 * such process. */
unsigned process_peek_cpus(pid_t pid);
/* How much address space each of its processes may have (ulimit -v), in bytes. pid 0: our own; 0: no limit. */
uint64_t process_peek_address_limit(int root_fd, pid_t pid);
/* Its hard limit of CPU time (ulimit -t), at which the kernel kills it, if it has used that up; 0: it has not. Also of one that
 * has ended and was not waited for. */
uint64_t process_peek_used_up_cpu_ns(int root_fd, pid_t pid);
/* The kernel's mark of its resident memory, in bytes; 0 when there is no such process. */
uint64_t process_peek_peak(int root_fd, pid_t pid);
/* R S D Z T t I X; 0 when there is no such process. */
char process_peek_state(int root_fd, pid_t pid);
/* By a signal or by a tracer. */
bool process_peek_is_stopped(int root_fd, pid_t pid);
/* The I/O of a process that has ended and was not waited for, with that of all children that it
 * waited for: 0 or -errno; -ENOENT: this kernel keeps no account of it. */
int process_peek_ended_io(int root_fd, pid_t pid, struct proc_readings *ret);
/* When a child of ours began that has not executed its program yet, or that has ended and was not waited for, as in
 * struct proc_id; 0: there is no such process. */
uint64_t process_peek_start(int root_fd, pid_t pid);
