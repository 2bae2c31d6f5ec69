/* SPDX-License-Identifier: MIT */
/* announcer.h - sends notifications to a server. It never blocks and never fails: without a server
 * nothing is sent, and a server that appears later gets the state as it is then, and what was kept for
 * it. A server that does not read is disconnected and tried again later. */
#pragma once

#include <stdbool.h>

#include "base/err.h"
#include "base/loop.h"

#define ANNOUNCER_PATH_MAX 4096

struct announcer;

struct announcer_options {
	/* The nth path to try, in order of preference; false: there are no more. */
	bool (*find_path)(void *self, unsigned nth, char ret[ANNOUNCER_PATH_MAX]);
	/* A server was found: send it the current state. */
	void (*connected)(void *self, struct announcer *a);
	void *self;
};

/* Tries to connect at once. */
struct announcer *announcer_new(struct loop *loop, const struct announcer_options *options);
void announcer_free(struct announcer *a); /* NULL is fine */
/* If there is no connection, tries once more now. */
void announcer_connect(struct announcer *a);
/* `params` is the text of a JSON object. */
void announcer_send(struct announcer *a, const char *method, const char *params);
/* The same, but without a connection it is kept, and sent in order after the state. */
void announcer_keep(struct announcer *a, const char *method, const char *params);
/* How many were dropped since the last call, the oldest first, because too many had to be kept. */
uint64_t announcer_take_dropped(struct announcer *a);
