/* SPDX-License-Identifier: MIT */
/* announcer.h - tells a server things, as calls that nobody waits for the answer of. It never waits
 * itself and never fails: while nobody listens nothing is said, and whoever comes later is greeted
 * with how things stand then. One that does not read is left, and tried again. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"

#define ANNOUNCER_PATH_MAX 4096

struct announcer;

struct announcer_options {
	/* Where to look, the nearest first; false: there are no more. */
	bool (*place)(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX]);
	/* Somebody listens: the time to say how things stand. */
	void (*greet)(void *self, struct announcer *h);
	void *self;
};

/* Looks for a listener at once, and greets him. */
struct announcer *announcer_new(struct loop *loop, const struct announcer_options *options);
void announcer_free(struct announcer *h); /* NULL is fine */
/* `params` is the text of a JSON object. */
void announcer_say(struct announcer *h, const char *method, const char *params);
bool announcer_is_heard(const struct announcer *h);
