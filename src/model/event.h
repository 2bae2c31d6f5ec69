/* SPDX-License-Identifier: MIT */
/* event.h - something happened at one instant. Probes pass on what the kernel reports;
 * snapshot_build adds wall time, job and what can be inferred from two ticks. */
#pragma once

#include "base/buf.h"
#include "model/metric.h"
#include "model/process.h"

/* X(id, name in JSON and SQL, whether SPEC's process_events view shows it) */
/* clang-format off */
#define EVENT_KINDS(X)                                                                       \
	X(SPAWN, "spawn", true)            /* a process began */                             \
	X(EXIT, "exit", true)              /* a process ended */                             \
	X(SIGNAL, "signal", true)          /* a signal was sent to it */                     \
	X(KILL, "kill", true)              /* … and it was SIGKILL */                        \
	X(OOM, "oom", true)                /* the kernel chose it as an out-of-memory victim */ \
	X(EXEC, "exec", false)             /* a process runs another program now */          \
	X(TOTALS, "totals", false)         /* final counters of a process whose exit was reported before */ \
	X(LOSS, "loss", false)             /* events were lost: `count` of them, 0 when unknown */ \
	X(GAP, "gap", false)               /* nothing was stored for `count` ns */           \
	X(CLOCK_STEP, "clock_step", false) /* the wall clock jumped by `count` ns (signed) */ \
	X(SUSPEND, "suspend", false)       /* the machine slept for `count` ns */            \
	X(PROBE, "probe", false)           /* a probe failed, recovered or stepped down: see text */ \
	X(RECORDER, "recorder", false)     /* the recorder itself: started, degraded, over budget: see text */ \
	X(MARK, "mark", false)             /* reported by a process of the job: name, and data (JSON) in text */ \
	X(PHASE, "phase", false)           /* a phase ended after `count` ns: name, data */ \
	X(LIMIT, "limit", false)           /* the job met its limit: name of the limit, details in text */ \
	X(ANOMALY, "anomaly", false)       /* one began, or ended after `count` ns: name is its kind, details in text */ \
	X(DISK, "disk", false)             /* when a job failed: a file system that it may have written to is full */ \
	X(GPU, "gpu", false)               /* a GPU: name is lost, lost_end (after `count` ns), throttle, throttle_end (likewise), ecc or xid (`count`: how many, which) */
/* clang-format on */

#define X(id, ...) EVENT_##id,
enum event_kind { EVENT_KINDS(X) EVENT_KIND_COUNT };
#undef X

struct event {
	enum event_kind kind;
	bool inferred; /* from two ticks, not reported by the kernel: times and figures are rough */
	uint64_t boot_ns;  /* when, on the boot clock */
	uint64_t wall_ns;  /* 0: snapshot_build() derives it from boot_ns */
	struct proc_id id; /* pid 0: not about a process */
	pid_t ppid;        /* spawn */
	bool is_start_guessed; /* spawn: the process began then, or a moment before */
	uint32_t uid;
	uint32_t caller_uid; /* exec: the real user, which a set-user-id program does not change; 0: or not known */
	char comm[COMM_LEN];
	struct text_ref name; /* mark, phase, limit; signal: what the kernel sent it for (EVENT_FOR_…) */
	struct text_ref text; /* exec: the command line; others: details */

	bool has_exit_code; /* exit: a code or a signal, never both */
	int exit_code;
	int signal; /* 0: none */
	bool core_dumped;

	pid_t sender_pid; /* signal, kill: 0 = the kernel, -1 = not known */
	uint32_t sender_uid;
	char sender_comm[COMM_LEN];
	bool is_forwarded; /* … to the recorder, which passed it on */

	struct proc_readings final; /* exit, totals: exact counters of the whole life */
	bool is_peak_bound; /* … but peak memory: the mark may be that of the process's parent */
	uint64_t life_peak_bytes; /* exit: … with what it had before its first program; 0: not known */
	int64_t count;
	uint32_t gpu; /* gpu: its index */
	int32_t job;  /* index in snapshot->jobs, -1: none; in a sample, the handle of a job whose
	                event is about no process */
	uint32_t sheet;
	bool is_joined; /* its process: as in struct job_ref */
};

/* Names of signal events: why the kernel sent the signal, where that is known. */
#define EVENT_FOR_STACK "stack_overflow"
#define EVENT_FOR_PROTECTED "protected_page"
#define EVENT_FOR_CPU_LIMIT "cpu_limit" /* also of a limit event: `count` ns were used up */
/* Names of disk events. */
#define EVENT_DISK_FULL "full"           /* `count` bytes are left */
#define EVENT_DISK_INODES "inodes"       /* `count` inodes are left */
#define EVENT_DISK_READ_ONLY "read_only"

const char *event_name(enum event_kind kind);
/* How the process ended, as wait(2) gives it. */
void event_set_status(struct event *e, uint32_t status);
bool event_in_view(enum event_kind kind); /* one of SPEC's five types */
/* The details beside the columns: "sent by bash (pid 12, uid 0)". `text` is the buffer
 * that event->text points into. */
void event_details(const struct event *e, const char *text, struct buf *to);
