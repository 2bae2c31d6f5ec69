/* SPDX-License-Identifier: MIT */
/* bus.h - what happens, told to whoever asked for it. One ring of ready-made texts for all: a
 * subscriber is a cursor in it, so that a thousand of them cost no more memory than one, and one
 * that stands still holds up nobody. Who is overtaken loses the oldest and is told how many.
 *
 *	struct bus_cursor c = bus_end(bus);
 *	while (bus_next(bus, &c, &filter, &event, &lost)) …	// lost: what was overwritten before
 *it
 */
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
	uint64_t seq;                     /* never one twice */
	const char *name, *job_id, *text; /* job_id "": none; text: the JSON of `data` */
	uint64_t wall_ns;
	uid_t uid, process_uid; /* whose business it is: the job's user's, and the process's */
};

struct bus_cursor {
	uint64_t seq;   /* of the event that comes next */
	uint64_t at;    /* where it is, if it is still there */
	bool is_astray; /* what it wants to begin with was never in this ring */
};

#define BUS_LOST_UNKNOWN UINT64_MAX

/* Which events are wanted. Empty texts: all of them. */
struct bus_filter {
	char prefix[BUS_NAME_MAX]; /* "sheet." or "sheet.started" */
	char job_id[BUS_JOB_MAX];
	uid_t uid; /* 0: everybody's */
};

/* The first event has the number `first_seq`: one that is beyond all of earlier rings lets those be
 * told who come back with a number of them. */
struct bus *bus_new(size_t bytes, uint64_t first_seq);
void bus_free(struct bus *bus);
DEFINE_CLEANUP(struct bus *, bus_free)

/* `seq` of the event is ignored; its own is returned, or 0: a text is too long. */
uint64_t bus_publish(struct bus *bus, const struct bus_event *event);
uint64_t bus_next_seq(const struct bus *bus); /* of the event that will be published next */
/* Behind everything that was published; or at the oldest that is left; or at `seq`. */
struct bus_cursor bus_end(const struct bus *bus);
struct bus_cursor bus_begin(const struct bus *bus);
struct bus_cursor bus_at(const struct bus *bus, uint64_t seq);
/* The next event that the filter lets through; false: there is none yet. Its texts live until the
 * next call with this bus. *ret_lost is how many were overwritten before this cursor read them,
 * whether or not there is an event; the filter never saw those. One that is astray begins with the
 * oldest, and has lost BUS_LOST_UNKNOWN. */
bool bus_next(struct bus *bus, struct bus_cursor *cursor, const struct bus_filter *filter,
              struct bus_event *ret, uint64_t *ret_lost);
