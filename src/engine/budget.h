/* SPDX-License-Identifier: MIT */
/* budget.h - keeps the cost of ticks within a budget: what is left out, in which order, and when it
 * comes back. Pure: it is fed the cost of each tick and returns what to leave out.
 * docs/performance.md describes the rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In this order, one step at a time, and back in reverse. Never from BPF to /proc, which costs
 * more. */
enum budget_level {
	BUDGET_ALL,         /* everything is read */
	BUDGET_NO_PSS,      /* without PSS, USS and the other details */
	BUDGET_NO_FDS_IO,   /* and without open files and I/O (on the /proc tier) */
	BUDGET_NO_SYSCALLS, /* and without the system calls of processes that live: they are counted
	                       on, and read later */
	BUDGET_SLOWER,      /* from here on every step doubles the interval … */
	BUDGET_LAST = BUDGET_SLOWER + 4, /* … up to 32 times */
};

struct budget {
	double limit_ratio;  /* of one core */
	bool keep_interval;  /* the user chose the interval: it is not stretched */
	bool files_are_free; /* open files and I/O cost nothing extra: that level is skipped */
	bool has_syscalls;   /* those of some processes are counted: else that level is skipped */
	unsigned level;      /* enum budget_level */
	double ratio;        /* cost as a share of a core, at the last evaluation */

	uint64_t ticks, cost_ns, time_ns; /* since the last evaluation */
	uint64_t calm_ns;                 /* how long a better level would have fitted */
	uint64_t held_ns;                 /* since the level changed */
	uint64_t patience_ns;             /* calm_ns before the next trial; 0: none has failed */
	bool is_trial;                    /* the level is better than the one before */
};

/* One tick took so much CPU time; `base_ns` is the configured interval. True if the level changed. */
bool budget_feed(struct budget *b, uint64_t cost_ns, uint64_t base_ns);
unsigned budget_want(const struct budget *b); /* enum sample_want bits */
uint64_t budget_interval_ns(const struct budget *b, uint64_t base_ns);
/* "PSS and other details, open files and I/O"; NULL: nothing. */
const char *budget_left_out(const struct budget *b);
