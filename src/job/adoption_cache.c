/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "job/adoption_self.h"

struct note *notes_see(struct adoption *st, const struct proc_sample *p)
{
	bool is_new;
	uint32_t seat = process_slots_see(&st->roster, p->id, &is_new);
	struct note *note;

	while (seat != PROCESS_SLOTS_NONE && st->notes.len <= seat)
		if (!vec_push(&st->notes, PROCS_MAX))
			return NULL;
	note = seat == PROCESS_SLOTS_NONE ? NULL : &st->notes.at[seat];
	if (note && (is_new || note->command_len != p->command.len ||
	             memcmp(note->comm, p->comm, COMM_LEN) != 0)) {
		*note = (struct note){ .command_len = p->command.len };
		memcpy(note->comm, p->comm, COMM_LEN);
	}
	return note;
}

void notes_forget_programs(struct adoption *st, const struct sample *s)
{
	vec_each(&s->events, e) {
		uint64_t seat;

		if (e->kind == EVENT_EXEC && map_get(&st->roster.index, proc_key(e->id), &seat) &&
		    seat < st->notes.len)
			st->notes.at[seat] = (struct note){ 0 };
	}
}

static void forget(void *self, uint32_t seat)
{
	struct adoption *st = self;

	if (seat < st->notes.len)
		st->notes.at[seat] = (struct note){ 0 };
}

static void move(void *self, uint32_t from, uint32_t to)
{
	struct adoption *st = self;

	if (from >= st->notes.len || to >= st->notes.len)
		return;
	st->notes.at[to] = st->notes.at[from];
	st->notes.at[from] = (struct note){ 0 };
}

static const struct process_slots_ops by_seat = { .forget = forget, .move = move };

void notes_end_scan(struct adoption *st)
{
	process_slots_end_scan(&st->roster, &by_seat, st);
	st->notes.len = MIN(st->notes.len, process_slots_seats(&st->roster));
	vec_shrink(&st->notes);
}
