/* SPDX-License-Identifier: MIT */
/* past_run_list.h - runs in memory, to be put into the order of their starts. Each takes 72 bytes; names of types are
 * kept once. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/past_run.h"

#define PAST_RUN_LIST_MAX ((size_t)2 << 20)

struct past_run_entry {
	uint64_t started_ns, took_ns, peak_bytes, cpu_ns, input_bytes, requested_bytes;
	uint32_t order, type, sheet;
	uint8_t has, basis;
};

/* Initialised with zeros. */
struct past_run_list {
	VEC(struct past_run_entry) runs;
	VEC(char *) types;
	struct map by_name;
};

bool past_run_list_add(struct past_run_list *l, const struct past_run *run); /* false: it is full */
void past_run_list_sort(
	struct past_run_list *l); /* runs that started together stay in their order */
/* Only what estimates need. */
void past_run_list_get(const struct past_run_list *l, size_t i, struct past_run *ret);
void past_run_list_done(struct past_run_list *l);
