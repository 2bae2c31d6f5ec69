/* SPDX-License-Identifier: MIT */
/* pidns.bpf.h - process ids as the reader's pid namespace sees them.
 *
 * Both are set before the programs are loaded (bpf_pidns.h): in the initial namespace, where most
 * readers are, the verifier then throws out all that deals with nested ones. */
#pragma once

const volatile __u32 pidns_level;  /* how deep the reader's is nested; 0: it is the initial one */
const volatile __u64 pidns_reader; /* its address */

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

/* The id of one that is nested as deep as the reader, or deeper. */
static __always_inline __u32 pidns_nr(struct pid *pid)
{
	struct pidns_entry at = pidns_entry(pid, pidns_level);

	return at.ns == pidns_reader ? at.nr : 0;
}

static __noinline __attribute__((unused)) __u32 pidns_nested_tgid(struct task_struct *task)
{
	struct pid *pid = BPF_CORE_READ(task, signal, pids[PIDTYPE_TGID]);

	return BPF_CORE_READ(pid, level) < pidns_level ? 0 : pidns_nr(pid);
}
