/* SPDX-License-Identifier: MIT */
/* task_record.h - what the task iterator writes, one record per process, shared by the kernel
 * program and its reader. The order is that of the process ids. */
#pragma once

#include <linux/types.h>

#include "probe/bpf/task_counters.h"

#define TASK_COMM_BYTES 16
#define TASK_CPUS_MAX 16 /* up to here resident memory is summed exactly */

/* Every process is read in full at least once in so many passes, each pass a different part. */
#define TASK_FULL_EVERY 16
/* Bits of the set of processes that are always read in full; pids share a bit past this number. */
#define TASK_FOCUS_BITS (1 << 15)

enum task_flag {
	TASK_HAS_IO = 1 << 0,    /* the kernel accounts storage I/O */
	TASK_HAS_RSS = 1 << 1,   /* the layout of its rss counters is one we know */
	TASK_RSS_EXACT = 1 << 2, /* summed over all CPUs */
};

struct task_record {
	__u32 size; /* of the record */
	__u32 tgid; /* in the reader's pid namespace, as ppid */
	__u32 ppid;
	__u32 uid;
	__u64 start_boot_ns;
	__u64 exec_id; /* each exec changes it, and a fork does not; 0: no program */
	__u64 fd_limit;
	__u64 vm_pages;
	__u64 rss_pages;
	__u64 anon_pages; /* of them, without files and shared memory */
	__u32 open_fds;
	__u32 threads;
	struct task_counters counters;
	__u32 flags;      /* enum task_flag */
	__u32 state;      /* the kernel's bits: asleep, stopped, … */
	__u32 exit_state; /* and these: zombie, dead */
	__u32 pad;
	char comm[TASK_COMM_BYTES];
};

/* A process that did not run since the last tick and appears the same from outside: all but what
 * identifies it is as in the last full record. */
struct task_unchanged {
	__u32 size;
	__u32 tgid;
	__u64 start_boot_ns;
};
