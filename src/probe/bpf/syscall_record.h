/* SPDX-License-Identifier: MIT */
/* syscall_record.h - what the system call programs report, shared with their reader.
 *
 * A record is a head and a list of counts: what one thread did since it was reported last. Threads that end
 * report, and those whose table is full; and all others when the iterator visits them. */
#pragma once

#include <linux/types.h>

#define SYSCALL_SLOTS 64     /* different calls of one thread between two records */
#define SYSCALL_NUMBERS 1024 /* of one ABI; those above share places */
#define SYSCALL_RING_BYTES (4 << 20)

/* The purpose of a pass over all threads. */
enum syscall_pass {
	SYSCALL_PASS_COUNTS,  /* those of traced threads are reported */
	SYSCALL_PASS_TRACE,   /* threads of wanted processes are traced from now on */
	SYSCALL_PASS_FLIGHTS, /* the last calls of traced threads are reported while they run */
};

/* A call is its number, with the ABI it was made through in the bits above. */
#define SYSCALL_ABI_SHIFT 16
enum syscall_abi_bits {
	SYSCALL_BITS_NATIVE = 0 << SYSCALL_ABI_SHIFT,
	SYSCALL_BITS_IA32 = 1 << SYSCALL_ABI_SHIFT, /* int 0x80, and programs of 32 bits */
	SYSCALL_BITS_X32 = 2 << SYSCALL_ABI_SHIFT,
};

struct syscall_tally {
	__u64 ns;    /* between entry and return, waiting included */
	__u32 count; /* calls that returned */
	__u32 call;
	__u32 error; /* 0: all calls; else those that failed with this errno, without a time */
	__u32 pad;
};

struct syscall_head {
	__u64 start_ns; /* of the process, boot clock */
	__u32 pid;      /* of the process, in the reader's pid namespace */
	__u32 len;      /* counts that follow */
};

struct syscall_report {
	struct syscall_head head;
	struct syscall_tally counts[SYSCALL_SLOTS];
};
