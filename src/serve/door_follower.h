/* SPDX-License-Identifier: MIT */
/* door_follower.h - the jobs that `proctor run` records on its own, found by their doors (jobs/<id>/sock in the state
 * directory) and registered with an engine that watches the whole machine, with their sheets. */
#pragma once

#include "engine/engine.h"

struct door_follower;

struct door_follower *door_follower_new(struct engine *engine, const char *jobs_dir);
/* Asks one door after the other, until 0.2 s are over; the rest come first the next time. One that does not answer for as long
 * is asked again after a pause. */
void door_follower_ask(struct door_follower *f);
void door_follower_free(struct door_follower *f); /* NULL is fine */
