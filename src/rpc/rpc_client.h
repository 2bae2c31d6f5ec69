/* SPDX-License-Identifier: MIT */
/* rpc_client.h - asks a server and waits for its answer, until a point in time. Only a server that is
 * root's or our own is believed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct rpc_client;

/* Deadlines are on the monotonic clock. -EACCES: the socket is somebody else's. */
int rpc_client_open(const char *path, uint64_t deadline_ns, struct rpc_client **ret,
                    struct err *err) must_check;
void rpc_client_close(struct rpc_client *c); /* NULL is fine */
DEFINE_CLEANUP(struct rpc_client *, rpc_client_close)
/* `params` is the text of a JSON object, or NULL. The result is the caller's to json_decref(); it
 * may be asked for with NULL when nobody needs it. What the server refused comes as the errno of
 * rpc_message.h's table. */
int rpc_client_call(struct rpc_client *c, const char *method, const char *params,
                    uint64_t deadline_ns, json_t **ret_result, struct err *err) must_check;
/* Whether the last call failed because the server said no: it was there, and answered. */
bool rpc_client_was_refused(const struct rpc_client *c);
/* The next notification, the caller's to json_decref(). -ETIMEDOUT: none came. */
int rpc_client_next(struct rpc_client *c, uint64_t deadline_ns, json_t **ret, struct err *err)
	must_check;
int rpc_client_fd(const struct rpc_client *c);
