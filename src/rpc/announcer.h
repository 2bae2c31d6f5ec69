/* SPDX-License-Identifier: MIT */
/* announcer.h - sends notifications to a server. It never blocks and never fails: without a server
 * nothing is sent, and a server that appears later gets the state as it is then. A server that does
 * not read is disconnected and tried again later. */
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
/* `params` is the text of a JSON object. */
void announcer_send(struct announcer *a, const char *method, const char *params);
