/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* lifecycle.bpf.c - what happens to processes, as it happens, into one ring buffer.
 *
 * A record that finds no room is counted in `dropped`. The reader comes at every tick anyway, so it
 * is woken only when much has gathered. */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "probe/bpf/lifecycle_record.h"
#include "probe/bpf/distrust.bpf.h"
#include "probe/bpf/pidns.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define WAKE_BYTES (256 << 10)

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, LIFE_RING_BYTES);
} ring SEC(".maps");

__u64 dropped;

static __always_inline void *record_new(__u64 size)
{
	void *record = bpf_ringbuf_reserve(&ring, size, 0);

	if (!record)
		__sync_fetch_and_add(&dropped, 1);
	return record;
}

static __always_inline void record_submit(void *record)
{
	__u64 waiting = bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA);

	bpf_ringbuf_submit(record, waiting > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP);
}

static __always_inline void head_fill(struct life_head *head, __u32 kind, __u32 pid,
                                      struct task_struct *task)
{
	head->kind = kind;
	head->pid = pid;
	head->tgid = task->tgid;
	head->uid = task->real_cred->euid.val;
	head->at_ns = bpf_ktime_get_boot_ns();
	head->start_ns = task->group_leader->start_boottime;
	bpf_probe_read_kernel(head->comm, sizeof head->comm, task->comm);
}

/* ---- birth ----------------------------------------------------------------------------------- */

SEC("tp_btf/sched_process_fork")
int BPF_PROG(on_fork, struct task_struct *parent, struct task_struct *trusted_child)
{
	struct task_struct *child = task_distrust(trusted_child);
	__u32 pid = pidns_tgid(child);

	if (child->pid != child->tgid || !pid)
		return 0;

	struct life_fork *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_FORK, pid, child);
	r->ppid = pidns_tgid(child->real_parent);
	r->pad = 0;
	record_submit(r);
	return 0;
}

/* Most command lines are short, and a reservation's size must be a constant. */
#define ARGV_SHORT 128

static __always_inline void exec_write(struct task_struct *task, __u32 pid, __u64 room)
{
	struct mm_struct *mm = task->mm;
	__u64 start = mm->arg_start, len = mm->arg_end - start;
	struct life_exec *r = record_new(sizeof *r + room);

	if (!r)
		return;
	head_fill(&r->head, LIFE_EXEC, pid, task);
	r->argv_all = len;
	if (len > room)
		len = room;
	if (bpf_probe_read_user(r->argv, len, (void *)start))
		len = 0;
	r->argv_len = len;
	record_submit(r);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(on_exec, struct task_struct *trusted_task)
{
	struct task_struct *task = task_distrust(trusted_task);
	struct mm_struct *mm = task->mm;
	__u32 pid = pidns_tgid(task);

	if (!pid)
		return 0;
	if (mm->arg_end - mm->arg_start <= ARGV_SHORT)
		exec_write(task, pid, ARGV_SHORT);
	else
		exec_write(task, pid, LIFE_ARGV_MAX);
	return 0;
}

/* ---- death ----------------------------------------------------------------------------------- */

#define SIGNAL_GROUP_EXIT 0x4

/* What wait(2) gives: a group exit or fatal signal has the last word over the leader's own end. */
static __always_inline __u32 exit_status(struct task_struct *task)
{
	struct signal_struct *signal = task->signal;

	if (signal->flags & SIGNAL_GROUP_EXIT)
		return signal->group_exit_code;
	return task->group_leader->exit_code;
}

/* The count of live threads is taken down before we are called, so that two threads which die at
 * once may both find it 0: the reader takes the first record only. */
SEC("tp_btf/sched_process_exit")
int BPF_PROG(on_exit, struct task_struct *trusted_task)
{
	struct task_struct *task = task_distrust(trusted_task);
	__u32 pid = pidns_tgid(task);

	if (task->signal->live.counter || !pid)
		return 0;

	struct life_exit *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_EXIT, pid, task);
	r->peak_rss_pages = task->signal->maxrss;
	r->status = exit_status(task);
	r->pad = 0;
	record_submit(r);
	return 0;
}

/* When a task is released its counters are added to the signal structure, the leader's too. It may
 * still have been running then: what it used until it was switched away for good is only in its own
 * counter, so the greater of the two is the right one (and nothing is counted twice). */
static __always_inline __u64 final_cpu_ns(struct task_struct *leader)
{
	__u64 group = leader->signal->sum_sched_runtime, own = leader->se.sum_exec_runtime;

	return own > group ? own : group;
}

SEC("tp_btf/sched_process_free")
int BPF_PROG(on_free, struct task_struct *trusted_task)
{
	struct task_struct *task = task_distrust(trusted_task);
	struct signal_struct *signal = task->signal;

	if (task->pid != task->tgid)
		return 0;

	struct life_free *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_FREE, 0, task);
	r->cpu_ns = final_cpu_ns(task);
	r->minor_faults = signal->min_flt;
	r->major_faults = signal->maj_flt;
	r->peak_rss_pages = signal->maxrss;
	r->status = exit_status(task);
	r->read_bytes = r->write_bytes = r->has_io = 0;
	if (bpf_core_field_exists(signal->ioac.read_bytes)) {
		r->read_bytes = signal->ioac.read_bytes;
		r->write_bytes = signal->ioac.write_bytes;
		r->has_io = 1;
	}
	record_submit(r);
	return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

#define SIGNAL_DELIVERED 0 /* the tracepoint's `result` */
#define SIGNAL_REALTIME 32

/* Everyday traffic that tells nothing about how a process fares:
 * SIGALRM, SIGCHLD, SIGURG, SIGVTALRM, SIGPROF, SIGWINCH and SIGIO. */
#define BIT(n) (1ULL << (n))
#define SIGNALS_DULL (BIT(14) | BIT(17) | BIT(23) | BIT(26) | BIT(27) | BIT(28) | BIT(29))

#define CODE_USER 0
#define CODE_KERNEL 0x80

/* Two small numbers stand for "from a process, no details" and "from the kernel". */
static __always_inline __s32 signal_code(struct kernel_siginfo *info)
{
	if ((__u64)info == 0)
		return CODE_USER;
	if ((__u64)info <= 2)
		return CODE_KERNEL;
	return BPF_CORE_READ(info, si_code);
}

SEC("tp_btf/signal_generate")
int BPF_PROG(on_signal, int number, struct kernel_siginfo *info, struct task_struct *trusted_task,
             int group, int result)
{
	if (result != SIGNAL_DELIVERED || number >= SIGNAL_REALTIME || number <= 0 ||
	    (BIT(number) & SIGNALS_DULL))
		return 0;

	struct task_struct *task = task_distrust(trusted_task);
	struct task_struct *sender = task_distrust(bpf_get_current_task_btf());
	__u32 pid = pidns_tgid(task);
	if (!pid)
		return 0;

	struct life_signal *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_SIGNAL, pid, task);
	r->number = number;
	r->code = signal_code(info);
	r->sender_pid = pidns_tgid(sender);
	r->sender_uid = sender->real_cred->euid.val;
	bpf_probe_read_kernel(r->sender_comm, sizeof r->sender_comm, sender->comm);
	record_submit(r);
	return 0;
}

/* ---- out of memory --------------------------------------------------------------------------- */

/* From 6.9 on the tracepoint is given the victim, before that only its pid. */
struct trace_event_raw_mark_victim___task {
	uid_t uid;
} __attribute__((preserve_access_index));

static __always_inline void victim_fill(struct life_head *head, __u64 argument)
{
	struct task_struct *task = task_at(argument);

	if (bpf_core_field_exists(struct trace_event_raw_mark_victim___task, uid) && task) {
		head_fill(head, LIFE_OOM, pidns_tgid(task), task);
		return;
	}
	__builtin_memset(head, 0, sizeof *head);
	head->kind = LIFE_OOM;
	head->at_ns = bpf_ktime_get_boot_ns();
	head->tgid = argument;
	head->pid = pidns_level ? 0 : argument;
}

SEC("raw_tp/mark_victim")
int on_victim(__u64 *ctx)
{
	struct life_oom *r = record_new(sizeof *r);

	if (!r)
		return 0;
	victim_fill(&r->head, ctx[0]);
	record_submit(r);
	return 0;
}
