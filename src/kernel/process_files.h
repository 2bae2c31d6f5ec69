/* SPDX-License-Identifier: MIT */
/* process_files.h - parsers of the files in /proc/PID: text in, numbers out. False when the text is
 * short or malformed, as it is when the process ended in the middle of the read; the result is
 * untouched then. */
#pragma once

#include "base/scan.h"
#include "model/sample.h"

/* X(id, name, bytes that are read at most). The order is that of reading. */
#define PROCESS_FILES(X)                                                                           \
	X(STAT, "stat", 1024)                                                                      \
	X(STATM, "statm", 128)                                                                     \
	X(STATUS, "status", 8192)                                                                  \
	X(LIMITS, "limits", 4096)                                                                  \
	X(IO, "io", 512)                                                                           \
	X(CMDLINE, "cmdline", PROCESS_TEXT_MAX)                                                    \
	X(ENVIRON, "environ", PROCESS_TEXT_MAX)                                                    \
	X(ROLLUP, "smaps_rollup", 4096)                                                            \
	X(PID_NAMESPACE, "ns/pid", 64) /* where the link points to */                              \
	X(WCHAN, "wchan", 64)                                                                      \
	X(SYSCALL, "syscall", 256)                                                                 \
	X(CHILDREN, "children", 64) /* of a thread */                                              \
	X(SCHED, "sched", 512)                                                                     \
	X(OPEN_FILE, "fd", 256)    /* where the link of one open file points to */                 \
	X(FILE_INFO, "fdinfo", 32 << 10) /* … and its state */                                     \
	X(CWD, "cwd", 256)               /* where the link points to */                            \
	X(MEMORY, "mem", PROCESS_MEMORY_MAX)                                                       \
	X(AUXV, "auxv", 1024) /* of the kernel, to the program that it runs */                     \
	X(MAPS, "maps", 256 << 10)                                                                 \
	X(DRM, "fdinfo", 32 << 10) /* of all open files of GPUs: kernel/drm_fdinfo.h */
#define PROCESS_TEXT_MAX 4096
#define PROCESS_MEMORY_MAX 512

#define X(id, ...) PROCESS_##id,
enum process_file { PROCESS_FILES(X) PROCESS_FILE_COUNT };
#undef X

struct process_files_stat {
	pid_t pid, ppid;
	char comm[COMM_LEN];
	char state;
	uint64_t threads;
	uint64_t start_ticks;
	uint64_t waited_cpu_ns; /* CPU time of the children that it waited for, and of theirs */
	struct proc_readings r; /* every metric that has a field in it */
	uint64_t exec_id; /* each exec changes it, and a fork does not; 0: hidden from us, or no
	                     program */
};

bool process_files_parse_stat(struct scan text, struct process_files_stat *ret);
/* The CPU that it ran on last, from stat; -1: not known. */
int process_files_parse_cpu(struct scan stat);
/* These add to the readings. */
bool process_files_parse_statm(struct scan text, uint64_t page_bytes, struct proc_readings *ret);
/* The anonymous part of the resident memory, from statm. */
uint64_t process_files_parse_anon(struct scan statm, uint64_t page_bytes);
/* The shared memory that is resident, from status; 0 before Linux 4.5. */
uint64_t process_files_parse_shmem(struct scan status);
/* The real, effective and saved user, from status. */
bool process_files_parse_uids(struct scan status, uint32_t ret[static 3]);
/* … of the line of users or of that of groups, behind its name. */
bool process_files_scan_ids(struct scan *line, uint32_t ret[static 3]);
/* From auxv: whether the program was started with more rights than its caller had. */
bool process_files_parse_secure(struct scan auxv, bool *ret);
/* From smaps_rollup. */
struct proc_pss process_files_parse_pss(struct scan rollup);
/* status, limits, io or smaps_rollup. The limit of open files is the soft one; false: unlimited. */
bool process_files_parse(enum process_file file, struct scan text, struct proc_readings *ret);
