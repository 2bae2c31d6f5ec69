/* SPDX-License-Identifier: MIT */
/* recent_deaths.h - what recently killed processes, as BPF reported it. The recorders of plain users
 * cannot see that themselves and ask for it. Kills for lack of memory have a ring of their own, so that
 * other kills do not displace them. */
#pragma once

#include "model/snapshot.h"

#define RECENT_DEATHS_MAX 256 /* of each kind */

struct recent_death {
	struct proc_id id;
	uint32_t uid; /* of the process */
	bool is_oom;  /* else `kill` has the sender of its SIGKILL */
	struct cause_signal kill;
};

struct recent_deaths_ring {
	struct recent_death *at; /* RECENT_DEATHS_MAX of them; NULL before the first */
	uint64_t count;          /* of all time */
};

/* Initialised with zeros. */
struct recent_deaths {
	struct recent_deaths_ring ooms, kills;
};

void recent_deaths_add(struct recent_deaths *r, const struct snapshot *snap);
/* The latest of that process, of this user; start_ticks 0: of that pid. The kernel's SIGKILL of a victim
 * of the OOM killer is none. NULL: it is not known. */
#define RECENT_DEATHS_OF_ALL UINT32_MAX
const struct recent_death *recent_deaths_find(const struct recent_deaths *r, struct proc_id id,
                                              uint32_t uid);
void recent_deaths_done(struct recent_deaths *r);
