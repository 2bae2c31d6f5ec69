/* SPDX-License-Identifier: MIT */
#include "engine/budget.h"

#include <math.h>

#include "model/sample.h"

#define OVER_TICKS 5   /* one busy moment is no reason */
#define UNDER_TICKS 30 /* slower back than forth, so that it does not swing */

bool budget_feed(struct budget *b, double self_cpu_ratio)
{
	unsigned last = b->keep_interval ? BUDGET_NO_SYSCALLS : BUDGET_LAST;

	if (isnan(self_cpu_ratio))
		return false;
	b->over = self_cpu_ratio > b->limit_ratio ? b->over + 1 : 0;
	b->under = self_cpu_ratio < b->limit_ratio / 3 ? b->under + 1 : 0;
	if (b->over >= OVER_TICKS && b->level < last) {
		b->level++;
		b->over = 0;
		return true;
	}
	if (b->under >= UNDER_TICKS && b->level > BUDGET_ALL) {
		b->level--;
		b->under = 0;
		return true;
	}
	return false;
}

unsigned budget_want(const struct budget *b)
{
	unsigned want = WANT_ALL;

	if (b->level >= BUDGET_NO_PSS)
		want &= ~(unsigned)WANT_PSS;
	if (b->level >= BUDGET_NO_FDS_IO)
		want &= ~(unsigned)WANT_FDS_IO;
	return want;
}

uint64_t budget_interval_ns(const struct budget *b, uint64_t base_ns)
{
	return b->level < BUDGET_SLOWER ? base_ns : base_ns << (b->level - BUDGET_SLOWER + 1);
}

const char *budget_level_name(unsigned level)
{
	static const char *const names[] = {
		[BUDGET_ALL] = "everything is read",
		[BUDGET_NO_PSS] = "PSS and other details are left out",
		[BUDGET_NO_FDS_IO] = "open files and I/O are left out too",
		[BUDGET_NO_SYSCALLS] = "syscall accounting is left out too",
	};

	return level < BUDGET_SLOWER ? names[level] : "the interval is doubled";
}

const char *budget_left_out(unsigned level)
{
	static const char *const left_out[] = {
		[BUDGET_NO_PSS] = "PSS and other details",
		[BUDGET_NO_FDS_IO] = "PSS and other details, open files and I/O",
		[BUDGET_NO_SYSCALLS] =
			"PSS and other details, open files and I/O, syscall accounting",
	};

	return left_out[level < BUDGET_SLOWER ? level : BUDGET_NO_SYSCALLS];
}
