/* SPDX-License-Identifier: MIT */
/* event_table.h - rows of events. */
#pragma once

#include "base/map.h"
#include "model/event.h"
#include "store/store.h"

struct event_flow {
	double outsiders; /* lives outside jobs that were stored: a leaky bucket */
	uint64_t outsiders_lost;
	struct map signals; /* of one snapshot: which, to and from whom → index << 32 | n */
	uint64_t cpu_ns;    /* CPU time that the events of snapshots took */
};

/* What could not be stored, as events. */
int event_table_put_gap(struct store *st, const struct store_gap *gap, struct err *err) must_check;
