/* SPDX-License-Identifier: MIT */
/* anomaly.h - an anomaly, with its start and end: one record per episode, not per tick.
 * analyze/ finds them; docs/anomalies.md describes how each kind is judged. */
#pragma once

#include "base/buf.h"
#include "model/process.h"

#define ANOMALY_MIB (1.0 / (1 << 20))

#define ANOMALY_TEXT_MAX 160

/* The subject of an anomaly: one process, a job as a whole, or the machine. An episode is
 * recognised by it. */
enum anomaly_scope { ANOMALY_OF_PROCESS, ANOMALY_OF_JOB, ANOMALY_OF_MACHINE };

/* X(id, key in JSON and SQL, name for people, scope, description, inside × this = outside, whether
 * less is worse). Stored by key; its rule in analyze/ is called rule_KEY. Inside: bytes, a ratio of one core, ns, a count. In descriptions:
 *	%b %p %o  base, peak and the other amount in bytes, all in the unit %u that suits the largest
 *	%B %P     base and peak as counts
 *	%c %t     the peak in percent, or as a time
 *	%d %s     the time from the base to the peak, or until it was last seen
 *	%r %x     the number of earlier runs it was compared with; its own text */
/* clang-format off */
#define ANOMALY_KINDS(X)                                                                                           \
	X(MEMORY_SPIKE, memory_spike, "memory spike", PROCESS, "%b → %p %u in %d", ANOMALY_MIB, false)           \
	X(RUNAWAY_PROCESS, runaway_process, "runaway process", PROCESS,                                          \
	  "at %c of a core for %s, its parent is gone", 100, false)                                                \
	X(ZOMBIE, zombie, "zombie", PROCESS, "not reaped for %t", 1e-9, false)                                   \
	X(FD_EXHAUSTION, fd_exhaustion, "open files", PROCESS, "%P of the %B it may open", 1, false)             \
	X(MEMORY_PRESSURE, memory_pressure, "memory pressure", MACHINE, "%p of %b %u available", ANOMALY_MIB, true) \
	X(MEMORY_LEAK, memory_leak, "memory leak", JOB, "%p %u used, at most %b in %r earlier runs", ANOMALY_MIB, false) \
	X(MEMORY_EXHAUSTION, memory_exhaustion, "memory runs out", JOB,                                          \
	  "%o of %b %u used, at this rate all in %t", 1e-9, true)                                                  \
	X(STALL, stall, "stall", JOB, "%x, idle for %t", 1e-9, false)                                            \
	X(THREAD_EXPLOSION, thread_explosion, "many threads", PROCESS, "%B → %P within 30 s", 1, false)         \
	X(FORK_STORM, fork_storm, "many processes", JOB, "%B → %P in %d", 1, false)                              \
	X(GPU_IDLE, gpu_idle, "idle GPU", JOB, "%o %u held there, nothing has run for %t", 1e-9, false)          \
	X(THROTTLED, throttled, "CPU limit", JOB, "held back for %c of the CPU time it asked for", 100, false)   \
	X(SWAP_THRASH, swap_thrash, "swapping", MACHINE, "tasks wait for memory %c of the time, %o %u are in swap space", 100, false) \
	X(DISK_FILLING, disk_filling, "disk fills up", JOB, "%o of %b %u left in %x, at this rate for %t", 1e-9, true)

/* X(id, name); stored by number */
#define SEVERITIES(X)              \
	X(LOW, "low")              \
	X(MEDIUM, "medium")        \
	X(HIGH, "high")            \
	X(CRITICAL, "critical")
/* clang-format on */

#define X(id, ...) ANOMALY_##id,
enum anomaly_kind { ANOMALY_KINDS(X) ANOMALY_KIND_COUNT };
#undef X
#define X(id, ...) SEVERITY_##id,
enum severity { SEVERITIES(X) SEVERITY_COUNT };
#undef X

struct anomaly_info {
	const char *key, *name, *description;
	enum anomaly_scope scope;
	double scale;
	bool less_is_worse;
};
extern const struct anomaly_info anomaly_kinds[ANOMALY_KIND_COUNT];

/* The bounds that are configurable; each other bound stands above its rule in analyze/. */
struct anomaly_config {
	double spike_factor; /* 0: anomalies are off */
	uint64_t spike_window_ns;
	double runaway_cpu_ratio; /* of one core */
	uint64_t runaway_duration_ns;
	uint64_t gpu_idle_ns;
};

enum anomaly_news {
	ANOMALY_SAME,
	ANOMALY_BEGAN,
	ANOMALY_CHANGED, /* it became more severe, or its peak rose considerably */
	ANOMALY_ENDED,
};

struct anomaly {
	uint64_t seq; /* of the episode: counts from 1 in the life of one recorder */
	enum anomaly_kind kind;
	enum severity severity; /* it only rises */
	enum anomaly_news news; /* since the snapshot before */
	struct proc_id id;      /* pid 0: the whole job or machine */
	char comm[COMM_LEN];
	int32_t job; /* index in snapshot->jobs, -1: none */
	uint32_t sheet;
	uint64_t began_wall_ns, began_boot_ns;
	uint64_t ended_wall_ns;      /* 0 while it lasts */
	uint64_t seen_boot_ns;       /* when it was found last */
	double value, peak;          /* at its start, and the worst */
	uint64_t peak_boot_ns;       /* when that was */
	double threshold;            /* the value that makes it an anomaly */
	double base;                 /* what it is compared with: memory before, a limit */
	uint64_t base_boot_ns;       /* when that was, or since when it lasts */
	double other;                /* another amount of its description, as it is now */
	char text[ANOMALY_TEXT_MAX]; /* … and words */
	/* The earlier runs of the job's type that it was judged by; 0: judged by a fixed threshold. */
	uint32_t runs;
};

/* A growable list, for vec.h. */
struct anomaly_list {
	struct anomaly *at;
	size_t len, cap;
};

const char *anomaly_severity_name(enum severity severity);
/* A value as it is shown outside: MiB, percent of a core, seconds, a count. */
double anomaly_shown(enum anomaly_kind kind, double value);
/* By what an anomaly was judged that was compared with so many earlier runs: "history", "threshold". */
const char *anomaly_basis(uint32_t runs);
/* "memory spike: python 2417 2.1 → 4.6 GiB in 24 s" */
void anomaly_describe(const struct anomaly *a, struct buf *to);
