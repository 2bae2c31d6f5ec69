/* SPDX-License-Identifier: MIT */
/* pressure.h - how full the machine is, for programs that start work: a level, the reason, and how
 * long to wait. A pure function of the facts and the previous level. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/snapshot.h"

#define PRESSURE_WHY_MAX 128

/* X(id, name, seconds that a dispatcher should wait before the next start) */
#define PRESSURE_LEVELS(X)                                                                         \
	X(NONE, "none", 0)                                                                         \
	X(LOW, "low", 2)                                                                           \
	X(MEDIUM, "medium", 10)                                                                    \
	X(HIGH, "high", 30)                                                                        \
	X(CRITICAL, "critical", 60)

enum pressure_level {
#define X(id, ...) PRESSURE_##id,
	PRESSURE_LEVELS(X)
#undef X
		PRESSURE_LEVEL_COUNT
};

/* The facts. A limit of 0 and a ratio of NAN are unknown. */
struct pressure_facts {
	uint64_t memory_used, memory_limit;                   /* of our control group */
	const char *memory_limit_name, *processes_limit_name; /* whose they are; NULL: not known */
	char memory_group[CAUSE_GROUP_MAX],
		processes_group[CAUSE_GROUP_MAX]; /* if those of control groups; "": not */
	uint64_t machine_used, machine_total;     /* of the machine */
	uint64_t processes, processes_limit;
	double memory_stall_ratio; /* share of the time during which some task waited for memory */
	bool is_blind;             /* a probe failed: the facts cannot be trusted */
};

struct pressure {
	enum pressure_level level;
	char why[PRESSURE_WHY_MAX]; /* the reason; "" at level none */
	struct pressure_facts facts;
};

/* The configured limits; 0: the limit in force applies. */
struct pressure_limits {
	uint64_t memory, processes;
	uint64_t own_processes; /* RLIMIT_NPROC: tasks of `uid`, where nothing else limits them */
	uint32_t uid;
};

struct pressure_facts pressure_facts(const struct snapshot *snap,
                                     const struct pressure_limits *limits);
/* The level rises at once. It falls when the figure is well below the threshold, so that it does not
 * oscillate. */
struct pressure pressure_judge(const struct pressure_facts *facts, enum pressure_level before);
const char *pressure_name(enum pressure_level level);
bool pressure_parse(const char *name, enum pressure_level *ret);
unsigned pressure_delay_s(enum pressure_level level);
/* Whether an estimate of memory fits into what is available, now. One that could never fit does: waiting would not help. False: *ret_available is how much there is. */
bool pressure_has_room(const struct pressure_facts *facts, uint64_t bytes, uint64_t *ret_available);
void pressure_no_room_words(uint64_t bytes, uint64_t available, char ret[static PRESSURE_WHY_MAX]);
/* At critical nothing is admitted, at high no new jobs; at lower levels everything, with a delay. */
bool pressure_admits(enum pressure_level level, bool is_new_job);
