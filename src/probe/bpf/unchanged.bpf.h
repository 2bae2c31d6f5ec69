/* SPDX-License-Identifier: MIT */
/* unchanged.bpf.h - whether a process is as the last pass found it.
 *
 * Nothing that a process does itself escapes its run time. What others do to one that sleeps is
 * compared: parent, state, memory. Changes that none of this shows (a limit set by prlimit, a file
 * opened by a process that shares its table) are found by the next full record.
 *
 * A table by pid, not task storage: finding a task's storage takes three loads that are not in any
 * cache, which cost as much as the record that they would spare. Processes whose pids fall on the
 * same slot are read in full each time. */
#pragma once

#define PF_KTHREAD 0x00200000

#define TRAITS_SLOTS (1 << 15)

/* All zero for a process that has to be read in full: one that runs, or has several threads. */
struct task_traits {
	__u64 start_boot_ns;
	__u64 cpu_ns;
	__u64 parent; /* address */
	__u64 exec_id;
	__u32 faults;
	__u32 rss_pages;
	__u32 state;
	__u32 exit_state;
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, TRAITS_SLOTS);
	__type(key, __u32);
	__type(value, struct task_traits);
} traits SEC(".maps");

/* Set by the reader before each pass. */
__u32 pass_number;
__u32 pass_is_full;                /* what was read last is not known any more */
__u64 focus[TASK_FOCUS_BITS / 64]; /* pids of processes that are always read in full */

static __always_inline bool wants_full(__u32 tgid)
{
	__u32 bit = tgid % TASK_FOCUS_BITS;

	return pass_is_full || (tgid ^ pass_number) % TASK_FULL_EVERY == 0 ||
	       (focus[bit / 64] >> bit % 64 & 1);
}

static __always_inline struct task_traits *unchanged_slot(struct task_struct *task)
{
	__u32 slot = (__u32)task->tgid % TRAITS_SLOTS;

	return bpf_map_lookup_elem(&traits, &slot);
}

/* Exactly one element: its neighbours on both sides are the head of the list. */
static __always_inline bool has_one_thread(struct task_struct *task)
{
	return task->thread_node.next == task->thread_node.prev;
}

static __always_inline void unchanged_read(struct task_struct *task, struct task_traits *out)
{
	struct mm_struct *mm = task->mm;

	if (!task->__state || !has_one_thread(task))
		return;
	out->start_boot_ns = task->start_boottime;
	out->cpu_ns = task->se.sum_exec_runtime;
	out->parent = (__u64)task->real_parent;
	out->exec_id = task->self_exec_id;
	out->faults = task->min_flt + task->maj_flt;
	out->state = task->__state;
	out->exit_state = task->exit_state;
	if (mm && !(task->flags & PF_KTHREAD))
		out->rss_pages = rss_counted(mm);
}

static __always_inline bool unchanged_match(const struct task_traits *a,
                                            const struct task_traits *b)
{
	return b->start_boot_ns && a->start_boot_ns == b->start_boot_ns &&
	       a->cpu_ns == b->cpu_ns && a->parent == b->parent && a->exec_id == b->exec_id &&
	       a->faults == b->faults && a->rss_pages == b->rss_pages && a->state == b->state &&
	       a->exit_state == b->exit_state;
}
