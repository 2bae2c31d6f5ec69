/* SPDX-License-Identifier: MIT */
/* task_counters.h - what the kernel counts for each process, shared by the kernel programs and their readers.
 *
 * X(member, metric, where a thread has it, where the process has that of the threads that ended) */
#pragma once

#include <linux/types.h>

/* clang-format off */
#define TASK_COUNTERS_ALWAYS(X)                                                                    \
	X(cpu_ns, CPU_TIME, se.sum_exec_runtime, sum_sched_runtime)                                \
	X(minor_faults, MINOR_FAULTS, min_flt, min_flt)                                            \
	X(major_faults, MAJOR_FAULTS, maj_flt, maj_flt)
/* Where the kernel accounts storage I/O. */
#define TASK_COUNTERS_IO(X)                                                                        \
	X(read_bytes, READ_BYTES, ioac.read_bytes, ioac.read_bytes)                                \
	X(write_bytes, WRITE_BYTES, ioac.write_bytes, ioac.write_bytes)
/* clang-format on */

/* Sums over all threads, those that have ended included. */
struct task_counters {
#define X(member, ...) __u64 member;
	TASK_COUNTERS_ALWAYS(X)
	TASK_COUNTERS_IO(X)
#undef X
};
