/* SPDX-License-Identifier: MIT */
/* rss.bpf.h - resident memory, exact where that can be had.
 *
 * From 6.2 on the kernel keeps it in per-CPU counters: a sum that lags, and a small rest on every
 * CPU. /proc/PID/statm adds the rests; so do we, up to TASK_CPUS_MAX CPUs. */
#pragma once

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

/* To be called before the first read_rss(). */
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

static __always_inline __u64 rss_at_least_zero(__s64 v)
{
	return v < 0 ? 0 : v;
}

/* A large value is not a per-CPU remainder: our layout of the counter would be wrong. */
#define REST_BITS 12

/* 0 for numbers from -2^REST_BITS up to below 2^REST_BITS. */
static __always_inline __u32 too_large(__s32 rest)
{
	return (__u32)(rest + (1 << REST_BITS)) >> (REST_BITS + 1);
}

/* The counters of one mm lie side by side in per-CPU memory, so that one read per CPU has them
 * all. */
static __always_inline bool rss_exact(struct mm_struct *mm, struct task_record *out)
{
	__s64 file = mm->rss_stat[MM_FILEPAGES].count;
	__s64 anon = mm->rss_stat[MM_ANONPAGES].count;
	__s64 shmem = mm->rss_stat[MM_SHMEMPAGES].count;
	__u64 base = (__u64)mm->rss_stat[0].counters;
	__u32 odd = 0;

	for (__u32 cpu = 0; cpu < TASK_CPUS_MAX && cpu < cpus_possible; cpu++) {
		__s32 rest[4] = {};

		bpf_probe_read_kernel(rest, sizeof rest, (void *)(base + cpu_offset[cpu]));
		odd |= too_large(rest[MM_FILEPAGES]) | too_large(rest[MM_ANONPAGES]) |
		       too_large(rest[MM_SHMEMPAGES]);
		file += rest[MM_FILEPAGES];
		anon += rest[MM_ANONPAGES];
		shmem += rest[MM_SHMEMPAGES];
	}
	if (odd)
		return false;
	out->anon_pages = rss_at_least_zero(anon);
	out->rss_pages = rss_at_least_zero(file) + out->anon_pages + rss_at_least_zero(shmem);
	return true;
}

/* Each counter by its constant name: only such a place in an array is looked up in the running
 * kernel, whose counters may be larger than ours. */
static __always_inline __u64 rss_folded(struct mm_struct *mm)
{
	return rss_at_least_zero(mm->rss_stat[MM_FILEPAGES].count) +
	       rss_at_least_zero(mm->rss_stat[MM_ANONPAGES].count) +
	       rss_at_least_zero(mm->rss_stat[MM_SHMEMPAGES].count);
}

static __always_inline __u64 rss_anon_plain(struct mm_struct *mm)
{
	struct mm_struct___plain *old = (void *)mm;

	return rss_at_least_zero(BPF_CORE_READ(old, rss_stat.count[MM_ANONPAGES].counter));
}

static __always_inline __u64 rss_plain(struct mm_struct *mm)
{
	struct mm_struct___plain *old = (void *)mm;

	return rss_at_least_zero(BPF_CORE_READ(old, rss_stat.count[MM_FILEPAGES].counter)) +
	       rss_anon_plain(mm) +
	       rss_at_least_zero(BPF_CORE_READ(old, rss_stat.count[MM_SHMEMPAGES].counter));
}

static __always_inline bool rss_counters_adjoin(struct mm_struct *mm)
{
	return (__u64)mm->rss_stat[3].counters - (__u64)mm->rss_stat[0].counters ==
	       3 * sizeof(__s32);
}

/* A cheap value that changes when the process gains or loses much memory; 0 if this kernel's counters
 * are unknown. */
static __always_inline __u64 rss_counted(struct mm_struct *mm)
{
	struct mm_struct___plain *old = (void *)mm;

	if (bpf_core_field_exists(old->rss_stat.count))
		return rss_plain(mm);
	return bpf_core_field_exists(mm->rss_stat[0].count) ? rss_folded(mm) : 0;
}

static __always_inline void read_rss(struct mm_struct *mm, struct task_record *out)
{
	struct mm_struct___plain *old = (void *)mm;

	if (bpf_core_field_exists(old->rss_stat.count)) {
		out->rss_pages = rss_plain(mm);
		out->anon_pages = rss_anon_plain(mm);
		out->flags |= TASK_HAS_RSS;
		return;
	}
	if (!bpf_core_field_exists(mm->rss_stat[0].count))
		return;
	out->flags |= TASK_HAS_RSS;
	if (cpu_offsets_known && rss_counters_adjoin(mm) && rss_exact(mm, out)) {
		out->flags |= TASK_RSS_EXACT;
		return;
	}
	out->rss_pages = rss_folded(mm);
	out->anon_pages = rss_at_least_zero(mm->rss_stat[MM_ANONPAGES].count);
}
