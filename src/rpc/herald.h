/* SPDX-License-Identifier: MIT */
/* herald.h - tells a server things, as calls that nobody waits for the answer of. It never waits
 * itself and never fails: while nobody listens nothing is said, and whoever comes later is greeted
 * with how things stand then. One that does not read is left, and tried again. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"

#define HERALD_PATH_MAX 4096

struct herald;

struct herald_options {
	/* Where to look, the nearest first; false: there are no more. */
	bool (*place)(void *self, unsigned nth, char ret[HERALD_PATH_MAX]);
	/* Somebody listens: the time to say how things stand. */
	void (*greet)(void *self, struct herald *h);
	void *self;
};

/* Looks for a listener at once, and greets him. */
struct herald *herald_new(struct loop *loop, const struct herald_options *options);
void herald_free(struct herald *h); /* NULL is fine */
/* `params` is the text of a JSON object. */
void herald_say(struct herald *h, const char *method, const char *params);
bool herald_is_heard(const struct herald *h);
