/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* lifecycle.bpf.c - what happens to processes, as it happens, into one ring buffer.
 *
 * A record that finds no room is counted in `dropped`. The reader comes at every tick anyway, so it
 * is woken only when much has gathered.
 *
 * Raw tracepoints, and reads by address: for typed arguments the kernel searches all its type names
 * at each load, which took a third of the time until the command of a job could start. */
#include "probe/bpf/kernel.bpf.h"
#include "probe/bpf/lifecycle_record.h"
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

/* The process id of `task`, 0 when the reader's namespace does not hold it. */
static __always_inline __u32 task_tgid(struct task_struct *task)
{
	return pidns_level ? pidns_nested_tgid(task) : BPF_CORE_READ(task, tgid);
}

static __always_inline void head_fill(struct life_head *head, __u32 kind, __u32 pid,
                                      struct task_struct *task)
{
	head->kind = kind;
	head->pid = pid;
	head->tgid = BPF_CORE_READ(task, tgid);
	head->uid = BPF_CORE_READ(task, real_cred, euid.val);
	head->at_ns = bpf_ktime_get_boot_ns();
	head->start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	bpf_core_read(head->comm, sizeof head->comm, &task->comm);
}

/* ---- birth ----------------------------------------------------------------------------------- */

/* The parent is the process that called fork: with CLONE_PARENT it becomes a child of another, but
 * this is where it belongs. */
SEC("raw_tp/sched_process_fork")
int on_fork(__u64 *ctx)
{
	struct task_struct *parent = (void *)ctx[0], *child = (void *)ctx[1];
	__u32 pid = task_tgid(child);

	if (BPF_CORE_READ(child, pid) != BPF_CORE_READ(child, tgid) || !pid)
		return 0;

	struct life_fork *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_FORK, pid, child);
	r->ppid = task_tgid(parent);
	r->pad = 0;
	record_submit(r);
	return 0;
}

/* ---- a program ------------------------------------------------------------------------------- */

/* Side by side in the task: how many programs it ran, its ancestors included, and its parent when it
 * was made. */
struct exec_ids {
	__u64 parent, own;
};

static __always_inline struct exec_ids exec_ids_of(struct task_struct *task)
{
	struct exec_ids ids = {};

	bpf_core_read(&ids, sizeof ids, &task->parent_exec_id);
	return ids;
}

/* In pages. */
struct marks {
	__u64 inherited; /* signal->maxrss when it ran its first program */
	__u64 programs;  /* the most of its earlier programs */
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 16384);
	__type(key, __u32);
	__type(value, struct marks);
} marks SEC(".maps");

__u64 mm_is_kept; /* the memory of a process is still there when its end is reported */

static __always_inline __u64 mm_peak(struct mm_struct *mm)
{
	__s64 mark = BPF_CORE_READ(mm, hiwater_rss);
	__s64 now = BPF_CORE_READ(mm, rss_stat[MM_FILEPAGES].count) +
	            BPF_CORE_READ(mm, rss_stat[MM_ANONPAGES].count) +
	            BPF_CORE_READ(mm, rss_stat[MM_SHMEMPAGES].count);
	return now > mark ? now : mark;
}

/* From 6.10 on: another program is about to take the place of this one, and its memory to go. */
SEC("raw_tp/sched_prepare_exec")
int on_prepare_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct exec_ids ids = exec_ids_of(task);
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct marks fresh = {}, *known;

	if (ids.own == ids.parent || !mm || !bpf_core_field_exists(mm->rss_stat[0].count))
		return 0; /* its memory is its parent's, or a copy */
	fresh.programs = mm_peak(mm);
	known = bpf_map_lookup_elem(&marks, &tgid);
	if (!known)
		bpf_map_update_elem(&marks, &tgid, &fresh, BPF_ANY);
	else if (fresh.programs > known->programs)
		known->programs = fresh.programs;
	return 0;
}

static __always_inline void note_inherited(struct task_struct *task)
{
	struct exec_ids ids = exec_ids_of(task);
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct marks fresh = {};

	if (mm_is_kept || ids.own - ids.parent != 1)
		return;
	fresh.inherited = BPF_CORE_READ(task, signal, maxrss);
	bpf_map_update_elem(&marks, &tgid, &fresh, BPF_ANY);
}

/* Most command lines are short, and a reservation's size must be a constant. */
#define ARGV_SHORT 128

static __always_inline void exec_write(struct task_struct *task, __u32 pid, __u64 start, __u64 len,
                                       __u64 room)
{
	struct life_exec *r = record_new(sizeof *r + room);

	if (!r)
		return;
	head_fill(&r->head, LIFE_EXEC, pid, task);
	r->caller_uid = BPF_CORE_READ(task, real_cred, uid.val);
	r->argv_all = len;
	if (len > room)
		len = room;
	if (bpf_probe_read_user(r->argv, len, (void *)start))
		len = 0;
	r->argv_len = len;
	record_submit(r);
}

SEC("raw_tp/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	__u64 start = BPF_CORE_READ(mm, arg_start), len = BPF_CORE_READ(mm, arg_end) - start;
	__u32 pid = task_tgid(task);

	if (!pid)
		return 0;
	note_inherited(task);
	if (len <= ARGV_SHORT)
		exec_write(task, pid, start, len, ARGV_SHORT);
	else
		exec_write(task, pid, start, len, LIFE_ARGV_MAX);
	return 0;
}

/* ---- death ----------------------------------------------------------------------------------- */

#define SIGNAL_GROUP_EXIT 0x4

/* The status that wait(2) returns: a group exit or fatal signal has the last word over the leader's
 * own end. */
static __always_inline __u32 exit_status(struct task_struct *task, struct signal_struct *signal)
{
	if (BPF_CORE_READ(signal, flags) & SIGNAL_GROUP_EXIT)
		return BPF_CORE_READ(signal, group_exit_code);
	return BPF_CORE_READ(task, group_leader, exit_code);
}

/* The peak of the program that runs. signal->maxrss covers the whole life and starts at the parent's
 * value (fork copies, vfork shares its memory). */
static __always_inline void peak_fill(struct life_exit *r, struct task_struct *task,
                                      struct signal_struct *signal)
{
	__u32 tgid = BPF_CORE_READ(task, tgid);
	struct mm_struct *mm = BPF_CORE_READ(task, mm);
	struct exec_ids ids = exec_ids_of(task);
	struct marks *known = bpf_map_lookup_elem(&marks, &tgid);
	__u64 programs = known ? known->programs : 0, inherited = known ? known->inherited : 0;
	__u64 peak = BPF_CORE_READ(signal, maxrss);

	if (known)
		bpf_map_delete_elem(&marks, &tgid);
	r->life_peak_pages = peak;
	if (mm && bpf_core_field_exists(mm->rss_stat[0].count)) { /* from 6.16 on */
		__u64 own = mm_peak(mm);

		mm_is_kept = 1;
		if (programs > own)
			own = programs;
		r->is_peak_bound = ids.own - ids.parent > 1 && !programs && peak > own;
		r->peak_rss_pages = r->is_peak_bound ? peak : own;
	} else {
		r->is_peak_bound = ids.own != ids.parent && (!inherited || peak <= inherited);
		r->peak_rss_pages = peak;
	}
}

/* The count of live threads is taken down before we are called, so that two threads which die at
 * once may both find it 0: the reader takes the first record only. */
SEC("raw_tp/sched_process_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);
	__u32 pid = task_tgid(task);

	if (BPF_CORE_READ(signal, live.counter) || !pid)
		return 0;

	struct life_exit *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_EXIT, pid, task);
	peak_fill(r, task, signal);
	r->pad = 0;
	r->status = exit_status(task, signal);
	/* Set when the kernel chooses it as a victim, and never taken back. */
	r->is_oom_victim = BPF_CORE_READ(signal, oom_mm) != 0;
	record_submit(r);
	return 0;
}

/* When a task is released its counters are added to the signal structure, the leader's too. It may
 * still have been running then: what CPU time it used until it was switched away for good is only in its own
 * counter, so the greater of the two is the right one (and nothing is counted twice). */
static __always_inline void counters_fill(struct life_free *r, struct task_struct *leader,
                                          struct signal_struct *signal)
{
	struct task_counters *c = &r->counters;
	__u64 own_ns = BPF_CORE_READ(leader, se.sum_exec_runtime);

#define X(member, metric, in_task, in_signal) c->member = BPF_CORE_READ(signal, in_signal);
	TASK_COUNTERS_ALWAYS(X)
	r->has_io = bpf_core_field_exists(signal->ioac.read_bytes);
	if (r->has_io) {
		TASK_COUNTERS_IO(X)
	}
#undef X
	if (own_ns > c->cpu_ns)
		c->cpu_ns = own_ns;
}

SEC("raw_tp/sched_process_free")
int on_free(__u64 *ctx)
{
	struct task_struct *task = (void *)ctx[0];
	struct signal_struct *signal = BPF_CORE_READ(task, signal);

	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return 0;

	struct life_free *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_FREE, 0, task);
	counters_fill(r, task, signal);
	r->status = exit_status(task, signal);
	record_submit(r);
	return 0;
}

/* ---- signals --------------------------------------------------------------------------------- */

#define SIGNAL_DELIVERED 0 /* the tracepoint's `result` */
#define SIGNAL_REALTIME 32

/* Everyday traffic, of no interest to users:
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

/* Part of the ABI: where siginfo holds the address of a fault. */
#define SIGINFO_ADDR_AT 16
#define SIGNAL_KILL 9
#define SIGNAL_SEGV 11
#define SIGNAL_XCPU 24
#define CODE_ACCERR 2 /* the page is there, and protected */
#define LIMIT_CPU 0
#define LIMIT_STACK 3
#define LIMIT_NONE (~0UL)
#define STACK_NEAR (1UL << 20) /* how far a function's frame may reach beyond the limit */
#define STACK_ABOVE (256UL << 10) /* arguments, environment and a random gap are above its start */

/* The number must be a constant: with a variable our own size of a limit would count, not the kernel's. */
#define READ_LIMIT(task, number) BPF_CORE_READ(task, signal, rlim[number].rlim_cur)

static __always_inline __u32 fault_reason(struct task_struct *task, struct kernel_siginfo *info,
                                          __s32 code)
{
	__u64 top = BPF_CORE_READ(task, mm, start_stack), most = READ_LIMIT(task, LIMIT_STACK);
	__u64 at = 0;

	if (BPF_CORE_READ(task, pid) != BPF_CORE_READ(task, tgid))
		return code == CODE_ACCERR ? LIFE_FOR_PROTECTED : LIFE_FOR_OTHERS;
	if (bpf_probe_read_kernel(&at, sizeof at, (char *)info + SIGINFO_ADDR_AT) || at >= top)
		return LIFE_FOR_OTHERS;
	return top - at + STACK_ABOVE >= most && top - at <= most + STACK_NEAR ? LIFE_FOR_STACK
	                                                                       : LIFE_FOR_OTHERS;
}

/* The kernel sends SIGKILL for other reasons, too: the limit must be one that was used up, by its count of ticks, which on
 * a busy machine are more than the time that the process ran. */
static __always_inline __u32 cpu_reason(struct task_struct *task)
{
	__u64 most = READ_LIMIT(task, LIMIT_CPU);
	__u64 ran_ns = BPF_CORE_READ(task, signal, sum_sched_runtime) +
	               BPF_CORE_READ(task, se.sum_exec_runtime);

	return most != LIMIT_NONE && most < (1ULL << 32) && ran_ns * 2 >= most * 1000000000
	               ? LIFE_FOR_CPU_LIMIT
	               : LIFE_FOR_OTHERS;
}

static __always_inline __u32 signal_reason(struct task_struct *task, int number,
                                           struct kernel_siginfo *info, __s32 code)
{
	if (code <= 0) /* from a process */
		return LIFE_FOR_OTHERS;
	if (number == SIGNAL_SEGV && (__u64)info > 2)
		return fault_reason(task, info, code);
	if (number == SIGNAL_KILL || number == SIGNAL_XCPU)
		return cpu_reason(task);
	return LIFE_FOR_OTHERS;
}

SEC("raw_tp/signal_generate")
int on_signal(__u64 *ctx)
{
	int number = ctx[0], result = ctx[4];
	struct kernel_siginfo *info = (void *)ctx[1];
	struct task_struct *task = (void *)ctx[2];

	if (result != SIGNAL_DELIVERED || number >= SIGNAL_REALTIME || number <= 0 ||
	    (BIT(number) & SIGNALS_DULL))
		return 0;

	struct task_struct *sender = (void *)bpf_get_current_task();
	__u32 pid = task_tgid(task);
	if (!pid)
		return 0;

	struct life_signal *r = record_new(sizeof *r);
	if (!r)
		return 0;
	head_fill(&r->head, LIFE_SIGNAL, pid, task);
	r->number = number;
	r->code = signal_code(info);
	r->sender_pid = task_tgid(sender);
	r->sender_uid = BPF_CORE_READ(sender, real_cred, euid.val);
	bpf_core_read(r->sender_comm, sizeof r->sender_comm, &sender->comm);
	r->reason = signal_reason(task, number, info, r->code);
	r->pad = 0;
	record_submit(r);
	return 0;
}
