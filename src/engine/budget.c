/* SPDX-License-Identifier: MIT */
#include "engine/budget.h"

#include "base/clock.h"
#include "base/defs.h"
#include "model/sample.h"

/* The mean over at least this much time and so many ticks counts, not a single expensive one. */
#define WINDOW_NS (10 * NS_PER_S)
#define WINDOW_TICKS 3
#define FITS_RATIO 0.75 /* of the limit: a better level needs some room */
#define PATIENCE_NS (30 * NS_PER_S)
#define PATIENCE_MAX_NS (960 * NS_PER_S)
#define LASTS_NS (600 * NS_PER_S) /* a trial that held for so long has succeeded */

static unsigned last_level(const struct budget *b)
{
	return b->keep_interval ? BUDGET_NO_SYSCALLS : BUDGET_LAST;
}

static bool is_skipped(const struct budget *b, unsigned level)
{
	return (level == BUDGET_NO_FDS_IO && b->files_are_free) ||
	       (level == BUDGET_NO_SYSCALLS && !b->has_syscalls);
}

static void set_level(struct budget *b, unsigned level)
{
	b->is_trial = level < b->level;
	b->level = level;
	b->calm_ns = b->held_ns = 0;
}

/* The cost of a longer interval can be computed, so the one that fits is chosen at once; what
 * leaving something out saves shows only afterwards. */
static unsigned worse_level(const struct budget *b)
{
	unsigned level = b->level + 1, last = last_level(b);
	double ratio = b->ratio / 2;

	while (is_skipped(b, level))
		level++;
	if (level > last)
		return b->level;
	for (; level >= BUDGET_SLOWER && level < last && ratio > b->limit_ratio; ratio /= 2)
		level++;
	return level;
}

/* The best level that would fit, as far as that is known; the current one if none would. */
static unsigned better_level(const struct budget *b)
{
	double ratio = b->ratio, most = b->limit_ratio * FITS_RATIO;
	unsigned level = b->level;

	if (level >= BUDGET_SLOWER) {
		for (; level >= BUDGET_SLOWER && ratio * 2 <= most; ratio *= 2)
			level--;
	} else if (level > BUDGET_ALL && ratio <= most) {
		level--;
	}
	while (level < b->level && is_skipped(b, level))
		level--;
	return level;
}

static bool step_down(struct budget *b)
{
	unsigned level = worse_level(b);

	b->calm_ns = 0;
	if (level == b->level)
		return false;
	if (b->is_trial) /* it failed: the next one waits longer */
		b->patience_ns = MIN(2 * MAX(b->patience_ns, PATIENCE_NS), PATIENCE_MAX_NS);
	set_level(b, level);
	return true;
}

static bool step_up(struct budget *b, uint64_t time_ns)
{
	unsigned level = better_level(b);

	b->calm_ns = level < b->level ? b->calm_ns + time_ns : 0;
	if (level == b->level || b->calm_ns < MAX(b->patience_ns, PATIENCE_NS))
		return false;
	set_level(b, level);
	return true;
}

bool budget_feed(struct budget *b, uint64_t cost_ns, uint64_t base_ns)
{
	uint64_t time_ns;

	b->ticks++;
	b->cost_ns += cost_ns;
	b->time_ns += budget_interval_ns(b, base_ns);
	if (b->ticks < WINDOW_TICKS || b->time_ns < WINDOW_NS)
		return false;
	time_ns = b->time_ns;
	b->ratio = (double)b->cost_ns / (double)time_ns;
	b->held_ns += time_ns;
	b->ticks = b->cost_ns = b->time_ns = 0;
	if (b->is_trial && b->held_ns > LASTS_NS) {
		b->is_trial = false;
		b->patience_ns = 0;
	}
	return b->ratio > b->limit_ratio ? step_down(b) : step_up(b, time_ns);
}

unsigned budget_want(const struct budget *b)
{
	unsigned want = WANT_ALL;

	if (b->level >= BUDGET_NO_PSS)
		want &= ~(unsigned)WANT_PSS;
	if (b->level >= BUDGET_NO_FDS_IO)
		want &= ~(unsigned)WANT_FDS_IO;
	if (b->level >= BUDGET_NO_SYSCALLS)
		want &= ~(unsigned)WANT_SYSCALLS;
	return want;
}

uint64_t budget_interval_ns(const struct budget *b, uint64_t base_ns)
{
	return b->level < BUDGET_SLOWER ? base_ns : base_ns << (b->level - BUDGET_SLOWER + 1);
}

const char *budget_left_out(const struct budget *b)
{
	bool files = b->level >= BUDGET_NO_FDS_IO && !b->files_are_free;
	bool calls = b->level >= BUDGET_NO_SYSCALLS && b->has_syscalls;

	if (b->level < BUDGET_NO_PSS)
		return NULL;
	if (files)
		return calls ? "PSS and other details, open files and I/O, system calls"
		             : "PSS and other details, open files and I/O";
	return calls ? "PSS and other details, system calls" : "PSS and other details";
}
