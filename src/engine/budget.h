/* SPDX-License-Identifier: MIT */
/* budget.h - the promise that watching costs little: what is switched off, in which order, when
 * looking costs more, and when it comes back. Pure: it is fed what each look cost and answers what
 * to leave out. docs/performance.md tells the rules. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* In this order, one step at a time; back the same way. Never from BPF to /proc, which costs
 * more. */
enum budget_level {
	BUDGET_ALL,                      /* everything is read */
	BUDGET_NO_PSS,                   /* without PSS, USS and the other details */
	BUDGET_NO_FDS_IO,                /* and without open files and I/O (on the /proc tier) */
	BUDGET_NO_SYSCALLS,              /* and without syscall accounting */
	BUDGET_SLOWER,                   /* from here on every step doubles the interval … */
	BUDGET_LAST = BUDGET_SLOWER + 4, /* … up to 32 times */
};

struct budget {
	double limit_ratio; /* of one core */
	bool keep_interval; /* somebody asked for this very interval: it is not stretched */
	unsigned skips;     /* bit set of levels by which nothing would be saved here */
	unsigned level;     /* enum budget_level */
	double ratio;       /* what looking costs of a core, as it was last judged */

	uint64_t looks, cost_ns, time_ns; /* since then */
	uint64_t calm_ns;                 /* for how long a better level would have fitted */
	uint64_t held_ns;                 /* since the level changed */
	uint64_t patience_ns;             /* the calm it takes; 0: none was tried in vain */
	bool is_trial;                    /* the level is better than the one before */
};

/* One look took so much CPU time; `base_ns` is the interval that was asked for. True when the level
 * changed. */
bool budget_feed(struct budget *b, uint64_t cost_ns, uint64_t base_ns);
unsigned budget_want(const struct budget *b); /* enum sample_want bits */
uint64_t budget_interval_ns(const struct budget *b, uint64_t base_ns);
/* "PSS and other details, open files and I/O"; NULL: nothing. */
const char *budget_left_out(const struct budget *b);
