/* SPDX-License-Identifier: MIT */
/* task_record.h - what the task iterator writes, shared by the kernel program and its reader.
 *
 * The stream is a sequence of records in the order of their task ids: a leader usually comes before
 * its threads, but not always. There is one layout, of which lesser kinds write only the beginning;
 * `size` is the whole record, so a reader can step over what it does not know. */
#pragma once

#ifndef __VMLINUX_H__
#include <linux/types.h>
#endif

#define TASK_COMM_BYTES 16
#define TASK_CPUS_MAX 16 /* up to here resident memory is summed exactly */

enum task_kind {
	TASK_PROCESS = 1, /* a thread-group leader, dead threads' counters included */
	TASK_THREAD = 2,  /* another thread's share of the counters */
	TASK_STANDIN = 3, /* the same, from a live thread whose leader has exited */
};

enum task_flag {
	TASK_HAS_IO = 1 << 0,	  /* the kernel accounts storage I/O */
	TASK_HAS_RSS = 1 << 1,	  /* the layout of its rss counters is one we know */
	TASK_RSS_EXACT = 1 << 2,  /* summed over all CPUs */
	TASK_IS_KERNEL = 1 << 3,  /* a kernel thread */
	TASK_LEADER_GONE = 1 << 4, /* the leader has exited, other threads go on */
};

struct task_head {
	__u16 kind;
	__u16 size;
	__u32 tgid; /* in the reader's pid namespace */
};

struct task_counters {
	__u64 cpu_ns;
	__u64 read_bytes;
	__u64 write_bytes;
	__u64 minor_faults;
	__u64 major_faults;
};

/* What belongs to the address space and the file table. */
struct task_space {
	__u64 vm_pages;
	__u64 rss_pages;
	__u32 open_fds;
	__u16 flags; /* enum task_flag */
	char state;  /* as /proc/PID/stat shows it */
	char pad;
};

struct task_record {
	struct task_head head;
	struct task_counters counters;
	/* A TASK_THREAD ends here. */
	struct task_space space;
	/* A TASK_STANDIN ends here. */
	__u64 start_boot_ns;
	__u64 exec_id; /* grows with each exec */
	__u64 fd_limit;
	__u32 ppid;
	__u32 uid;
	__u32 threads;
	__u32 pad;
	char comm[TASK_COMM_BYTES];
};

#define TASK_THREAD_BYTES 48
#define TASK_STANDIN_BYTES 72
#define TASK_PROCESS_BYTES 128

_Static_assert(__builtin_offsetof(struct task_record, space) == TASK_THREAD_BYTES, "thread");
_Static_assert(__builtin_offsetof(struct task_record, start_boot_ns) == TASK_STANDIN_BYTES,
	       "standin");
_Static_assert(sizeof(struct task_record) == TASK_PROCESS_BYTES, "process");
