/* SPDX-License-Identifier: MIT */
#include "probe/whois.h"

#include <string.h>

void whois_done(struct whois *w)
{
	vec_done(&w->scanned);
	vec_done(&w->born);
	map_done(&w->index);
}

static void copy_scan(struct whois *w, const struct sample *s)
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
static void drop_born(struct whois *w, pid_t pid)
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

void whois_learn(struct whois *w, const struct sample *s)
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

static struct known *find_scanned(struct whois *w, pid_t pid)
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

struct known *whois_find(struct whois *w, pid_t pid)
{
	struct known *k;
	uint64_t at;

	if (map_get(&w->index, (uint64_t)pid, &at))
		return &w->born.at[at];
	k = find_scanned(w, pid);
	return k && !k->is_gone ? k : NULL;
}

void whois_put(struct whois *w, const struct known *k)
{
	struct known *there = whois_find(w, k->id.pid);

	if (there && proc_id_eq(there->id, k->id)) {
		*there = *k;
		return;
	}
	whois_forget(w, k->id.pid);
	there = vec_push(&w->born, WHOIS_BORN_MAX);
	if (!there)
		return;
	*there = *k;
	map_put(&w->index, (uint64_t)k->id.pid, w->born.len - 1);
}

void whois_forget(struct whois *w, pid_t pid)
{
	struct known *scanned = find_scanned(w, pid);

	drop_born(w, pid);
	if (scanned)
		scanned->is_gone = true;
}
