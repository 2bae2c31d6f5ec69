/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/process_names.h"

#include <string.h>

void process_names_done(struct process_names *w)
{
	vec_done(&w->scanned);
	vec_done(&w->born);
	map_done(&w->index);
}

static void copy_scan(struct process_names *w, const struct sample *s)
{
	vec_relax(&w->scanned);
	if (!vec_reserve(&w->scanned, s->procs.len, PROCS_MAX))
		return;
	vec_each(&s->procs, p) {
		struct known *k = &w->scanned.at[w->scanned.len++];

		*k = (struct known){ .id = p->id,
			             .uid = p->uid,
			             .is_threaded = readings_or(&p->r, PROC_THREADS, 2) > 1 };
		memcpy(k->comm, p->comm, sizeof k->comm);
	}
}

/* The last one takes the place of the one that goes. */
static void drop_born(struct process_names *w, pid_t pid)
{
	struct known *last;
	uint64_t at;

	if (!map_get(&w->index, (uint64_t)pid, &at))
		return;
	last = &w->born.at[w->born.len - 1];
	map_del(&w->index, (uint64_t)pid);
	if (&w->born.at[at] != last) {
		w->born.at[at] = *last;
		map_put(&w->index, (uint64_t)last->id.pid, at);
	}
	w->born.len--;
}

void process_names_learn(struct process_names *w, const struct sample *s)
{
	copy_scan(w, s);
	w->prev_scan_ticks = w->scan_ticks;
	w->scan_ticks = s->boot_ns / NS_PER_TICK;
	for (size_t i = 0; i < w->born.len;) {
		struct known *k = &w->born.at[i];

		if (k->id.start_ticks < w->prev_scan_ticks)
			drop_born(w, k->id.pid);
		else
			i++;
	}
	vec_shrink(&w->born);
	map_shrink(&w->index);
}

static struct known *find_scanned(struct process_names *w, pid_t pid)
{
	size_t low = 0, high = w->scanned.len;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (w->scanned.at[middle].id.pid < pid)
			low = middle + 1;
		else
			high = middle;
	}
	return low < w->scanned.len && w->scanned.at[low].id.pid == pid ? &w->scanned.at[low]
	                                                                : NULL;
}

struct known *process_names_find(struct process_names *w, pid_t pid)
{
	struct known *k;
	uint64_t at;

	if (map_get(&w->index, (uint64_t)pid, &at))
		return &w->born.at[at];
	k = find_scanned(w, pid);
	return k && !k->is_gone ? k : NULL;
}

void process_names_put(struct process_names *w, const struct known *k)
{
	struct known *there = process_names_find(w, k->id.pid);

	if (there && proc_id_eq(there->id, k->id)) {
		*there = *k;
		return;
	}
	process_names_forget(w, k->id.pid);
	there = vec_push(&w->born, PROCESS_NAMES_BORN_MAX);
	if (!there)
		return;
	*there = *k;
	map_put(&w->index, (uint64_t)k->id.pid, w->born.len - 1);
}

void process_names_forget(struct process_names *w, pid_t pid)
{
	struct known *scanned = find_scanned(w, pid);

	drop_born(w, pid);
	if (scanned)
		scanned->is_gone = true;
}
