/* SPDX-License-Identifier: MIT */
#include "probe/roster.h"

#define SEATS_MAX ((size_t)1 << 22) /* the kernel's own ceiling for pids */
#define SCANS_REMEMBERED 2

void roster_done(struct roster *r)
{
	map_done(&r->index);
	vec_done(&r->seats);
	vec_done(&r->free);
}

static uint32_t take_seat(struct roster *r)
{
	if (r->free.len)
		return r->free.at[--r->free.len];
	return vec_push(&r->seats, SEATS_MAX) ? (uint32_t)(r->seats.len - 1) : ROSTER_NONE;
}

uint32_t roster_see(struct roster *r, struct proc_id id, bool *ret_is_new)
{
	uint64_t key = proc_key(id), found;
	uint32_t seat;

	*ret_is_new = !map_get(&r->index, key, &found);
	seat = *ret_is_new ? take_seat(r) : (uint32_t)found;
	if (seat == ROSTER_NONE)
		return seat;
	if (*ret_is_new)
		map_put(&r->index, key, seat);
	r->seats.at[seat] = (struct roster_seat){ .key = key, .scan = r->scan, .is_taken = true };
	return seat;
}

size_t roster_len(const struct roster *r)
{
	return r->index.len;
}

void roster_end_scan(struct roster *r, void (*forget)(void *self, uint32_t seat), void *self)
{
	for (uint32_t i = 0; i < r->seats.len; i++) {
		struct roster_seat *seat = &r->seats.at[i];
		uint32_t *vacated;

		if (!seat->is_taken || r->scan - seat->scan < SCANS_REMEMBERED)
			continue;
		map_del(&r->index, seat->key);
		seat->is_taken = false;
		vacated = vec_push(&r->free, SEATS_MAX);
		if (vacated)
			*vacated = i;
		forget(self, i);
	}
	r->scan++;
}
