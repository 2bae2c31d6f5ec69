/* SPDX-License-Identifier: MIT */
/* lifecycle_record.h - what the lifecycle programs put into the ring, shared with its reader.
 *
 * Every record begins with the same head, which is about the process of the record. A
 * process that ends has two records: LIFE_EXIT when its last thread dies, LIFE_FREE when it has
 * been reaped and its counters are final. */
#pragma once

#include <linux/types.h>

#include "probe/bpf/task_counters.h"

#define LIFE_COMM_BYTES 16
#define LIFE_ARGV_MAX 512
#define LIFE_RING_BYTES (4 << 20)
#define LIFE_RING_SMALL_BYTES                                                                      \
	(1 << 20) /* some 6,000 records: making it takes part of a job's start */

enum life_kind {
	LIFE_FORK = 1,
	LIFE_EXEC,
	LIFE_EXIT,
	LIFE_FREE,
	LIFE_SIGNAL,
};

struct life_head {
	__u32 kind;
	__u32 pid;  /* in the reader's pid namespace; 0 in LIFE_FREE: it has none any more */
	__u32 tgid; /* the same in the initial namespace: with the start time, what FREE is matched
	               by */
	__u32 uid;
	__u64 at_ns;    /* boot clock */
	__u64 start_ns; /* boot clock; 0 when not known */
	char comm[LIFE_COMM_BYTES];
};

struct life_fork {
	struct life_head head;
	__u32 ppid;
	__u32 pad;
};

struct life_exec {
	struct life_head head;
	__u32 argv_len; /* bytes in argv, at most LIFE_ARGV_MAX */
	__u32 argv_all; /* bytes there were */
	__u32 caller_uid; /* the real user: a set-user-id program does not change it */
	__u32 pad;
	char argv[];    /* each argument with its NUL */
};

struct life_exit {
	struct life_head head;
	__u64 peak_rss_pages;
	__u64 life_peak_pages; /* … with what it had before its first program; 0: not known */
	__u32 status; /* as wait(2) gives it */
	__u32 is_oom_victim;
	__u32 is_peak_bound; /* the peak may be that of its parent, or of a program before */
	__u32 pad;
};

struct life_free {
	struct life_head head;
	struct task_counters counters;
	__u32 status;
	__u32 has_io;
};

struct life_signal {
	struct life_head head;
	__u32 number;
	__s32 code;       /* si_code */
	__u32 sender_pid; /* in the reader's namespace; 0: not in it */
	__u32 sender_uid;
	char sender_comm[LIFE_COMM_BYTES];
	__u32 reason; /* LIFE_FOR_…: why the kernel sent it */
	__u32 pad;
};

enum {
	LIFE_FOR_OTHERS,
	LIFE_FOR_STACK,     /* the first thread touched memory just below the limit of its stack */
	LIFE_FOR_PROTECTED, /* another thread touched a protected page, which may be that below its stack */
	LIFE_FOR_CPU_LIMIT, /* the process used the CPU time of its RLIMIT_CPU */
};
