/* SPDX-License-Identifier: MIT */
/* bus.h - events for subscribers: one ring of encoded texts for all. A subscriber is a cursor in it,
 * so a thousand of them need no more memory than one, and a slow one delays no others. A subscriber
 * that is overtaken loses the oldest events, and gets their number.
 *
 *	struct bus_cursor c = bus_end(bus);
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

struct bus;

struct bus_event {
	uint64_t seq;                     /* unique, and growing */
	const char *name, *job_id, *text; /* job_id "": none; text: the JSON of `data` */
	uint64_t wall_ns;
	uint32_t sheet;         /* 0: none */
	uid_t uid,
		process_uid; /* the users that may see it: of the job, if any, and of the process */
};

struct bus_cursor {
	uint64_t seq;   /* of the next event */
	uint64_t at;    /* its position, if it is still in the ring */
	bool is_astray; /* its number was never in this ring */
};

#define BUS_LOST_UNKNOWN UINT64_MAX

/* Which events to return. An empty string matches all. */
struct bus_filter {
	char prefix[BUS_NAME_MAX]; /* "sheet." or "sheet.started" */
	char job_id[BUS_JOB_MAX];
	uid_t job_uid; /* … of this user */
	uid_t uid;     /* what this user may see; 0: of all users */
};

/* The first event has the number `first_seq`. It must be larger than all numbers of earlier rings, so
 * that a client that continues with one of those is noticed. */
struct bus *bus_new(size_t bytes, uint64_t first_seq);
void bus_free(struct bus *bus);
DEFINE_CLEANUP(struct bus *, bus_free)

/* `seq` of the event is ignored; its own is returned, or 0: a text is too long. */
uint64_t bus_publish(struct bus *bus, const struct bus_event *event);
uint64_t bus_next_seq(const struct bus *bus); /* the number of the next event */
/* After the latest event; at the oldest that is left; at `seq`. */
struct bus_cursor bus_end(const struct bus *bus);
struct bus_cursor bus_begin(const struct bus *bus);
struct bus_cursor bus_at(const struct bus *bus, uint64_t seq);
/* The next event that matches the filter; false: there is none yet. Its strings are valid until the
 * next call with this bus. *ret_lost is how many events were overwritten before this cursor read
 * them, counted without the filter, and set even if there is no event. A cursor that is astray
 * continues with the oldest event, and has lost BUS_LOST_UNKNOWN. */
bool bus_next(struct bus *bus, struct bus_cursor *cursor, const struct bus_filter *filter,
              struct bus_event *ret, uint64_t *ret_lost);
