/* SPDX-License-Identifier: MIT */
/* rpc_client.h - calls a server and waits for its answer until a deadline. Only a server that runs as
 * root or as our own user is trusted. */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/err.h"
#include "base/scan.h"

struct rpc_client;

/* Deadlines are on the monotonic clock. -EACCES: the server belongs to another user. */
int rpc_client_open(const char *path, uint64_t deadline_ns, struct rpc_client **ret,
                    struct err *err) must_check;
/* With a socket that is connected already, to a server that we started. */
struct rpc_client *rpc_client_adopt(int take_fd);
void rpc_client_close(struct rpc_client *c); /* NULL is fine */
DEFINE_CLEANUP(struct rpc_client *, rpc_client_close)
/* `params` is the text of a JSON object, or NULL. The caller owns the result; `ret_result` may be
 * NULL. A refusal by the server is returned as the errno from rpc_message.h's table. */
int rpc_client_call(struct rpc_client *c, const char *method, const char *params,
                    uint64_t deadline_ns, json_t **ret_result, struct err *err) must_check;
/* Whether the last call failed because the server refused it, not because it was unreachable. */
bool rpc_client_was_refused(const struct rpc_client *c);
/* The next notification, owned by the caller. -ETIMEDOUT: none came. */
int rpc_client_next(struct rpc_client *c, uint64_t deadline_ns, json_t **ret, struct err *err)
	must_check;
/* For clients with a loop of their own, which never wait for an answer: sends a call, and returns its id in *ret_id. */
int rpc_client_post(struct rpc_client *c, const char *method, const char *params,
                    uint64_t deadline_ns, uint64_t *ret_id, struct err *err) must_check;
/* The next line that has come in full, an answer or a notification, valid until the next call. -EAGAIN: none has;
 * -ECONNRESET: the server is gone. */
int rpc_client_poll(struct rpc_client *c, struct scan *ret, struct err *err) must_check;
int rpc_client_fd(const struct rpc_client *c);
