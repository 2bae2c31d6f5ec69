/* SPDX-License-Identifier: MIT */
/* syscall.h - system calls: their names, and how often they were made, how long they took and how
 * they failed. */
#pragma once

#include "base/json.h"
#include "base/vec.h"
#include "model/process.h"

#define SYSCALL_NAME_MAX 32
#define SYSCALL_ERROR_MAX 24
#define SYSCALLS_MAX 4096 /* kinds of one process: calls, and errors of each */

/* X(id): the ways to call the kernel; the number of a call means another one in each */
#define SYSCALL_ABIS(X) X(NATIVE) X(IA32) X(X32)

#define X(id) SYSCALL_##id,
enum syscall_abi { SYSCALL_ABIS(X) SYSCALL_ABI_COUNT };
#undef X

/* Its number, where the native ABI has it; else with the ABI in the upper half: a call has one id,
 * however it was made. */
typedef uint32_t syscall_id;

syscall_id syscall_id_of(enum syscall_abi abi, uint32_t number);
/* "openat"; "syscall_999" for one that this build has no name for. */
void syscall_name(syscall_id id, char ret[static SYSCALL_NAME_MAX]);
/* The reverse, for names that strace uses; it writes "syscall_0x3e7" for one that it has no name for. */
bool syscall_id_find(const char *name, size_t len, syscall_id *ret);
/* "ENOENT"; "ERESTARTSYS" for a call that a signal interrupted; "errno_999". */
void syscall_error_name(uint32_t error, char ret[static SYSCALL_ERROR_MAX]);
/* The reverse; SYSCALL_ERROR_UNKNOWN: this build has no such name. */
#define SYSCALL_ERROR_UNKNOWN 4095 /* the largest that the kernel can return */
uint32_t syscall_error_find(const char *name, size_t len);

/* The use of one call by one process, sheet or job; with an error, how often the call failed so. */
struct syscall_count {
	syscall_id call;
	uint32_t error; /* 0: all calls */
	uint64_t count;
	uint64_t ns; /* between entry and return, waiting included; 0 for an error */
};

/* In the order of calls, and of errors behind each. */
struct syscall_counts {
	VEC(struct syscall_count) list;
};

/* Adds to what is counted; false at the ceiling. */
bool syscall_counts_add(struct syscall_counts *c, const struct syscall_count *more);
void syscall_counts_done(struct syscall_counts *c);

/* As it is stored: {"openat": [calls, ns, {"ENOENT": calls that failed so}], …}, without the last where
 * none failed. */
void syscall_counts_json(struct json *j, const struct syscall_count *counts, size_t n);
/* JSON for programs: {"openat": 12, …}, and {"openat": 41.2, …}: percent of the time in calls. */
void syscall_counts_json_calls(struct json *j, const struct syscall_count *counts, size_t n);
void syscall_counts_json_shares(struct json *j, const struct syscall_count *counts, size_t n);
/* The call that most of the time was spent in, and its share (0…1); false: there was none. */
bool syscall_counts_hotspot(const struct syscall_count *counts, size_t n, syscall_id *ret_call,
                            double *ret_share);

#define SYSCALL_ERRORS_SHOWN 6

struct syscall_error_record {
	char name[SYSCALL_ERROR_MAX];
	uint64_t count;
};

/* One call as it is shown. */
struct syscall_record {
	char name[SYSCALL_NAME_MAX];
	uint64_t count, errors, ns;
	struct syscall_error_record by_error[SYSCALL_ERRORS_SHOWN]; /* the most frequent first */
	unsigned n_errors;
	double time_ratio; /* of the time in all calls; NAN: there was none */
};

/* Counts one way in which it failed, unless there are more frequent ones; `errors` has all of them. */
void syscall_add_error(struct syscall_record *s, const char *name, uint64_t count);
/* Most time first. Returns how many: at most n. */
size_t syscall_counts_list(const struct syscall_count *counts, size_t n,
                           struct syscall_record *ret);

/* The calls of a process since it was read last, as a sample has them. */
struct syscall_use {
	struct proc_id id; /* start_ticks 0: the source knows the pid alone */
	struct syscall_count c;
	struct proc_id traced; /* … and that it descends from this process */
};

/* In a snapshot: whose calls these are. */
struct syscall_owner {
	int32_t job;       /* index in the snapshot's jobs */
	uint32_t sheet;    /* 0: none, or the whole job */
	struct proc_id id; /* pid 0: of the whole sheet or job */
	uint32_t at, len;  /* in the snapshot's syscalls */
	bool has_changed;  /* since the last snapshot */
};
