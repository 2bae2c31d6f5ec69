/* SPDX-License-Identifier: MIT */
#include "model/past_run_list.h"

#include <stdio.h>

#include "base/hash.h"

static uint32_t find_type(struct past_run_list *l, const char *type)
{
	uint64_t key = hash_bytes(HASH_SEED, type, strlen(type)), index;
	char **slot;

	if (map_get(&l->by_name, key, &index))
		return (uint32_t)index;
	map_put(&l->by_name, key, l->types.len);
	slot = vec_push(&l->types, PAST_RUN_LIST_MAX); /* there is room: no more types than runs */
	if (slot)
		*slot = xstrdup(type);
	return (uint32_t)(l->types.len - 1);
}

bool past_run_list_add(struct past_run_list *l, const struct past_run *run)
{
	struct past_run_entry *e = vec_push(&l->runs, PAST_RUN_LIST_MAX);

	if (!e)
		return false;
	*e = (struct past_run_entry){ .started_ns = run->started_ns,
		                      .took_ns = run->took_ns,
		                      .peak_bytes = run->peak_bytes,
		                      .cpu_ns = run->cpu_ns,
		                      .input_bytes = run->input_bytes,
		                      .requested_bytes = run->requested_bytes,
		                      .order = (uint32_t)(l->runs.len - 1),
		                      .type = find_type(l, run->type),
		                      .sheet = run->sheet,
		                      .has = (uint8_t)run->has,
		                      .basis = (uint8_t)run->basis };
	return true;
}

static int compare(const void *left, const void *right)
{
	const struct past_run_entry *a = left, *b = right;

	if (a->started_ns != b->started_ns)
		return a->started_ns < b->started_ns ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void past_run_list_sort(struct past_run_list *l)
{
	if (l->runs.len)
		qsort(l->runs.at, l->runs.len, sizeof *l->runs.at, compare);
}

void past_run_list_get(const struct past_run_list *l, size_t i, struct past_run *ret)
{
	const struct past_run_entry *e = &l->runs.at[i];
	const unsigned kept = 1u << RUN_CPU | 1u << RUN_INPUT | 1u << RUN_REQUESTED;

	*ret = (struct past_run){ .started_ns = e->started_ns,
		                  .took_ns = e->took_ns,
		                  .peak_bytes = e->peak_bytes,
		                  .cpu_ns = e->cpu_ns,
		                  .input_bytes = e->input_bytes,
		                  .requested_bytes = e->requested_bytes,
		                  .sheet = e->sheet,
		                  .has = e->has & kept,
		                  .basis = (enum run_basis)e->basis };
	snprintf(ret->type, sizeof ret->type, "%s", l->types.at[e->type]);
}

void past_run_list_done(struct past_run_list *l)
{
	vec_each(&l->types, t)
		free(*t);
	vec_done(&l->types);
	vec_done(&l->runs);
	map_done(&l->by_name);
}
