/* SPDX-License-Identifier: MIT */
/* pidns.bpf.h - process ids as the reader's pid namespace sees them.
 *
 * The reader runs pidns_learn once, in its own context, before it attaches anything. */
#pragma once

__u32 pidns_level;  /* how deep the reader's namespace is nested; 0: it is the initial one */
__u64 pidns_reader; /* its address */

/* One of struct pid's numbers[], which hold a process's id in each namespace from the initial one
 * down. A type of our own: looking up the kernel's would cost time at each load. */
struct pidns_entry {
	__s32 nr;
	__u64 ns;
};

static __always_inline struct pidns_entry pidns_entry(struct pid *pid, __u32 level)
{
	struct pidns_entry at = {};

	bpf_core_read(&at, sizeof at, &pid->numbers[level]);
	return at;
}

static __noinline __u32 pidns_nested_tgid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);

	if (BPF_CORE_READ(pid, level) < pidns_level)
		return 0;
	struct pidns_entry at = pidns_entry(pid, pidns_level);
	return at.ns == pidns_reader ? at.nr : 0;
}

SEC("syscall")
int pidns_learn(void *ctx)
{
	struct task_struct *reader = (void *)bpf_get_current_task();
	struct pid *pid = BPF_CORE_READ(reader, thread_pid);

	pidns_level = BPF_CORE_READ(pid, level);
	pidns_reader = pidns_entry(pid, pidns_level).ns;
	return 0;
}
