/* SPDX-License-Identifier: MIT */
/* distrust.bpf.h - the cheap way to read kernel objects.
 *
 * Where a program loads a pointer from a trusted object, the verifier searches the names of all
 * the kernel's types, several times and slowly. We only ever read, so trust is of no use to us;
 * without it our programs load in a third of the time. */
#pragma once

void *bpf_rdonly_cast(const void *object, __u32 btf_id) __ksym __weak;

/* The cast came with the release that made the rss counters per-CPU: asking for those costs no
 * search of its own. Before it there was no trust to be rid of. */
static __always_inline bool can_cast(void)
{
	struct mm_struct *mm = 0;

	return bpf_core_field_exists(mm->rss_stat[0].count);
}

static __always_inline struct task_struct *task_distrust(struct task_struct *task)
{
	if (!can_cast())
		return task;
	return bpf_rdonly_cast(task, bpf_core_type_id_kernel(struct task_struct));
}

/* The task at an address, NULL on kernels that cannot cast. */
static __always_inline struct task_struct *task_at(__u64 address)
{
	if (!can_cast())
		return 0;
	return bpf_rdonly_cast((void *)address, bpf_core_type_id_kernel(struct task_struct));
}
