/* SPDX-License-Identifier: MIT */
/* process_slots.h - what is remembered about each living process from tick to tick: an entry of the
 * owner's own type, by process identity. Entries do not move; one expires when its process was not
 * seen for a few ticks. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/process.h"

struct process_slot;

struct process_slots {
	size_t entry_bytes;           /* set before use, as are these two: */
	void (*release)(void *entry); /* frees what an entry owns; NULL: it owns nothing */
	uint32_t memory;              /* ticks after which a process not seen is forgotten; 0: 2 */

	uint32_t tick;
	struct map index; /* proc_key → slot */
	VEC(struct process_slot *) all;
};

void process_slots_done(struct process_slots *s);
/* The entry of a process, a zeroed one when it has none yet; NULL at the ceiling. */
void *process_slots_see(struct process_slots *s, struct proc_id id);
/* … NULL when it has none; does not count as seen. */
void *process_slots_find(const struct process_slots *s, struct proc_id id);
/* Ends the tick: forgets processes that were not seen for a while. */
void process_slots_end_tick(struct process_slots *s);
