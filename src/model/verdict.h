/* SPDX-License-Identifier: MIT */
/* verdict.h - why a job ended as it did: a cause with a stable code, how sure that is, the process that caused it,
 * and the evidence. analyze/verdict_rules.c judges; view/verdict_view.c has the words; docs/verdicts.md the rules. */
#pragma once

#include "base/vec.h"
#include "model/cause.h"
#include "model/metric.h"
#include "model/process.h"

#define VERDICT_EVIDENCE_MAX 16
#define VERDICT_TEXT_MAX 160

/* X(id, code in JSON, words for people) */
/* clang-format off */
#define VERDICT_CODES(X)                                                                  \
	X(UNKNOWN, "unknown", "the cause is not known")                                   \
	X(OK, "ok", "ok")                                                                 \
	X(EXIT_NONZERO, "exit_nonzero", "ended with an error status")                     \
	X(NOT_FOUND, "not_found", "command not found")                                    \
	X(NOT_EXECUTABLE, "not_executable", "cannot be run")                              \
	X(SEGFAULT, "segfault", "invalid memory access")                                  \
	X(ABORT, "abort", "ended itself")                                               \
	X(BUS_ERROR, "bus_error", "bus error")                                            \
	X(ILLEGAL_INSTRUCTION, "illegal_instruction", "illegal instruction")              \
	X(ARITHMETIC_ERROR, "arithmetic_error", "arithmetic error")                       \
	X(STACK_OVERFLOW, "stack_overflow", "stack overflow")                             \
	X(OOM_OWN_LIMIT, "oom_own_limit", "out of memory, own limit")                     \
	X(OOM_OUTER_LIMIT, "oom_outer_limit", "out of memory, limit of a group around it") \
	X(OOM_MACHINE, "oom_machine", "out of memory, the machine's")                     \
	X(OOM_DAEMON, "oom_daemon", "killed to free memory")                              \
	X(KILLED_BY_PROCESS, "killed_by_process", "killed by another process")            \
	X(TIMEOUT_COMMAND, "timeout_command", "killed by the timeout command")            \
	X(TIME_LIMIT, "time_limit", "time limit")                                         \
	X(TERMINAL_INTERRUPT, "terminal_interrupt", "interrupted at the terminal")        \
	X(TERMINAL_HANGUP, "terminal_hangup", "its terminal was closed")                  \
	X(BROKEN_PIPE, "broken_pipe", "wrote to a closed pipe")                           \
	X(RLIMIT_CPU, "rlimit_cpu", "limit of CPU time (ulimit -t)")                      \
	X(RLIMIT_FSIZE, "rlimit_fsize", "limit of file size (ulimit -f)")                 \
	X(RLIMIT_AS, "rlimit_as", "limit of address space (ulimit -v)")                   \
	X(FDS_EXHAUSTED, "fds_exhausted", "too many open files")                          \
	X(PIDS_EXHAUSTED, "pids_exhausted", "too many processes")                         \
	X(DISK_FULL, "disk_full", "disk full")                                            \
	X(INODES_FULL, "inodes_full", "no inodes left on the disk")                       \
	X(READ_ONLY_FS, "read_only_fs", "read-only file system")                          \
	X(HUNG, "hung", "hung")                                                           \
	X(GPU_OOM, "gpu_oom", "out of GPU memory")                                        \
	X(GPU_FAULT, "gpu_fault", "GPU error")                                            \
	X(RECORDER_LOST, "recorder_lost", "the recorder was killed, the end is not known") \
	X(MACHINE_LOST, "machine_lost", "the machine went down")

/* X(id, name) */
#define VERDICT_CONFIDENCES(X) \
	X(LOW, "low")          \
	X(MEDIUM, "medium")    \
	X(HIGH, "high")

/* The subjects of evidence; the members that each uses. X(id, source in JSON) */
#define EVIDENCE_KINDS(X)                                                                                   \
	X(COMMAND_END, "wait status")     /* process, exit_code or signal: of the job's command */              \
	X(PROCESS_END, "exit status")     /* … of another process */                                            \
	X(OOM_KILL, "tracepoint")         /* process: chosen by the kernel */                                   \
	X(OOM_COUNT, "control group")     /* value: kills that a counter saw; text: which */                    \
	X(OOM_LIKELY, "counters")         /* text: a counter that others share, or a limit that was reached */  \
	X(MEMORY_USED, "samples")         /* value of `of` bytes */                                             \
	X(MEMORY_FREE, "samples")         /* … available on the machine at the end */                           \
	X(SENDER, "signal")               /* signal to process, from sender_pid, _uid, sender ("": the kernel) */ \
	X(LIMIT, "limit")                 /* text: the limit that was reached; value */                         \
	X(CALL_FAILED, "system call")     /* text: the call; value: how often, 0: one of the last calls */      \
	X(DISK, "statvfs")                /* text: the place; value: bytes or inodes left */                    \
	X(READ_ONLY, "statvfs")           /* text: the place */                                                 \
	X(ANOMALY, "anomaly")             /* text: its description */                                           \
	X(STACK, "tracepoint")            /* process: the address that it touched is below its stack */         \
	X(CPU_LIMIT, "tracepoint")        /* process: the kernel enforced its RLIMIT_CPU; value: ns used */     \
	X(BOOT, "boot id")                /* the machine was started anew since */                              \
	X(RECORDER, "recorder")           /* it holds no lock any more, and recorded no end */                  \
	X(GPU, "gpu")                     /* text: what the driver reported */                                  \
	X(GPU_MEMORY, "samples")          /* value of `of` bytes were in use on the GPUs that it used */        \
	X(IDLE, "counters")               /* value: ns of CPU time in the last `of` ns */                       \
	X(BLOCKED, "process state")       /* process; text: what it waits for */
/* clang-format on */

#define X(id, ...) VERDICT_##id,
enum verdict_code { VERDICT_CODES(X) VERDICT_CODE_COUNT };
#undef X
#define X(id, ...) CONFIDENCE_##id,
enum verdict_confidence { VERDICT_CONFIDENCES(X) CONFIDENCE_COUNT };
#undef X
#define X(id, ...) EVIDENCE_##id,
enum evidence_kind { EVIDENCE_KINDS(X) EVIDENCE_KIND_COUNT };
#undef X

struct evidence {
	enum evidence_kind kind;
	uint64_t at_ns; /* wall clock; 0: not at one moment */
	struct proc_id process;
	char name[COMM_LEN];
	bool has_exit_code, core_dumped;
	int exit_code, signal;
	pid_t sender_pid;
	uint32_t sender_uid;
	char sender[COMM_LEN];
	uint64_t value, of;
	enum metric_unit unit; /* of both */
	char text[VERDICT_TEXT_MAX];
};

struct verdict {
	enum verdict_code code;
	enum verdict_confidence confidence;
	struct {
		struct proc_id process; /* pid 0: not known, or no single one */
		char name[COMM_LEN];
		uint32_t sheet;
	} culprit;
	struct evidence evidence[VERDICT_EVIDENCE_MAX];
	size_t n_evidence;
};

const char *verdict_code_name(enum verdict_code code);
enum verdict_code verdict_code_find(
	const char *name); /* VERDICT_CODE_COUNT: there is none of this name */
const char *verdict_code_words(enum verdict_code code);
const char *verdict_confidence_name(enum verdict_confidence confidence);
const char *verdict_source(enum evidence_kind kind);
/* One more, with kind set; the last one again when there is no room. */
struct evidence *verdict_add(struct verdict *v, enum evidence_kind kind);
