/* SPDX-License-Identifier: MIT */
/* bus.h - events for subscribers: one copy of each for all. A subscriber is a cursor, so a thousand of
 * them need no more memory than one, and a slow one delays no others. A subscriber that is overtaken
 * loses the oldest events, and gets their number.
 *
 * Each user has room of its own: its events displace its own oldest ones. When all rooms together are
 * full, the user that has the most loses its oldest; so users with less than an equal part keep all theirs.
 *
 *	struct bus_cursor c = bus_end(bus, uid);
 *
 *	while (bus_next(bus, &c, &filter, &event, &lost))
 *		… */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/defs.h"

#define BUS_NAME_MAX 64
#define BUS_JOB_MAX 128
#define BUS_TEXT_MAX (64u << 10)
#define BUS_ROOMS 8 /* of the size of one user's that all have together */

struct bus;

struct bus_event {
	uint64_t seq;                     /* unique, and growing */
	const char *name, *job_id, *text; /* job_id "": none; text: the JSON of `data` */
	uint64_t wall_ns;
	uint32_t sheet;         /* 0: none */
	uid_t uid,              /* whose room it takes: of the job, if any, and of the process */
		process_uid; /* both users may see it */
};

struct bus_cursor {
	uid_t uid;      /* sees what this user may see; 0: everything */
	uint64_t seq;   /* of the next event */
	uint64_t own;   /* the number of the next event among those that the user may see */
	bool is_astray; /* it is not known how many it has lost */
};

#define BUS_LOST_UNKNOWN UINT64_MAX

/* Which events to return. An empty string matches all. */
struct bus_filter {
	char prefix[BUS_NAME_MAX]; /* "sheet." or "sheet.started" */
	char job_id[BUS_JOB_MAX];
	uid_t job_uid; /* … of this user */
	bool of_one_user;
	uid_t user; /* whose events, if of_one_user: of their jobs, and of their processes in no job */
};

/* The room of one user has `bytes`. The first event has the number `first_seq`. It must be larger than all
 * numbers of earlier buses, so that a client that continues with one of those is noticed. */
struct bus *bus_new(size_t bytes, uint64_t first_seq);
void bus_free(struct bus *bus);
DEFINE_CLEANUP(struct bus *, bus_free)

/* `seq` of the event is ignored; its own is returned, or 0: a text is too long. */
uint64_t bus_publish(struct bus *bus, const struct bus_event *event);
uint64_t bus_next_seq(const struct bus *bus); /* the number of the next event */
/* After the latest event; at the oldest that is left; at `seq`. */
struct bus_cursor bus_end(struct bus *bus, uid_t uid);
struct bus_cursor bus_begin(struct bus *bus, uid_t uid);
struct bus_cursor bus_at(struct bus *bus, uid_t uid, uint64_t seq);
/* The next event that matches the filter; false: there is none yet. Its strings are valid until the
 * next bus_publish(). *ret_lost is how many events, of those that the cursor's user may see, were displaced
 * before this cursor read them, counted without the filter, and set even if there is no event. A
 * cursor that is astray has lost BUS_LOST_UNKNOWN. */
bool bus_next(struct bus *bus, struct bus_cursor *cursor, const struct bus_filter *filter,
              struct bus_event *ret, uint64_t *ret_lost);
