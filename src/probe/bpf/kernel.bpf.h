/* SPDX-License-Identifier: MIT */
/* kernel.bpf.h - the kernel's structures, as far as we read them.
 *
 * Only the names of structures and members matter here: where a member lies is looked up in the
 * running kernel's own type information when a program is loaded (CO-RE). All that stands here is
 * loaded with it each time, so nothing is here that no program reads. */
#pragma once

#include <stdbool.h>
#include <linux/bpf.h>

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct list_head {
	struct list_head *next, *prev;
};

/* ---- memory ---------------------------------------------------------------------------------- */

enum mm_counter { MM_FILEPAGES, MM_ANONPAGES, MM_SWAPENTS, MM_SHMEMPAGES, MM_COUNTERS };

struct percpu_counter {
	__s64 count;
	__s32 *counters;
};

struct mm_struct {
	unsigned long total_vm;
	unsigned long hiwater_rss;
	unsigned long start_code;
	unsigned long start_stack;
	unsigned long arg_start;
	unsigned long arg_end;
	struct percpu_counter rss_stat[MM_COUNTERS];
};

typedef struct {
	long counter;
} atomic_long_t;

/* Kernels before 6.2 kept plain counters. */
struct mm_struct___plain {
	struct {
		atomic_long_t count[MM_COUNTERS];
	} rss_stat;
};

struct bpf_array {
	void *pptrs[1];
};

/* ---- files ----------------------------------------------------------------------------------- */

struct qstr {
	__u32 len;
	const unsigned char *name;
};

struct dentry {
	struct dentry *d_parent;
	struct qstr d_name;
};

struct vfsmount {
	struct dentry *mnt_root;
};

struct mount {
	struct mount *mnt_parent;
	struct dentry *mnt_mountpoint;
	struct vfsmount mnt;
};

struct inode {
	__u16 i_mode;
	unsigned long i_ino;
};

struct path {
	struct vfsmount *mnt;
	struct dentry *dentry;
};

struct file {
	struct inode *f_inode;
	struct path f_path;
};

struct fdtable {
	unsigned max_fds;
	struct file **fd;
	unsigned long *open_fds;
};

struct files_struct {
	struct fdtable *fdt;
	unsigned long open_fds_init[1];
};

struct seq_file;

/* ---- tasks ----------------------------------------------------------------------------------- */

enum pid_type { PIDTYPE_PID, PIDTYPE_TGID, PIDTYPE_PGID, PIDTYPE_SID, PIDTYPES };

struct upid { /* whole: we step over an array of them */
	int nr;
	void *ns;
};

struct pid {
	unsigned level;
	struct upid numbers[1];
};

struct cred {
	struct {
		__u32 val;
	} uid, euid;
};

struct task_io_accounting {
	__u64 read_bytes;
	__u64 write_bytes;
};

struct rlimit {
	unsigned long rlim_cur;
};

struct signal_struct {
	struct {
		int counter;
	} live;
	int nr_threads;
	struct list_head thread_head;
	int group_exit_code;
	unsigned flags;
	struct pid *pids[PIDTYPES];
	struct {
		struct {
			struct {
				unsigned sequence;
			} seqcount;
		} seqcount;
	} stats_lock;
	unsigned long min_flt;
	unsigned long maj_flt;
	unsigned long maxrss;
	struct task_io_accounting ioac;
	unsigned long long sum_sched_runtime;
	struct rlimit rlim[16];
	struct mm_struct *oom_mm;
};

struct thread_info {
	__u32 status;
};

/* The registers of a program that made a system call. */
struct pt_regs___x86 {
	unsigned long bp, bx, r10, r9, r8, cx, dx, si, di, orig_ax;
};

struct pt_regs___arm64 {
	__u64 regs[31];
	__u64 orig_x0;
	__s32 syscallno;
};

struct task_struct {
	struct thread_info thread_info;
	unsigned __state;
	unsigned flags;
	struct {
		__u64 sum_exec_runtime;
	} se;
	struct mm_struct *mm;
	int exit_state;
	int exit_code;
	int pid;
	int tgid;
	struct task_struct *real_parent;
	struct task_struct *group_leader;
	struct pid *thread_pid;
	struct list_head thread_node;
	__u64 start_boottime;
	unsigned long min_flt;
	unsigned long maj_flt;
	const struct cred *real_cred;
	char comm[16];
	struct files_struct *files;
	struct signal_struct *signal;
	__u64 parent_exec_id;
	__u64 self_exec_id;
	struct task_io_accounting ioac;
};

struct kernel_siginfo {
	int si_code;
};

#pragma clang attribute pop

/* The context of an iterator over tasks. Its layout is part of the kernel's interface, so that it need not be
 * looked up: each type that is costs a search through the names of all types when we load. */
struct task_iter_meta {
	struct seq_file *seq;
	__u64 session;
	__u64 number;
};

struct task_iter_ctx {
	struct task_iter_meta *meta;
	struct task_struct *task;
};
