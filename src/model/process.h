/* SPDX-License-Identifier: MIT */
/* process.h - the identity of a process: its pid and start time, because pids are reused. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/clock.h"

#define COMM_LEN 16     /* the kernel's TASK_COMM_LEN, NUL included */
#define COMMAND_MAX 500 /* bytes of a command line that are kept */
#define TICKS_PER_S 100 /* USER_HZ, part of the kernel's ABI */
#define NS_PER_TICK (NS_PER_S / TICKS_PER_S)

struct proc_id {
	pid_t pid;
	uint64_t start_ticks; /* since boot, as in /proc/PID/stat; 0 when unknown */
};

static inline bool proc_id_eq(struct proc_id a, struct proc_id b)
{
	return a.pid == b.pid && a.start_ticks == b.start_ticks;
}

/* Both in one word, for hash maps: pids have 22 bits, and 42 bits of ticks last 1,394 years. */
static inline uint64_t proc_key(struct proc_id id)
{
	return (uint64_t)id.pid << 42 | (id.start_ticks & ((UINT64_C(1) << 42) - 1));
}

/* A piece of the text buffer of the sample or snapshot that holds the record. */
struct text_ref {
	uint32_t at, len;
};
