/* SPDX-License-Identifier: MIT */
/* store_quota.h - how much each user has stored by what their processes do: a burst, and a steady rate after that. Above
 * half of the burst the samples of their processes are thinned: every 2nd tick, every 4th … Near its end only starts and
 * ends of processes are kept, and far beyond it not even those of new processes. What is left out is counted and
 * reported. Root and the owner of the store have no such limit, nor has the store of a single job. */
#pragma once

#include "base/map.h"
#include "base/vec.h"
#include "model/snapshot.h"
#include "store/store.h"

#define STORE_QUOTA_BURST_BYTES ((uint64_t)32 << 20) /* or 1/64 of a small disk */
#define STORE_QUOTA_BYTES_PER_S ((uint64_t)64 << 10) /* or what fills a quarter of it in a week */

enum store_quota_level {
	STORE_QUOTA_ALL,
	STORE_QUOTA_EVERY_2ND, /* and 4th, 8th, 16th */
	STORE_QUOTA_ENDS = 5,  /* starts and ends of processes, kills */
	STORE_QUOTA_NOTHING,   /* of processes that begin */
};

/* The state that changes with each stored row. */
struct store_quota_use {
	double bytes;                   /* of the burst */
	struct store_left_out losses;   /* all of them */
	struct store_left_out reported; /* … that an event reports */
	uint64_t reported_ns;           /* boot clock, 0: never */
};

struct store_quota {
	uint32_t uid;
	enum store_quota_level level;
	struct store_quota_use now;       /* as this transaction would leave it */
	struct store_quota_use committed; /* what was rolled back was neither stored nor reported */
};

struct store_quotas {
	VEC(struct store_quota) users;
	struct map index;
	double burst_bytes, bytes_per_s; /* 0: no limits */
	uint64_t boot_ns;
	char notice[256]; /* for users, of what this transaction reports */
};

/* By the size of the disk. */
void store_quota_open(struct store *st);
void store_quota_done(struct store_quotas *f);
/* A transaction begins; what the last one added is forgotten if it was not committed. */
void store_quota_begin(struct store *st, const struct snapshot *snap);
/* It was committed. */
void store_quota_commit(struct store *st);
/* The user that it is counted for: the owner of its job, unless that is root. */
uint32_t store_quota_payer(const struct snapshot *snap, int32_t job, uint32_t uid);
void store_quota_add(struct store *st, uint32_t uid, size_t bytes);
/* Whether changes of this user's processes are written at this tick. */
bool store_quota_is_due(const struct store *st, uint32_t uid);
enum store_quota_level store_quota_level(const struct store *st, uint32_t uid);
/* The counts to which rows of this user are added that are left out now. Only for a user above a
 * level. */
struct store_left_out *store_quota_losses(struct store *st, uint32_t uid);
/* The rows left out of all users, up to the last commit. */
struct store_left_out store_quota_left_out(const struct store_quotas *q);
/* The next user with losses that are due to be reported. False: there is none. */
struct store_quota_report {
	uint32_t uid;
	struct store_left_out losses; /* since the last report */
};
bool store_quota_next_report(struct store *st, struct store_quota_report *ret);
