/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* tasks.bpf.c - one record per process, for the reader of an iterator.
 *
 * Fields are read straight from the kernel's structures (CO-RE). A task may die under our hands:
 * such loads yield 0 or stale bytes but never fault, and `task->mm` and `task->files` are looked at
 * twice so that figures of a freed structure are not reported. */
#include "probe/bpf/kernel.bpf.h"
#include "probe/bpf/task_record.h"
#include "probe/bpf/distrust.bpf.h"
#include "probe/bpf/fds.bpf.h"
#include "probe/bpf/pidns.bpf.h"
#include "probe/bpf/rss.bpf.h"
#include "probe/bpf/unchanged.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define RLIMIT_NOFILE 7

/* ---- threads --------------------------------------------------------------------------------- */

#define THREADS_MAX (1 << 20)
#define TRIES 3 /* threads that come and go all the time must not hold us up */

struct thread_walk {
	__u64 node;  /* in the list of the process's threads */
	__u64 head;  /* where the list begins and ends */
	__u64 alive; /* the first thread that has not exited, 0: none */
	struct task_counters sum;
};

/* Members that are adjacent are read at once. */
struct two_counters {
	__u64 first, second;
};

/* By address, so each read costs a call: that is why this one is written by hand. */
static __always_inline void add_thread(struct task_struct *task, struct task_counters *sum)
{
	struct two_counters faults = {}, io = {};

	bpf_core_read(&faults, sizeof faults, &task->min_flt);
	sum->minor_faults += faults.first;
	sum->major_faults += faults.second;
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		bpf_core_read(&io, sizeof io, &task->ioac.read_bytes);
		sum->read_bytes += io.first;
		sum->write_bytes += io.second;
	}
	sum->cpu_ns += BPF_CORE_READ(task, se.sum_exec_runtime);
}

static long thread_step(__u32 i, struct thread_walk *walk)
{
	struct task_struct *none = 0, *task;

	if (!walk->node || walk->node == walk->head)
		return 1;
	task = (void *)(walk->node - bpf_core_field_offset(none->thread_node));
	add_thread(task, &walk->sum);
	if (!walk->alive && !BPF_CORE_READ(task, exit_state))
		walk->alive = (__u64)task;
	walk->node = (__u64)BPF_CORE_READ(task, thread_node.next);
	return 0;
}

static __always_inline void add_dead_threads(struct signal_struct *signal,
                                             struct task_counters *sum)
{
#define X(member, metric, in_task, in_signal) sum->member += signal->in_signal;
	TASK_COUNTERS_ALWAYS(X)
	if (bpf_core_field_exists(signal->ioac.read_bytes)) {
		TASK_COUNTERS_IO(X)
	}
#undef X
}

/* When a thread ends, its counters move to the signal structure: a sum taken meanwhile would miss
 * it or count it twice. The kernel's own readers look at this sequence for the same reason. */
static __always_inline __u32 sequence_of(struct signal_struct *signal)
{
	return signal->stats_lock.seqcount.seqcount.sequence;
}

static __noinline int walk_threads(struct task_struct *leader, struct thread_walk *walk)
{
	struct signal_struct *signal = leader->signal;
	__u64 address = 0;

	bpf_core_read(&address, sizeof address, &leader->signal);
	walk->head = address + bpf_core_field_offset(signal->thread_head);
	for (int i = 0; i < TRIES; i++) {
		__u32 before = sequence_of(signal);

		__builtin_memset(&walk->sum, 0, sizeof walk->sum);
		walk->alive = 0;
		walk->node = (__u64)signal->thread_head.next;
		add_dead_threads(signal, &walk->sum);
		bpf_loop(THREADS_MAX, thread_step, walk, 0);
		if (!(before & 1) && before == sequence_of(signal))
			break;
	}
	return 0;
}

/* ---- records --------------------------------------------------------------------------------- */

static __always_inline void read_space(struct task_struct *task, struct task_record *r)
{
	struct files_struct *files = task->files;
	struct mm_struct *mm = task->mm;

	r->state = task->__state;
	r->exit_state = task->exit_state;
	/* A kernel thread's file table is the kernel's own, and its mm a borrowed one. */
	if (task->flags & PF_KTHREAD) {
		r->flags |= TASK_HAS_RSS;
		return;
	}
	if (mm) {
		r->vm_pages = mm->total_vm;
		r->exec_id = mm->start_code * 31 + mm->start_stack + task->self_exec_id;
		read_rss(mm, r);
	}
	if (files)
		r->open_fds = count_fds(files);
	/* Given up in the meantime: then the process has none, which is known exactly. */
	if (!mm || task->mm != mm) {
		r->vm_pages = r->rss_pages = r->anon_pages = r->exec_id = 0;
		r->flags |= TASK_HAS_RSS;
	}
	if (task->files != files)
		r->open_fds = 0;
}

static __always_inline void read_own_counters(struct task_struct *task, struct task_counters *out)
{
#define X(member, metric, in_task, in_signal) out->member = task->in_task;
	TASK_COUNTERS_ALWAYS(X)
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		TASK_COUNTERS_IO(X)
	}
#undef X
	add_dead_threads(task->signal, out);
}

/* A leader that has exited looks like a zombie and has given up its memory and files, while the
 * process lives on in its other threads: the first of them is read then. */
static __always_inline struct task_struct *read_counters(struct task_struct *leader,
                                                         struct task_counters *out)
{
	struct thread_walk walk = {};
	struct task_struct *representative;

	if (leader->signal->nr_threads == 1) {
		read_own_counters(leader, out);
		return leader;
	}
	walk_threads(leader, &walk);
	*out = walk.sum;
	if (!leader->exit_state || !walk.alive)
		return leader;
	representative = task_at(walk.alive);
	return representative ? representative : leader;
}

/* The process id of a leader, 0 when the reader's namespace does not hold it. */
static __always_inline __u32 leader_tgid(struct task_struct *leader)
{
	struct pid *pid = leader->thread_pid;

	if (!pidns_level)
		return leader->tgid;
	return pid->level < pidns_level ? 0 : pidns_nr(pid);
}

static __always_inline void read_identity(struct task_struct *task, struct task_record *r)
{
	struct signal_struct *signal = task->signal;

	r->ppid = leader_tgid(task->real_parent->group_leader);
	r->uid = task->real_cred->euid.val;
	r->start_boot_ns = task->start_boottime;
	r->fd_limit = signal->rlim[RLIMIT_NOFILE].rlim_cur;
	r->threads = signal->nr_threads;
	bpf_probe_read_kernel(r->comm, sizeof r->comm, task->comm);
}

static __always_inline long write_full(struct seq_file *seq, struct task_struct *task, __u32 tgid)
{
	struct task_record r = { .size = sizeof r, .tgid = tgid };

	if (cpus_possible && !cpu_offsets_known)
		cpu_offsets_learn();
	if (bpf_core_field_exists(task->ioac.read_bytes))
		r.flags |= TASK_HAS_IO;
	read_identity(task, &r);
	read_space(read_counters(task, &r.counters), &r);
	return bpf_seq_write(seq, &r, sizeof r);
}

/* A record that finds no room is discarded, and the kernel calls us for the same task again: what
 * was not written must not be remembered. The traits are read before the record, so that a change
 * in between is found by the next pass. */
SEC("iter/task")
int tasks_read(struct task_iter_ctx *ctx)
{
	struct seq_file *seq = ctx->meta->seq;

	if (!ctx->task)
		return 0;
	struct task_struct *task = task_distrust(ctx->task);
	if (task->pid != task->tgid)
		return 0;

	__u32 tgid = leader_tgid(task);
	struct task_traits now = {}, *last = unchanged_slot(task);

	unchanged_read(task, &now);
	if (last && !wants_full(tgid) && unchanged_match(last, &now)) {
		struct task_unchanged r = { sizeof r, tgid, now.start_boot_ns };

		bpf_seq_write(seq, &r, sizeof r);
		return 0;
	}
	if (write_full(seq, task, tgid) == 0 && last)
		*last = now;
	return 0;
}
