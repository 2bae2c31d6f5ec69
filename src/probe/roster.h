/* SPDX-License-Identifier: MIT */
/* roster.h - a number for each living process, small enough to index an array, for probes that
 * remember something about processes from tick to tick. The number stays while the process is seen,
 * and is given to another after it is gone. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/process.h"

#define ROSTER_NONE UINT32_MAX

struct roster_seat {
	uint64_t key;
	uint32_t scan; /* that saw it last */
	bool is_taken;
};

struct roster {
	struct map index; /* proc_key → seat */
	VEC(struct roster_seat) seats;
	VEC(uint32_t) free;
	uint32_t scan;
};

void roster_done(struct roster *r);
/* The seat of a process, a new one when it has none yet; ROSTER_NONE at the ceiling. */
uint32_t roster_see(struct roster *r, struct proc_id id, bool *ret_is_new);
size_t roster_len(const struct roster *r); /* processes that have a seat */
/* After a scan: those not seen by it nor by the one before lose their seat; `forget` is told
 * each. */
void roster_end_scan(struct roster *r, void (*forget)(void *self, uint32_t seat), void *self);
