/* SPDX-License-Identifier: MIT */
#include "model/process_selection.h"

#include <math.h>

#define X(id, name) [SELECT_##id] = name,
const char *const process_selection_names[] = { PROCESS_SELECTIONS(X) };
#undef X

struct candidate {
	double size;
	uint32_t index;
};

struct ranking {
	struct candidate at[SELECTION_LARGEST]; /* the largest first */
	size_t len;
};

/* Unknown and zero sizes do not count. */
static void offer(struct ranking *r, double size, uint32_t index)
{
	size_t i;

	if (!(size > 0) || (r->len == SELECTION_LARGEST && size <= r->at[r->len - 1].size))
		return;
	r->len = MIN(r->len + 1, (size_t)SELECTION_LARGEST);
	for (i = r->len - 1; i > 0 && r->at[i - 1].size < size; i--)
		r->at[i] = r->at[i - 1];
	r->at[i] = (struct candidate){ size, index };
}

static bool has_index(const struct process_largest *largest, uint32_t index)
{
	for (size_t i = 0; i < largest->len; i++)
		if (largest->at[i] == index)
			return true;
	return false;
}

static void add_ranked(struct process_largest *to, const struct ranking *r)
{
	for (size_t i = 0; i < r->len; i++)
		if (!has_index(to, r->at[i].index))
			to->at[to->len++] = r->at[i].index;
}

void process_largest_find(const struct snapshot *snap, const struct snapshot_scope *scope,
                          struct process_largest *ret)
{
	struct ranking by_cpu = { .len = 0 }, by_rss = { .len = 0 };

	for (size_t i = 0; i < snap->procs.len; i++) {
		const struct proc_snap *p = &snap->procs.at[i];

		if (p->job >= 0 || !snapshot_scope_has_proc(scope, snap, p))
			continue;
		offer(&by_cpu, p->cpu_ratio, (uint32_t)i);
		offer(&by_rss, (double)readings_or(&p->s.r, PROC_RSS, 0), (uint32_t)i);
	}
	ret->len = 0;
	add_ranked(ret, &by_cpu);
	add_ranked(ret, &by_rss);
}

bool process_selection_has(enum process_selection how, const struct process_largest *largest,
                           const struct snapshot *snap, size_t index)
{
	if (how == SELECT_ALL || snap->procs.at[index].job >= 0)
		return true;
	return how == SELECT_JOBS_AND_LARGEST && has_index(largest, (uint32_t)index);
}
