/* SPDX-License-Identifier: MIT */
/* blocked_reader.h - what processes wait for: the system call that each is in, and on what, from wchan, syscall
 * and the open files in /proc/PID. Whoever may not trace a process sees only its state and wchan. */
#pragma once

#include "kernel/process_reader.h"
#include "model/blocked_call.h"

#define BLOCKED_PROCESSES_MAX 128

/* Finds what the first BLOCKED_PROCESSES_MAX of these processes wait for; start_ticks 0: whatever
 * has that pid. One with a thread that runs is left out. Processes at the other end of pipes and
 * sockets are searched among them first, and then anywhere. */
void blocked_reader_list(struct process_reader *r, int root_fd, const struct proc_id *ids, size_t n,
                         struct blocked_calls *ret);
/* Finds, with an existing reader, what each of them waits for, but not since when: that would move
 * this thread to other CPUs. The other end is searched only among them. False, and nothing: one
 * does not wait, or may go on as it is, there are more than BLOCKED_PROCESSES_MAX, or it would take
 * longer than patience_ns. */
bool blocked_reader_list_all(struct process_reader *r, int root_fd, const struct proc_id *ids,
                             size_t n, bool (*may_go_on)(const struct blocked_call *call),
                             uint64_t patience_ns, struct blocked_calls *ret);
/* One of them, of which the others are the relatives; nothing else is searched. False: it does not wait. */
bool blocked_reader_one(struct process_reader *r, int root_fd, const struct proc_id *ids, size_t n,
                        struct blocked_call *ret);

/* The call that its first thread is in, and the kind of file or thing; the other end is not searched. False: it does not wait. */
bool blocked_reader_brief(struct process_reader *r, pid_t pid, struct blocked_call *ret);

/* A call with its arguments. */
struct blocked_args {
	enum syscall_abi abi;
	uint32_t number;
	uint64_t args[6];
};

/* The text of /proc/PID/syscall; false: it runs, or sleeps outside of a call. */
bool blocked_reader_parse(struct scan text, struct blocked_args *ret);
/* That of /proc/PID/sched: when it ran last. */
bool blocked_reader_parse_sched(struct scan text, uint64_t *ret_ns);
