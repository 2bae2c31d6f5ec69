/* SPDX-License-Identifier: MIT */
/* pressure.h - how full the machine is, as far as those who start work need to know: a level, why,
 * and what to do about it. Pure: facts and the level before in, judgement out. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "model/snapshot.h"

#define PRESSURE_WHY_MAX 128

/* X(id, name, seconds that a dispatcher should wait before it starts something) */
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

/* What it is judged by. A limit of 0 is not known; a ratio that is not known is NAN. */
struct pressure_facts {
	uint64_t memory_used, memory_limit;   /* of our control group */
	uint64_t machine_used, machine_total; /* of the machine */
	uint64_t processes, processes_limit;
	double memory_stall_ratio; /* share of the time in which some task waited for memory */
	bool is_blind;             /* a probe failed: we would not see it coming */
};

struct pressure {
	enum pressure_level level;
	char why[PRESSURE_WHY_MAX]; /* what made it so; "" at none */
	struct pressure_facts facts;
};

/* 0: no limit but the one in force. */
struct pressure_limits {
	uint64_t memory, processes;
	uint64_t own_processes; /* RLIMIT_NPROC: tasks of `uid`, where nothing else limits them */
	uint32_t uid;
};

struct pressure_facts pressure_facts(const struct snapshot *snap,
                                     const struct pressure_limits *limits);
/* It rises at once. It falls when the figure is well below what raised it, so that it does not
 * flutter around a threshold. */
struct pressure pressure_judge(const struct pressure_facts *facts, enum pressure_level before);
const char *pressure_name(enum pressure_level level);
bool pressure_parse(const char *name, enum pressure_level *ret);
unsigned pressure_delay_s(enum pressure_level level);
/* Critical refuses everything, high refuses new jobs, the rest is a matter of waiting. */
bool pressure_admits(enum pressure_level level, bool is_new_job);
