/* SPDX-License-Identifier: MIT */
/* daemon_client.h - the daemon, for verbs that ask it something: the one named by --socket or
 * $PROCTOR_SOCKET, else the user's own, else the machine's. Only one that is root's or our own is
 * believed. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "rpc/rpc_client.h"

#define DAEMON_CLIENT_PATIENCE_NS (5 * NS_PER_S)

struct daemon_client {
	struct rpc_client *client;
	char path[CONFIG_PATH_MAX]; /* where it answers, or was looked for last */
	bool is_there;              /* somebody who is believed listens, whatever he answers */
	pid_t pid;                  /* who; 0: not known */
};

/* The row of --socket for a table of options. */
#define DAEMON_CLIENT_OPT(to)                                                                      \
	{                                                                                          \
		"socket", 0, OPT_PATH, to, "PATH", "the daemon's socket, no other"                 \
	}

/* Where a daemon is looked for: its `nth` place; false: there are no more. */
bool daemon_client_place(const char *socket, unsigned nth, char ret[static CONFIG_PATH_MAX]);
/* -ENOENT: there is none. The message is a line for people. Close it in any case. */
int daemon_client_open(const char *socket, struct daemon_client *ret, struct err *err) must_check;
int daemon_client_call(struct daemon_client *ask, const char *method, const char *params,
                       json_t **ret, struct err *err) must_check;
void daemon_client_close(struct daemon_client *ask);
/* The error and, where there is one, the remedy. CLI_DAEMON. */
int daemon_client_tell(const struct err *err);
