/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "job/strangers_self.h"

struct note *notes_see(struct strangers *st, const struct proc_sample *p)
{
	bool is_new;
	uint32_t seat = roster_see(&st->roster, p->id, &is_new);
	struct note *note;

	while (seat != ROSTER_NONE && st->notes.len <= seat)
		if (!vec_push(&st->notes, PROCS_MAX))
			return NULL;
	note = seat == ROSTER_NONE ? NULL : &st->notes.at[seat];
	if (note && (is_new || note->command_len != p->command.len ||
	             memcmp(note->comm, p->comm, COMM_LEN) != 0)) {
		*note = (struct note){ .command_len = p->command.len };
		memcpy(note->comm, p->comm, COMM_LEN);
	}
	return note;
}

void notes_forget_programs(struct strangers *st, const struct sample *s)
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
	struct strangers *st = self;

	if (seat < st->notes.len)
		st->notes.at[seat] = (struct note){ 0 };
}

static void move(void *self, uint32_t from, uint32_t to)
{
	struct strangers *st = self;

	if (from >= st->notes.len || to >= st->notes.len)
		return;
	st->notes.at[to] = st->notes.at[from];
	st->notes.at[from] = (struct note){ 0 };
}

static const struct roster_ops by_seat = { .forget = forget, .move = move };

void notes_end_scan(struct strangers *st)
{
	roster_end_scan(&st->roster, &by_seat, st);
	st->notes.len = MIN(st->notes.len, roster_seats(&st->roster));
	vec_shrink(&st->notes);
}
