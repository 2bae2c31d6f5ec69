/* SPDX-License-Identifier: MIT */
/* strace_tally.h - what the lines of strace add up to: how often each process made each call, how long that took, and
 * how it failed. As with BPF a call counts when it returns, or when its thread ends inside it; its time grows
 * meanwhile. */
#pragma once

#include "base/map.h"
#include "model/syscall.h"
#include "trace/strace_line.h"

#define STRACE_TALLY_THREADS_MAX ((size_t)1 << 22)
#define STRACE_TALLY_NAMES 512

struct strace_tally_thread {
	pid_t tid;
	pid_t pid;         /* of its process; 0: not known yet */
	bool awaits_exec;  /* its calls do not count before */
	bool is_in_call;
	bool makes_thread; /* … the call does */
	syscall_id call;
	uint64_t entered_ns; /* wall clock; 0: unknown */
	uint64_t counted_ns; /* of the call's time */
	struct syscall_counts counts; /* while its process is not known */
};

struct strace_tally_process {
	pid_t pid;
	struct syscall_counts counts;
};

struct strace_tally_name {
	char name[SYSCALL_NAME_MAX];
	syscall_id call;
};

struct strace_tally {
	struct map by_tid; /* → index in threads */
	VEC(struct strace_tally_thread) threads;
	struct map by_pid; /* → index in processes */
	VEC(struct strace_tally_process) processes; /* with what was counted since it was taken last */
	struct strace_tally_name names[STRACE_TALLY_NAMES]; /* found before */
	bool has_lost; /* at a ceiling */
};

/* A process of one thread, before its first line; from_exec: it counts from its next program on. */
void strace_tally_add(struct strace_tally *t, pid_t pid, bool from_exec);
void strace_tally_line(struct strace_tally *t, struct scan line);
/* The beginning of the last line, which has no end yet: strace writes it when the call is made. */
void strace_tally_peek(struct strace_tally *t, struct scan line);
bool strace_tally_is_in_call(const struct strace_tally *t); /* a thread is, as far as is known */
/* Calls that were not seen to return count as made. */
void strace_tally_end(struct strace_tally *t);

typedef void strace_tally_fn(void *self, pid_t pid, const struct syscall_count *count);
/* The calls that were counted since the last call of this function. A thread whose process cannot
 * be known is one of its own. now_ns: wall clock. */
void strace_tally_take(struct strace_tally *t, uint64_t now_ns, strace_tally_fn *fn, void *self);
void strace_tally_done(struct strace_tally *t);
