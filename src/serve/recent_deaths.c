/* SPDX-License-Identifier: MIT */
#include "serve/recent_deaths.h"

#include <signal.h>
#include <string.h>

#include "base/mem.h"

static struct recent_death *add(struct recent_deaths_ring *ring, const struct event *e)
{
	struct recent_death *slot;

	if (!ring->at)
		ring->at = xcalloc(RECENT_DEATHS_MAX, sizeof *ring->at);
	slot = &ring->at[ring->count++ % RECENT_DEATHS_MAX];
	*slot = (struct recent_death){ .id = e->id, .uid = e->uid };
	return slot;
}

void recent_deaths_add(struct recent_deaths *r, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		struct cause_signal *kill;

		if (e->kind == EVENT_OOM)
			add(&r->ooms, e)->is_oom = true;
		if (e->kind != EVENT_KILL)
			continue;
		kill = &add(&r->kills, e)->kill;
		kill->number = SIGKILL;
		kill->pid = e->sender_pid;
		kill->uid = e->sender_uid;
		kill->is_from_itself = e->sender_pid == e->id.pid;
		memcpy(kill->comm, e->sender_comm, sizeof kill->comm);
	}
}

static const struct recent_death *find(const struct recent_deaths_ring *ring, struct proc_id id,
                                       uint32_t uid)
{
	uint64_t oldest = ring->count - MIN(ring->count, (uint64_t)RECENT_DEATHS_MAX);

	for (uint64_t at = ring->count; at > oldest; at--) {
		const struct recent_death *d = &ring->at[(at - 1) % RECENT_DEATHS_MAX];

		if (d->id.pid == id.pid && (!id.start_ticks || d->id.start_ticks == id.start_ticks))
			return uid == RECENT_DEATHS_OF_ALL || d->uid == uid ? d : NULL;
	}
	return NULL;
}

const struct recent_death *recent_deaths_find(const struct recent_deaths *r, struct proc_id id,
                                              uint32_t uid)
{
	const struct recent_death *oom = find(&r->ooms, id, uid);

	return oom ? oom : find(&r->kills, id, uid);
}

void recent_deaths_done(struct recent_deaths *r)
{
	free(r->ooms.at);
	free(r->kills.at);
	*r = (struct recent_deaths){ 0 };
}
