/* SPDX-License-Identifier: MIT */
/* budget.h - the promise that watching costs little: what is switched off, in which order, when it
 * costs more. Pure: it is fed what each tick cost and answers what to leave out. */
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
	double limit_ratio;   /* of one core */
	bool keep_interval;   /* somebody asked for this very interval: it is not stretched */
	unsigned level;       /* enum budget_level */
	unsigned over, under; /* ticks in a row above the limit, and well below it */
};

/* One tick cost this share of a core (NAN: not known). True when the level changed. */
bool budget_feed(struct budget *b, double self_cpu_ratio);
unsigned budget_want(const struct budget *b); /* enum sample_want bits */
uint64_t budget_interval_ns(const struct budget *b, uint64_t base_ns);
const char *budget_level_name(unsigned level); /* "PSS left out" */
const char *budget_left_out(unsigned level);   /* "PSS and other details"; NULL: nothing */
