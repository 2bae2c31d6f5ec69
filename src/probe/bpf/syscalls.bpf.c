/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* syscalls.bpf.c - which system calls the traced threads make, how long they take, and how they fail.
 *
 * A thread is traced when it has task storage of ours; its children inherit that. All others leave the
 * programs at once. Each thread counts in a small table of its own, so that nothing is shared between CPUs;
 * readers take what is in there by exchanging it for 0, so that every call is reported once.
 *
 * The kernel calls us for the calls of *all* processes while the programs are attached, and that is
 * most of what they cost: they are attached only while something is traced. */
#include "probe/bpf/kernel.bpf.h"
#include "probe/bpf/pidns.bpf.h"
#include "probe/bpf/syscall_record.h"
#include "probe/bpf/flight.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

#define WAKE_BYTES (256 << 10)
#define ERRNO_MAX 4095
#define X32_BIT 0x40000000
#define TS_COMPAT 0x2

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, SYSCALL_RING_BYTES);
} ring SEC(".maps");

__u64 dropped;  /* records that found no room in the ring */
__u64 untraced; /* threads that could not be given storage */
__u64 unknown;  /* threads that ended in the call that they were traced in */

/* In the slots `call` is one more than the call, so that an empty slot matches none. */
struct thread_calls {
	__u64 entered_ns;  /* 0: in no call. Moved forward when the time so far was reported */
	__u32 slot;        /* of that call; SYSCALL_SLOTS: not known before it returns */
	__u32 used;        /* slots, counted on when they are used again */
	__u64 awaits_exec; /* what it does before its next program does not count */
	__u8 slot_of[SYSCALL_NUMBERS]; /* where the call of that number was put last */
	struct syscall_tally slots[SYSCALL_SLOTS];
	struct flight_state flight;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct thread_calls);
} threads SEC(".maps");

/* Where a record is put together: too large for the stack. The iterator has one of its own, because it may be
 * preempted by a thread that ends. */
enum { SCRATCH_OF_THREADS, SCRATCH_OF_PASSES, SCRATCHES };
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, SCRATCHES);
	__type(key, __u32);
	__type(value, struct syscall_report);
} scratch SEC(".maps");

static __always_inline struct thread_calls *thread_of(struct task_struct *task)
{
	return bpf_task_storage_get(&threads, task, 0, 0);
}

static __always_inline __u32 task_tgid(struct task_struct *task)
{
	return pidns_level ? pidns_nested_tgid(task) : (__u32)task->tgid;
}

/* ---- records --------------------------------------------------------------------------------- */

/* Adds what is in the slot to the record, and leaves it empty. */
static __always_inline void take_slot(struct syscall_report *r, struct syscall_tally *slot)
{
	__u32 call = slot->call, at = r->head.len;
	__u64 ns = __sync_lock_test_and_set(&slot->ns, 0);
	__u32 count = __sync_lock_test_and_set(&slot->count, 0);

	if (!(ns | count) || at >= SYSCALL_SLOTS)
		return;
	if (slot->call != call) { /* used for another call meanwhile: by its thread, not by us */
		__sync_fetch_and_add(&slot->ns, ns);
		__sync_fetch_and_add(&slot->count, count);
		return;
	}
	r->counts[at].ns = ns;
	r->counts[at].count = count;
	r->counts[at].call = call - 1;
	r->counts[at].error = slot->error;
	r->counts[at].pad = 0;
	r->head.len = at + 1;
}

/* NULL: the process is not in the reader's namespace. */
static __always_inline struct syscall_report *record_begin(struct task_struct *task, __u32 place)
{
	struct syscall_report *r = bpf_map_lookup_elem(&scratch, &place);

	if (!r)
		return 0;
	r->head.pid = task_tgid(task);
	r->head.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	r->head.len = 0;
	return r->head.pid ? r : 0;
}

static __always_inline __u64 record_bytes(const struct syscall_report *r)
{
	__u32 len = r->head.len;

	return sizeof r->head + (len < SYSCALL_SLOTS ? len : SYSCALL_SLOTS) * sizeof r->counts[0];
}

static __always_inline __u64 ring_wakeup(void)
{
	return bpf_ringbuf_query(&ring, BPF_RB_AVAIL_DATA) > WAKE_BYTES ? BPF_RB_FORCE_WAKEUP
	                                                                : BPF_RB_NO_WAKEUP;
}

static __always_inline void record_submit(struct syscall_report *r)
{
	if (r->head.len && bpf_ringbuf_output(&ring, r, record_bytes(r), ring_wakeup()))
		__sync_fetch_and_add(&dropped, 1);
}

/* ---- counting -------------------------------------------------------------------------------- */

/* A slot for this call, or this call and error. When all are in use, the oldest is reported and used again. */
static __always_inline struct syscall_tally *slot_new(struct thread_calls *t, __u32 call,
                                                      __u32 error, struct task_struct *task)
{
	__u32 at = t->used++ % SYSCALL_SLOTS;
	struct syscall_tally *slot = &t->slots[at];

	if (slot->call) {
		struct syscall_report *r = record_begin(task, SCRATCH_OF_THREADS);

		if (r) {
			take_slot(r, slot);
			record_submit(r);
		}
	}
	slot->count = 0;
	slot->ns = 0;
	slot->error = error;
	slot->call = call;
	return slot;
}

static __always_inline __u32 slot_of_call(struct thread_calls *t, __u32 call,
                                          struct task_struct *task)
{
	__u8 *known = &t->slot_of[call % SYSCALL_NUMBERS];
	struct syscall_tally *slot = &t->slots[*known % SYSCALL_SLOTS];

	if (slot->call != call || slot->error) {
		*known = t->used % SYSCALL_SLOTS;
		slot_new(t, call, 0, task);
	}
	return *known;
}

static __always_inline struct syscall_tally *slot_of_error(struct thread_calls *t, __u32 call,
                                                           __u32 error, struct task_struct *task)
{
	for (__u32 i = 0; i < SYSCALL_SLOTS; i++) {
		struct syscall_tally *slot = &t->slots[i];

		if (slot->call == call && slot->error == error)
			return slot;
		if (!slot->call)
			break;
	}
	return slot_new(t, call, error, task);
}

/* The same number means another call in another ABI. */
static __always_inline __u32 call_of(struct task_struct *task, __u64 number)
{
	__u32 call = (__u32)number & 0xffff;

	if (number & X32_BIT)
		call |= SYSCALL_BITS_X32;
	else if (bpf_core_field_exists(task->thread_info.status) &&
	         task->thread_info.status & TS_COMPAT)
		call |= SYSCALL_BITS_IA32;
	return call + 1;
}

SEC("tp_btf/sys_enter")
int on_enter(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_calls *t = thread_of(task);
	__u64 now_ns;
	__u32 call;

	if (!t || (__s64)ctx[1] < 0) /* not a call: a debugger has taken it away */
		return 0;
	call = call_of(task, ctx[1]);
	t->slot = slot_of_call(t, call, task);
	t->entered_ns = now_ns = bpf_ktime_get_boot_ns();
	if (flight_calls)
		flight_enter(&t->flight, task, (const void *)ctx[0], call, now_ns);
	return 0;
}

/* -1: not known. */
static __always_inline __s64 number_of(const void *regs)
{
	const struct pt_regs___x86 *x86 = regs;
	const struct pt_regs___arm64 *arm64 = regs;

	if (regs && bpf_core_field_exists(x86->orig_ax))
		return BPF_CORE_READ(x86, orig_ax);
	if (regs && bpf_core_field_exists(arm64->syscallno))
		return BPF_CORE_READ(arm64, syscallno);
	return -1;
}

/* `regs` is 0 where the call does not return. */
static __always_inline void end_call(struct thread_calls *t, struct task_struct *task,
                                     const void *regs, __s64 result)
{
	__u64 entered_ns = __sync_lock_test_and_set(&t->entered_ns, 0);
	struct syscall_tally *slot;

	if (!entered_ns)
		return;
	if (t->slot == SYSCALL_SLOTS) { /* it was in it when it was traced */
		__s64 number = number_of(regs);

		if (number < 0) {
			__sync_fetch_and_add(&unknown, 1);
			return;
		}
		t->slot = slot_of_call(t, call_of(task, number), task);
	}
	slot = &t->slots[t->slot % SYSCALL_SLOTS];
	__sync_fetch_and_add(&slot->ns, bpf_ktime_get_boot_ns() - entered_ns);
	__sync_fetch_and_add(&slot->count, 1);
	if (result < 0 && result >= -ERRNO_MAX) {
		slot = slot_of_error(t, slot->call, -result, task);
		__sync_fetch_and_add(&slot->count, 1);
	}
}

SEC("raw_tp/sys_exit")
int on_exit(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_calls *t = thread_of(task);

	if (!t)
		return 0;
	if (flight_calls)
		flight_leave(&t->flight, task, ctx[1], bpf_ktime_get_boot_ns());
	end_call(t, task, (const void *)ctx[0], ctx[1]);
	return 0;
}

/* ---- threads --------------------------------------------------------------------------------- */

static __always_inline void trace(struct task_struct *task, __u64 awaits_exec)
{
	struct thread_calls *t = bpf_task_storage_get(&threads, task, 0,
	                                              BPF_LOCAL_STORAGE_GET_F_CREATE);

	if (!t)
		__sync_fetch_and_add(&untraced, 1);
	else if (awaits_exec)
		t->awaits_exec = 1;
}

/* Typed arguments: storage is given to no task that is a mere address. */
SEC("tp_btf/sched_process_fork")
int on_fork(__u64 *ctx)
{
	struct task_struct *child = (void *)ctx[1];

	if (thread_of(bpf_get_current_task_btf()))
		trace(child, 0);
	return 0;
}

SEC("raw_tp/sched_process_exec")
int on_exec(__u64 *ctx)
{
	struct thread_calls *t = thread_of(bpf_get_current_task_btf());

	if (!t)
		return 0;
	t->flight.has_new_memory = 1;
	if (!t->awaits_exec)
		return 0;
	t->awaits_exec = 0;
	for (__u32 i = 0; i < SYSCALL_SLOTS; i++)
		t->slots[i].count = t->slots[i].ns = 0;
	t->flight.since_ns = t->flight.now.entered_ns;
	return 0;
}

static __always_inline void report_all(struct thread_calls *t, struct task_struct *task,
                                       __u32 place)
{
	struct syscall_report *r = record_begin(task, place);

	if (!r)
		return;
	for (__u32 i = 0; i < SYSCALL_SLOTS && t->slots[i].call; i++)
		take_slot(r, &t->slots[i]);
	record_submit(r);
}

static __always_inline void submit_page(struct flight_page *page, __u64 bytes,
                                        const struct flight_state *f, struct task_struct *task,
                                        __s32 status)
{
	page->head.start_ns = BPF_CORE_READ(task, group_leader, start_boottime);
	page->head.pid = task_tgid(task);
	page->head.len = FLIGHT_LEN;
	page->since_ns = f->since_ns;
	page->tid = flight_tid(task);
	page->wait_status = status;
	page->lost = f->lost;
	if (bpf_ringbuf_output(&ring, page, bytes, ring_wakeup()))
		__sync_fetch_and_add(&flights_dropped, 1);
}

/* The call it is in is the last one. */
static __always_inline void report_flight(struct thread_calls *t, struct task_struct *task)
{
	struct flight_reading r = { .f = &t->flight, .task = task };
	__s32 status = flight_status(task);

	if (!status)
		return;
	if (t->flight.now.call)
		flight_append(&t->flight, task);
	for (__u32 n = 0; n < FLIGHT_PAGES && n * FLIGHT_PAGE_CALLS < flight_calls; n++) {
		struct flight_page *page = flight_page(task, n, 0);

		if (!page)
			continue;
		r.page = page;
		bpf_loop(FLIGHT_PAGE_CALLS, flight_look_up, &r, 0);
		submit_page(page, sizeof *page, &t->flight, task, status);
	}
}

/* The call it is in is in a record by itself: nothing of the thread is changed. */
static __always_inline void report_living_flight(struct thread_calls *t, struct task_struct *task)
{
	__u32 first = 0;
	struct flight_copy *c = bpf_map_lookup_elem(&copies, &first);
	struct flight_reading r = { .task = task };

	if (!c || !flight_is_alive(task))
		return;
	r.f = &c->state;
	r.page = &c->page;
	for (__u32 n = 0; n < FLIGHT_PAGES && n * FLIGHT_PAGE_CALLS < flight_calls; n++) {
		struct flight_page *page = flight_page(task, n, 0);

		if (!page)
			continue;
		flight_copy_page(c, &t->flight, page, n);
		bpf_loop(FLIGHT_PAGE_CALLS, flight_look_up, &r, 0);
		submit_page(&c->page, sizeof c->page, &t->flight, task, 0);
	}
	if (!flight_copy_now(c, &t->flight))
		return;
	flight_look_up(0, &r);
	submit_page(&c->page, __builtin_offsetof(struct flight_page, calls[1]), &t->flight, task, 0);
}

/* It never returns from the call it is in: exit, exit_group, or one that another thread ended. */
SEC("raw_tp/sched_process_exit")
int on_thread_end(__u64 *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_calls *t = thread_of(task);

	if (!t || t->awaits_exec)
		return 0;
	if (flight_calls)
		report_flight(t, task);
	end_call(t, task, 0, 0);
	report_all(t, task, SCRATCH_OF_THREADS);
	return 0;
}

/* ---- passes over all threads ----------------------------------------------------------------- */

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, 65536);
	__type(key, __u32);   /* pid in the reader's namespace */
	__type(value, __u64); /* awaits_exec */
} wanted SEC(".maps");

__u32 pass;        /* enum syscall_pass: what it is for */
__u32 pass_traced; /* threads that were found traced, or are now */
__u32 pass_open;   /* … of these, in no call since, unless it is the one that they were traced in */

/* The time so far of the call that a thread is in. */
static __always_inline void move_entry(struct thread_calls *t)
{
	__u64 entered_ns = t->entered_ns, now_ns = bpf_ktime_get_boot_ns();
	struct syscall_tally *slot = &t->slots[t->slot % SYSCALL_SLOTS];

	if (!entered_ns || now_ns <= entered_ns || t->slot == SYSCALL_SLOTS)
		return;
	if (__sync_val_compare_and_swap(&t->entered_ns, entered_ns, now_ns) == entered_ns)
		__sync_fetch_and_add(&slot->ns, now_ns - entered_ns);
}

/* It may be in a call, which counts when it returns, with the time from now on. One that is in none enters one
 * before it leaves one. */
static __always_inline void trace_running(struct task_struct *task, __u64 awaits_exec)
{
	struct thread_calls *t;

	if (thread_of(task))
		return;
	trace(task, awaits_exec);
	t = thread_of(task);
	if (!t)
		return;
	t->slot = SYSCALL_SLOTS;
	t->entered_ns = bpf_ktime_get_boot_ns();
}

SEC("iter/task")
int visit(struct task_iter_ctx *ctx)
{
	struct task_struct *task = ctx->task;
	struct thread_calls *t;

	if (!task)
		return 0;
	if (pass == SYSCALL_PASS_TRACE) {
		__u32 pid = task_tgid(task);
		__u64 *awaits_exec = bpf_map_lookup_elem(&wanted, &pid);

		if (awaits_exec)
			trace_running(task, *awaits_exec);
	}
	t = thread_of(task);
	if (!t)
		return 0;
	pass_traced++;
	if (pass == SYSCALL_PASS_TRACE || t->awaits_exec)
		return 0;
	if (pass == SYSCALL_PASS_COUNTS) {
		pass_open += t->entered_ns && t->slot == SYSCALL_SLOTS;
		move_entry(t);
		report_all(t, task, SCRATCH_OF_PASSES);
	} else if (flight_calls) {
		report_living_flight(t, task);
	}
	return 0;
}
