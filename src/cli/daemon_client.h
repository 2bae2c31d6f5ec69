/* SPDX-License-Identifier: MIT */
/* daemon_client.h - the connection of verbs to the daemon: the one named by --socket or
 * $PROCTOR_SOCKET, else the user's own, else the machine's. Only a daemon of root or of our own user
 * is trusted. */
#pragma once

#include <jansson.h>

#include "cli/cli.h"
#include "rpc/rpc_client.h"

#define DAEMON_CLIENT_PATIENCE_NS (5 * NS_PER_S)
/* Where the answer only completes what we know: a daemon that hangs must not hold it up. */
#define DAEMON_CLIENT_BRIEF_NS (500 * NS_PER_MS)

struct daemon_client {
	struct rpc_client *client;
	char path[CONFIG_PATH_MAX]; /* its socket, or the last one that was tried */
	bool is_there;              /* a trusted server listens, whatever it answers */
	pid_t pid;                  /* of the server; 0: unknown */
	uint64_t patience_ns;       /* for one call */
};

/* The row of --socket for a table of options. */
#define DAEMON_CLIENT_OPT(to)                                                                      \
	{                                                                                          \
		"socket", 0, OPT_PATH, to, "PATH", "ask only the daemon at this socket"            \
	}

/* The nth path to try; false: there are no more. */
bool daemon_client_place(const char *socket, unsigned nth, char ret[static CONFIG_PATH_MAX]);
/* -ENOENT: there is no daemon. Close it even on failure. */
int daemon_client_open(const char *socket, struct daemon_client *ret, struct err *err) must_check;
int daemon_client_open_within(const char *socket, uint64_t patience_ns, struct daemon_client *ret,
                              struct err *err) must_check;
int daemon_client_call(struct daemon_client *ask, const char *method, const char *params,
                       json_t **ret, struct err *err) must_check;
void daemon_client_close(struct daemon_client *ask);
/* Logs the error and, if there is one, the remedy; returns CLI_DAEMON. */
int daemon_client_log(const struct err *err);
