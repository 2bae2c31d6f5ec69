/* SPDX-License-Identifier: MIT */
/* visible_snapshot.h - what is made of the latest snapshot for those who ask, kept for the next who asks: its
 * text for who may see all, and the part of it that one user may see. */
#pragma once

#include <sys/types.h>

#include "base/json.h"
#include "model/snapshot.h"

/* Zeroed is empty. */
struct visible_snapshot {
	struct buf text;
	uint64_t text_seq; /* of the snapshot that it tells */
	struct snapshot part;
	uint64_t part_seq;
	uid_t part_uid;
};

/* The whole snapshot as a JSON value. */
void visible_snapshot_put(struct visible_snapshot *s, const struct snapshot *snap, struct json *j);
/* His jobs and processes in it. */
const struct snapshot *visible_snapshot_part(struct visible_snapshot *s,
                                             const struct snapshot *snap, uid_t uid);
void visible_snapshot_done(struct visible_snapshot *s);
