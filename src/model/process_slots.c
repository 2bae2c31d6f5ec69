/* SPDX-License-Identifier: MIT */
#include "model/process_slots.h"

#define SLOTS_MAX ((size_t)1 << 22) /* the kernel's own ceiling for pids */
#define TICKS_REMEMBERED 2          /* unless set otherwise */

struct process_slot {
	uint64_t key;
	uint32_t tick; /* that saw it last */
	_Alignas(max_align_t) char entry[];
};

static void slot_free(const struct process_slots *s, struct process_slot *slot)
{
	if (s->release)
		s->release(slot->entry);
	free(slot);
}

void process_slots_done(struct process_slots *s)
{
	vec_each(&s->all, slot)
		slot_free(s, *slot);
	vec_done(&s->all);
	map_done(&s->index);
}

static struct process_slot *find(const struct process_slots *s, uint64_t key)
{
	uint64_t found;

	return map_get(&s->index, key, &found) ? (struct process_slot *)(uintptr_t)found : NULL;
}

void *process_slots_find(const struct process_slots *s, struct proc_id id)
{
	struct process_slot *slot = find(s, proc_key(id));

	return slot ? slot->entry : NULL;
}

void *process_slots_see(struct process_slots *s, struct proc_id id)
{
	struct process_slot *slot = find(s, proc_key(id)), **added;

	if (!slot) {
		added = vec_push(&s->all, SLOTS_MAX);
		if (!added)
			return NULL;
		*added = slot = xcalloc(1, sizeof *slot + s->entry_bytes);
		slot->key = proc_key(id);
		map_put(&s->index, slot->key, (uintptr_t)slot);
	}
	slot->tick = s->tick;
	return slot->entry;
}

void process_slots_end_tick(struct process_slots *s)
{
	uint32_t memory = s->memory ? s->memory : TICKS_REMEMBERED;

	for (size_t i = 0; i < s->all.len;) {
		struct process_slot *slot = s->all.at[i];

		if (s->tick - slot->tick < memory) {
			i++;
			continue;
		}
		map_del(&s->index, slot->key);
		slot_free(s, slot);
		s->all.at[i] = s->all.at[--s->all.len];
	}
	vec_shrink(&s->all);
	map_shrink(&s->index);
	s->tick++;
}
