/* SPDX-License-Identifier: MIT */
#include "model/process_slots.h"

#define SEATS_MAX ((size_t)1 << 22) /* the kernel's own ceiling for pids */
#define SCANS_REMEMBERED 2 /* unless set otherwise */
#define SEATS_SMALL 1024 /* so few may well be free */

void process_slots_done(struct process_slots *r)
{
	map_done(&r->index);
	vec_done(&r->seats);
	vec_done(&r->free);
}

static uint32_t take_seat(struct process_slots *r)
{
	if (r->free.len)
		return r->free.at[--r->free.len];
	return vec_push(&r->seats, SEATS_MAX) ? (uint32_t)(r->seats.len - 1) : PROCESS_SLOTS_NONE;
}

uint32_t process_slots_see(struct process_slots *r, struct proc_id id, bool *ret_is_new)
{
	uint64_t key = proc_key(id), found;
	uint32_t seat;

	*ret_is_new = !map_get(&r->index, key, &found);
	seat = *ret_is_new ? take_seat(r) : (uint32_t)found;
	if (seat == PROCESS_SLOTS_NONE)
		return seat;
	if (*ret_is_new)
		map_put(&r->index, key, seat);
	r->seats.at[seat] = (struct process_slots_seat){ .key = key,
		                                         .scan = r->scan,
		                                         .is_taken = true };
	return seat;
}

size_t process_slots_len(const struct process_slots *r)
{
	return r->index.len;
}

size_t process_slots_seats(const struct process_slots *r)
{
	return r->seats.len;
}

static void vacate(struct process_slots *r, uint32_t seat)
{
	uint32_t *vacated = vec_push(&r->free, SEATS_MAX);

	map_del(&r->index, r->seats.at[seat].key);
	r->seats.at[seat].is_taken = false;
	if (vacated)
		*vacated = seat;
}

static void move_together(struct process_slots *r, const struct process_slots_ops *ops, void *self)
{
	uint32_t to = 0;

	for (uint32_t from = 0; from < r->seats.len; from++) {
		if (!r->seats.at[from].is_taken)
			continue;
		if (from != to) {
			r->seats.at[to] = r->seats.at[from];
			map_put(&r->index, r->seats.at[to].key, to);
			ops->move(self, from, to);
		}
		to++;
	}
	r->seats.len = to;
	vec_shrink(&r->seats);
	vec_done(&r->free);
	map_shrink(&r->index);
}

void process_slots_end_scan(struct process_slots *r, const struct process_slots_ops *ops,
                            void *self)
{
	uint32_t memory = r->memory ? r->memory : SCANS_REMEMBERED;

	for (uint32_t i = 0; i < r->seats.len; i++) {
		const struct process_slots_seat *seat = &r->seats.at[i];

		if (!seat->is_taken || r->scan - seat->scan < memory)
			continue;
		vacate(r, i);
		ops->forget(self, i);
	}
	if (r->seats.len > SEATS_SMALL && r->index.len < r->seats.len / 4)
		move_together(r, ops, self);
	r->scan++;
}
