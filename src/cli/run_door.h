/* SPDX-License-Identifier: MIT */
/* run_door.h - the door of the job that `proctor run` hosts: lets serve/ speak with its engine. */
#pragma once

#include "cli/run_announcer.h"
#include "engine/jobhost.h"

struct run_door;

/* All of it outlives the door. */
struct run_door_options {
	const char *state_dir, *job_id;
	const char *db_path; /* NULL: nothing is stored */
	struct jobhost *host;
	struct run_announcer *herald; /* hears of it too; NULL: nobody does */
};

/* Opens jobs/ID/sock in the state directory. */
int run_door_open(struct loop *loop, const struct run_door_options *options, struct run_door **ret,
                  struct err *err) must_check;
/* Each snapshot, for those who ask what the job does now. */
void run_door_note(struct run_door *d, const struct snapshot *snap); /* NULL is fine */
void run_door_close(struct run_door *d);                             /* NULL is fine */
