/* SPDX-License-Identifier: MIT */
/* live_frame.h - answers of a server as a frame. What is missing in them is not known. */
#pragma once

#include <jansson.h>

#include "base/map.h"
#include "base/scan.h"
#include "view/frame.h"

/* The program names of processes of jobs, also of those that have ended since: events show them. */
struct program_names {
	struct map of; /* pid → an owned text */
};
void live_frame_names_done(struct program_names *n);

/* Any may be NULL. */
struct live_answers {
	const json_t *snapshot; /* daemon.top */
	const json_t *status;   /* daemon.status */
	const json_t *jobs;     /* job.list */
	const json_t *events;   /* daemon.events */
	struct scan processes;  /* the list in the snapshot, as it is written */
	struct program_names *names;
};

/* The machine, from all members of a snapshot but its processes. */
void live_frame_head(const json_t *snapshot, struct frame *f);
/* Only this job, unless it is NULL. */
void live_frame_fill(const struct live_answers *from, enum frame_source source,
                     const struct job_key *only, struct frame *ret);
/* Reads what a process waits for, from context.get. */
void live_frame_blocked(const json_t *context, char *ret, size_t cap);
