/* SPDX-License-Identifier: MIT OR GPL-2.0 */
/* tasks.bpf.c - one record per process and one per further thread, for the reader of an iterator.
 *
 * Fields are read straight from the kernel's structures (CO-RE). A task may die under our hands:
 * such loads yield 0 or stale bytes but never fault, and `task->mm` and `task->files` are looked at
 * twice so that figures of a freed structure are not reported. */
#include <vmlinux.h>
#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>

#include "task_record.h"
#include "distrust.bpf.h"
#include "pidns.bpf.h"

char LICENSE[] SEC("license") = "Dual MIT/GPL";

/* The iterator's context. Its layout is part of the kernel's interface, so that it need not be
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

#define PF_KTHREAD 0x00200000
#define RLIMIT_NOFILE 7

/* Resident memory is kept in these three of the mm's counters; the fourth is swap. */
#define RSS_COUNTERS 3
static const int rss_counter[RSS_COUNTERS] = { MM_FILEPAGES, MM_ANONPAGES, MM_SHMEMPAGES };

/* ---- states ---------------------------------------------------------------------------------- */

/* The bits of task->__state and ->exit_state that /proc reports, and the letter of each. */
#define STATE_UNINTERRUPTIBLE 0x0002
#define STATE_REPORTED 0x007f
#define STATE_NOLOAD 0x0400
#define STATE_IDLE (STATE_UNINTERRUPTIBLE | STATE_NOLOAD)
#define STATE_RTLOCK_WAIT 0x1000
#define STATE_FROZEN 0x8000

static __always_inline char state_letter(struct task_struct *task)
{
	__u32 state = task->__state;
	__u32 shown = (state | task->exit_state) & STATE_REPORTED;

	if ((state & STATE_IDLE) == STATE_IDLE)
		return 'I';
	if (state & (STATE_RTLOCK_WAIT | STATE_FROZEN))
		return 'D';
	/* The highest bit decides, so the order of these lines does too. */
	if (shown & 0x40)
		return 'P';
	if (shown & 0x20)
		return 'Z';
	if (shown & 0x10)
		return 'X';
	if (shown & 0x08)
		return 't';
	if (shown & 0x04)
		return 'T';
	if (shown & 0x02)
		return 'D';
	return shown & 0x01 ? 'S' : 'R';
}

/* ---- resident memory ------------------------------------------------------------------------- */

/* Kernels before 6.2 kept plain counters here. */
struct mm_struct___plain {
	struct {
		atomic_long_t count[4];
	} rss_stat;
} __attribute__((preserve_access_index));

/* How many CPUs may exist; 0 when there are too many for the exact sum. */
const volatile __u32 cpus_possible = 0;

/* Where each CPU's copy of per-CPU memory lies, from a per-CPU pointer on. */
__u64 cpu_offset[TASK_CPUS_MAX];
__u32 cpu_offsets_known;
/* A pointer that was stored is a number when it is loaded again: the verifier lets us compute. */
__u64 pointer_as_number;

/* A per-CPU variable of our own: its per-CPU pointer and its address on each CPU can both be had,
 * and their difference is what the kernel adds to any per-CPU pointer. The kernel's own table of
 * these differences is not among the symbols a program may name on every kernel. */
struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64);
} landmark SEC(".maps");

static __always_inline __u64 number_of(void *pointer)
{
	*(void *volatile *)&pointer_as_number = pointer;
	return *(volatile __u64 *)&pointer_as_number;
}

static __noinline int cpu_offsets_learn(void)
{
	struct bpf_array *array = 0;
	__u64 map = number_of(&landmark);
	__u64 at = map + bpf_core_field_offset(array->pptrs);
	__u64 percpu;
	__u32 zero = 0;

	if (bpf_probe_read_kernel(&percpu, sizeof percpu, (void *)at))
		return 0;
	for (__u32 cpu = 0; cpu < TASK_CPUS_MAX && cpu < cpus_possible; cpu++) {
		void *here = bpf_map_lookup_percpu_elem(&landmark, &zero, cpu);

		if (!here)
			return 0;
		cpu_offset[cpu] = number_of(here) - percpu;
	}
	cpu_offsets_known = 1;
	return 0;
}

static __always_inline __u64 at_least_zero(__s64 v)
{
	return v < 0 ? 0 : v;
}

/* percpu_counter: `count` is what has been folded in, each CPU holds a small rest of its own. The
 * counters of one mm lie side by side in per-CPU memory, so that one read per CPU has them all. */
static __always_inline __u64 rss_exact(struct mm_struct *mm)
{
	__s64 file = mm->rss_stat[MM_FILEPAGES].count;
	__s64 anon = mm->rss_stat[MM_ANONPAGES].count;
	__s64 shmem = mm->rss_stat[MM_SHMEMPAGES].count;
	__u64 base = (__u64)mm->rss_stat[0].counters;

	for (__u32 cpu = 0; cpu < TASK_CPUS_MAX && cpu < cpus_possible; cpu++) {
		__s32 rest[4] = {};

		bpf_probe_read_kernel(rest, sizeof rest, (void *)(base + cpu_offset[cpu]));
		file += rest[MM_FILEPAGES];
		anon += rest[MM_ANONPAGES];
		shmem += rest[MM_SHMEMPAGES];
	}
	return at_least_zero(file) + at_least_zero(anon) + at_least_zero(shmem);
}

static __always_inline __u64 rss_folded(struct mm_struct *mm)
{
	__u64 pages = 0;

	for (int i = 0; i < RSS_COUNTERS; i++)
		pages += at_least_zero(mm->rss_stat[rss_counter[i]].count);
	return pages;
}

static __always_inline __u64 rss_plain(struct mm_struct *mm)
{
	struct mm_struct___plain *old = (void *)mm;
	__u64 pages = 0;

	for (int i = 0; i < RSS_COUNTERS; i++)
		pages += at_least_zero(BPF_CORE_READ(old, rss_stat.count[rss_counter[i]].counter));
	return pages;
}

static __always_inline bool rss_counters_adjoin(struct mm_struct *mm)
{
	return (__u64)mm->rss_stat[3].counters - (__u64)mm->rss_stat[0].counters ==
	       3 * sizeof(__s32);
}

static __always_inline void read_rss(struct mm_struct *mm, struct task_space *out)
{
	struct mm_struct___plain *old = (void *)mm;

	if (bpf_core_field_exists(old->rss_stat.count)) {
		out->rss_pages = rss_plain(mm);
		out->flags |= TASK_HAS_RSS;
		return;
	}
	if (!bpf_core_field_exists(mm->rss_stat[0].count))
		return;
	out->flags |= TASK_HAS_RSS;
	if (cpus_possible && cpu_offsets_known && rss_counters_adjoin(mm)) {
		out->rss_pages = rss_exact(mm);
		out->flags |= TASK_RSS_EXACT;
		return;
	}
	out->rss_pages = rss_folded(mm);
}

/* ---- open files ------------------------------------------------------------------------------ */

#define FD_WORDS 8 /* read at once */
#define FDS_PER_CHUNK (64 * FD_WORDS)

struct fd_walk {
	__u64 bitmap;
	__u64 words;
	__u32 count;
};

static __always_inline __u32 bits_set(__u64 v)
{
	v -= (v >> 1) & 0x5555555555555555ULL;
	v = (v & 0x3333333333333333ULL) + ((v >> 2) & 0x3333333333333333ULL);
	v = (v + (v >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
	return (v * 0x0101010101010101ULL) >> 56;
}

/* 64-bit numbers throughout: the verifier must see that what was checked is what is used. */
static long fd_chunk(__u32 chunk, struct fd_walk *walk)
{
	__u64 done = (__u64)chunk * FD_WORDS, left = walk->words - done;
	__u64 word[FD_WORDS] = {};

	if (done >= walk->words)
		return 1;
	if (left > FD_WORDS)
		left = FD_WORDS;
	if (bpf_probe_read_kernel(word, left * sizeof word[0], (void *)(walk->bitmap + done * 8)))
		return 1;
	for (int i = 0; i < FD_WORDS; i++)
		walk->count += bits_set(word[i]);
	return 0;
}

static __always_inline __u32 count_fds(struct files_struct *files)
{
	struct fdtable *fdt = files->fdt;
	__u32 fds = fdt->max_fds;

	/* Most processes: the table that is part of the structure itself, of one word. */
	if (fds <= 64)
		return bits_set(files->open_fds_init[0]);

	struct fd_walk walk = { .bitmap = (__u64)fdt->open_fds, .words = fds / 64 };
	if (fds <= FDS_PER_CHUNK)
		fd_chunk(0, &walk);
	else
		bpf_loop(fds / FDS_PER_CHUNK + 1, fd_chunk, &walk, 0);
	return walk.count;
}

/* ---- records --------------------------------------------------------------------------------- */

static __always_inline void read_counters(struct task_struct *task, struct task_record *r)
{
	r->counters.cpu_ns = task->se.sum_exec_runtime;
	r->counters.minor_faults = task->min_flt;
	r->counters.major_faults = task->maj_flt;
	if (bpf_core_field_exists(task->ioac.read_bytes)) {
		r->counters.read_bytes = task->ioac.read_bytes;
		r->counters.write_bytes = task->ioac.write_bytes;
		r->space.flags |= TASK_HAS_IO;
	}
}

static __always_inline void read_space(struct task_struct *task, struct task_space *out)
{
	struct files_struct *files = task->files;
	struct mm_struct *mm = task->mm;

	out->state = state_letter(task);
	/* A kernel thread's file table is the kernel's own, and its mm a borrowed one. */
	if (task->flags & PF_KTHREAD) {
		out->flags |= TASK_IS_KERNEL | TASK_HAS_RSS;
		return;
	}
	if (mm) {
		out->vm_pages = mm->total_vm;
		read_rss(mm, out);
	}
	if (files)
		out->open_fds = count_fds(files);
	if (task->mm != mm || !mm) {
		out->vm_pages = out->rss_pages = 0;
		out->flags |= TASK_HAS_RSS;
	}
	if (task->files != files)
		out->open_fds = 0;
}

/* What the process's dead threads have used is kept in the shared signal structure. */
static __always_inline void add_dead_threads(struct signal_struct *signal,
					     struct task_counters *out)
{
	out->cpu_ns += signal->sum_sched_runtime;
	out->minor_faults += signal->min_flt;
	out->major_faults += signal->maj_flt;
	if (bpf_core_field_exists(signal->ioac.read_bytes)) {
		out->read_bytes += signal->ioac.read_bytes;
		out->write_bytes += signal->ioac.write_bytes;
	}
}

static __always_inline void read_process(struct task_struct *task, struct task_record *r)
{
	struct signal_struct *signal = task->signal;

	add_dead_threads(signal, &r->counters);
	r->start_boot_ns = task->start_boottime;
	r->exec_id = task->self_exec_id;
	r->fd_limit = signal->rlim[RLIMIT_NOFILE].rlim_cur;
	r->ppid = pidns_tgid(task->real_parent);
	r->uid = task->real_cred->euid.val;
	r->threads = signal->nr_threads;
	if (task->exit_state && r->threads > 1)
		r->space.flags |= TASK_LEADER_GONE;
	bpf_probe_read_kernel(r->comm, sizeof r->comm, task->comm);
}

static __always_inline __u32 kind_of(struct task_struct *task)
{
	if (task->pid == task->tgid)
		return TASK_PROCESS;
	return task->group_leader->exit_state && !task->exit_state ? TASK_STANDIN : TASK_THREAD;
}

static __always_inline void write_record(struct seq_file *seq, struct task_record *r, __u32 size)
{
	r->head.size = size;
	bpf_seq_write(seq, r, size);
}

SEC("iter/task")
int tasks_read(struct task_iter_ctx *ctx)
{
	struct task_record r = {};
	struct seq_file *seq = ctx->meta->seq;

	if (!ctx->task)
		return 0;
	if (cpus_possible && !cpu_offsets_known)
		cpu_offsets_learn();

	struct task_struct *task = task_distrust(ctx->task);
	r.head.kind = kind_of(task);
	r.head.tgid = pidns_tgid(task);
	read_counters(task, &r);
	if (r.head.kind == TASK_THREAD) {
		write_record(seq, &r, TASK_THREAD_BYTES);
		return 0;
	}
	read_space(task, &r.space);
	if (r.head.kind == TASK_STANDIN) {
		write_record(seq, &r, TASK_STANDIN_BYTES);
		return 0;
	}
	read_process(task, &r);
	write_record(seq, &r, TASK_PROCESS_BYTES);
	return 0;
}
