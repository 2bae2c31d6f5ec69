/* SPDX-License-Identifier: MIT */
/* client.h - asks a server and waits for its answer, until a point in time. Only a server that is
 * root's or our own is believed. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"

struct client;

/* Deadlines are on the monotonic clock. -EACCES: the socket is somebody else's. */
int client_open(const char *path, uint64_t deadline_ns, struct client **ret, struct err *err)
	must_check;
void client_close(struct client *c); /* NULL is fine */
DEFINE_CLEANUP(struct client *, client_close)
/* `params` is the text of a JSON object, or NULL. The result is the caller's to json_decref(); it
 * may be asked for with NULL when nobody needs it. What the server refused comes as the errno of
 * message.h's table. */
int client_call(struct client *c, const char *method, const char *params, uint64_t deadline_ns,
                json_t **ret_result, struct err *err) must_check;
/* Whether the last call failed because the server said no: it was there, and answered. */
bool client_was_refused(const struct client *c);
/* The next notification, the caller's to json_decref(). -ETIMEDOUT: none came. */
int client_next(struct client *c, uint64_t deadline_ns, json_t **ret, struct err *err) must_check;
int client_fd(const struct client *c);
