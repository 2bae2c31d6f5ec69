/* SPDX-License-Identifier: MIT */
/* ask.h - the daemon, for verbs that ask it something: the one named by --socket or
 * $PROCTOR_SOCKET, else the user's own, else the machine's. Only one that is root's or our own is
 * believed. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "rpc/client.h"

#define ASK_PATIENCE_NS (5 * NS_PER_S)

struct ask {
	struct client *client;
	char path[CONFIG_PATH_MAX]; /* where it answers, or was looked for last */
	bool is_there;              /* somebody who is believed listens, whatever he answers */
	pid_t pid;                  /* who; 0: not known */
};

/* The row of --socket for a table of options. */
#define ASK_OPT(to)                                                                                \
	{                                                                                          \
		"socket", 0, OPT_PATH, to, "PATH", "the daemon's socket, no other"                 \
	}

/* Where a daemon is looked for: its `nth` place; false: there are no more. */
bool ask_place(const char *socket, unsigned nth, char ret[static CONFIG_PATH_MAX]);
/* -ENOENT: there is none. The message is a line for people. Close it in any case. */
int ask_open(const char *socket, struct ask *ret, struct err *err) must_check;
int ask_call(struct ask *ask, const char *method, const char *params, json_t **ret, struct err *err)
	must_check;
void ask_close(struct ask *ask);
/* The error and, where there is one, the remedy. CLI_DAEMON. */
int ask_tell(const struct err *err);
