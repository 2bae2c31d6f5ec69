/* SPDX-License-Identifier: MIT */
#include "report/type_stats.h"

#include <string.h>

#include "base/hash.h"

/* NULL: there is no room for another. */
static struct type_stats *find_type(struct all_type_stats *all, const char *type)
{
	uint64_t key = hash_bytes(HASH_SEED, type, strlen(type)), index;
	struct type_stats *found;

	if (map_get(&all->by_name, key, &index))
		return &all->types.at[index];
	found = vec_push(&all->types, TYPE_STATS_MAX);
	if (!found)
		return NULL;
	map_put(&all->by_name, key, all->types.len - 1);
	memcpy(found->type, type, strlen(type) + 1);
	return found;
}

static void add_memory(struct type_stats *to, const struct job *job)
{
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	struct figure largest = job->figures[JOB_FIGURE_PEAK_RSS];

	to->largest += !figure_is_known(used) && figure_is_known(largest);
	figure_set_add(&to->figures[TYPE_MEMORY], figure_is_known(used) ? used : largest);
}

int type_stats_all_add(void *self, const struct job *job)
{
	struct all_type_stats *all = self;
	struct type_stats *to = find_type(all, job->type);
	struct figure took = { job->took_ns, job->took_ns ? QUALITY_EXACT : QUALITY_MISSING };

	if (!to) {
		all->dropped++;
		return 0;
	}
	to->jobs++;
	to->failed += job->status == JOB_FAILED;
	to->running += job->status == JOB_RUNNING;
	to->lost += job->status == JOB_LOST;
	if (job->status == JOB_RUNNING || job->status == JOB_LOST)
		return 0;
	figure_set_add(&to->figures[TYPE_TIME], took);
	figure_set_add(&to->figures[TYPE_CPU], job->figures[JOB_FIGURE_CPU]);
	add_memory(to, job);
	return 0;
}

void type_stats_all_done(struct all_type_stats *all)
{
	vec_each(&all->types, t)
		for (int i = 0; i < TYPE_FIGURES; i++)
			figure_set_done(&t->figures[i]);
	vec_done(&all->types);
	map_done(&all->by_name);
}
