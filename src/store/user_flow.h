/* SPDX-License-Identifier: MIT */
/* user_flow.h - how much each user has stored by what their processes do: a burst, and a steady rate after that. Above
 * half of the burst the samples of their processes are thinned: every 2nd tick, every 4th … Near its end only starts and
 * ends of processes are kept, and far beyond it not even those of new processes. What is left out is counted and
 * reported. Root and the owner of the store have no such limit, nor has the store of a single job. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/snapshot.h"
#include "store/store.h"

#define USER_FLOW_BURST_BYTES ((uint64_t)32 << 20) /* or 1/64 of a small disk */
#define USER_FLOW_BYTES_PER_S ((uint64_t)64 << 10) /* or what fills a quarter of it in a week */

enum user_flow_level {
	USER_FLOW_ALL,
	USER_FLOW_EVERY_2ND, /* and 4th, 8th, 16th */
	USER_FLOW_ENDS = 5,  /* starts and ends of processes, kills */
	USER_FLOW_NOTHING,   /* of processes that begin */
};

struct user_flow {
	uint32_t uid;
	enum user_flow_level level;
	double bytes; /* of the burst that are used */
	struct store_left_out losses;
	uint64_t reported_ns; /* boot clock, 0: never */
};

struct user_flows {
	VEC(struct user_flow) users;
	struct map index;
	double burst_bytes, bytes_per_s; /* 0: no limits */
	uint64_t boot_ns;
	struct store_left_out left_out; /* of all, as far as it is reported */
};

/* By the size of the disk. */
void user_flow_open(struct store *st);
void user_flow_done(struct user_flows *f);
/* A transaction begins. */
void user_flow_begin(struct store *st, const struct snapshot *snap);
/* The user that it is counted for: the owner of its job, unless that is root. */
uint32_t user_flow_payer(const struct snapshot *snap, int32_t job, uint32_t uid);
void user_flow_add(struct store *st, uint32_t uid, size_t bytes);
/* Whether changes of this user's processes are written at this tick. */
bool user_flow_is_due(const struct store *st, uint32_t uid);
enum user_flow_level user_flow_level(const struct store *st, uint32_t uid);
/* Of the user, for what is left out now. Only for a user that is above a level. */
struct store_left_out *user_flow_losses(struct store *st, uint32_t uid);
/* Of all, up to now. */
struct store_left_out user_flow_left_out(const struct user_flows *f);
/* The next user over its limit whose losses are due to be reported, which counts as done; false: none. */
bool user_flow_next_report(struct store *st, struct user_flow *ret);
