/* SPDX-License-Identifier: MIT */
/* anomaly.h - an anomaly, with its start and end: one record per episode, not per tick.
 * analyze/ finds them; docs/numbers.md describes how each kind is judged. */
#pragma once

#include "base/buf.h"
#include "model/process.h"

#define ANOMALY_MIB (1.0 / (1 << 20))

/* X(id, key in JSON and SQL, name for people, description, inside × this = outside, whether less is
 * worse). Stored by key. Inside: bytes, a ratio of one core, ns, a count. In descriptions:
 *	%b %p  base and peak in bytes, both in the unit %u that suits the larger
 *	%B %P  base and peak as counts
 *	%c %t  the peak in percent of a core, or as a time
 *	%d %s  the time from the base to the peak, or until it was last seen */
/* clang-format off */
#define ANOMALY_KINDS(X)                                                                                           \
	X(MEMORY_SPIKE, "memory_spike", "memory spike", "%b → %p %u in %d", ANOMALY_MIB, false)                    \
	X(RUNAWAY_PROCESS, "runaway_process", "runaway process", "at %c of a core for %s, its parent is gone", 100, false) \
	X(ZOMBIE, "zombie", "zombie", "not reaped for %t", 1e-9, false)                                            \
	X(FD_EXHAUSTION, "fd_exhaustion", "open files", "%P of the %B it may open", 1, false)                      \
	X(MEMORY_PRESSURE, "memory_pressure", "memory pressure", "%p of %b %u available", ANOMALY_MIB, true)

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
	double scale;
	bool less_is_worse;
};
extern const struct anomaly_info anomaly_kinds[ANOMALY_KIND_COUNT];

/* What is judged by the configuration; the other bounds are in analyze/anomaly_rules.c. */
struct anomaly_config {
	double spike_factor; /* 0: anomalies are off */
	uint64_t spike_window_ns;
	double runaway_cpu_ratio; /* of one core */
	uint64_t runaway_duration_ns;
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
	struct proc_id id;      /* pid 0: the whole machine */
	char comm[COMM_LEN];
	int32_t job; /* index in snapshot->jobs, -1: none */
	uint32_t sheet;
	uint64_t began_wall_ns, began_boot_ns;
	uint64_t ended_wall_ns; /* 0 while it lasts */
	uint64_t seen_boot_ns;  /* when it was found last */
	double value, peak;     /* at its start, and the worst */
	uint64_t peak_boot_ns;  /* when that was */
	double threshold;       /* the value that makes it an anomaly */
	double base;            /* what it is compared with: memory before, a limit */
	uint64_t base_boot_ns;  /* when that was, or since when it lasts */
};

/* A growable list, for vec.h. */
struct anomaly_list {
	struct anomaly *at;
	size_t len, cap;
};

const char *severity_name(enum severity severity);
/* A value as it is shown outside: MiB, percent of a core, seconds, a count. */
double anomaly_shown(enum anomaly_kind kind, double value);
/* "memory spike: python 2417 2.1 → 4.6 GiB in 24 s" */
void anomaly_describe(const struct anomaly *a, struct buf *to);
