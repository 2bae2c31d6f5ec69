/* SPDX-License-Identifier: MIT */
/* process_slots.h - a number for each living process, small enough to index an array, for probes that
 * remember something about processes from tick to tick. The number stays while the process is seen,
 * and is given to another after it is gone. After a crowd the few that are left move together. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/process.h"

#define PROCESS_SLOTS_NONE UINT32_MAX

struct process_slots_seat {
	uint64_t key;
	uint32_t scan; /* that saw it last */
	bool is_taken;
};

struct process_slots {
	struct map index; /* proc_key → seat */
	VEC(struct process_slots_seat) seats;
	VEC(uint32_t) free;
	uint32_t scan;
	uint32_t memory; /* scans after which a process not seen is forgotten; 0: 2 */
};

/* What a probe does about what it keeps by seat. */
struct process_slots_ops {
	void (*forget)(void *self, uint32_t seat);
	void (*move)(void *self, uint32_t from, uint32_t to); /* `to` was forgotten, and is lower */
};

void process_slots_done(struct process_slots *r);
/* The seat of a process, a new one when it has none yet; PROCESS_SLOTS_NONE at the ceiling. */
uint32_t process_slots_see(struct process_slots *r, struct proc_id id, bool *ret_is_new);
size_t process_slots_len(const struct process_slots *r);   /* processes that have a seat */
size_t process_slots_seats(const struct process_slots *r); /* all seats are below it */
/* After a scan: those not seen by it nor by those before lose their seat; `forget` is told
 * each. When most seats are free by then the others are taken together, and `move` is told. */
void process_slots_end_scan(struct process_slots *r, const struct process_slots_ops *ops,
                            void *self);
