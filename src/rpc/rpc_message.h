/* SPDX-License-Identifier: MIT */
/* rpc_message.h - JSON-RPC 2.0 envelopes. Inside, an error is an errno as everywhere; outside, it is a
 * JSON-RPC number and a word (error.data.code) that programs may rely on. The table maps between
 * them, in both directions. */
#pragma once

#include <errno.h>
#include <jansson.h>

#include "base/err.h"
#include "base/json.h"
#include "base/scan.h"

#define RPC_MESSAGE_METHOD_MAX 128

/* X(errno, code, word) */
/* clang-format off */
#define RPC_MESSAGE_ERRORS(X)                                                                          \
	X(EBADMSG, -32700, "parse_error")          /* not JSON */                                  \
	X(ENOTUNIQ, -32700, "duplicate_key")                                                       \
	X(ERANGE, -32700, "number_too_large")      /* JSON, but beyond 2^63 or a double */         \
	X(EPROTO, -32600, "invalid_request")       /* JSON, but not JSON-RPC 2.0 */                \
	X(EPROTONOSUPPORT, -32600, "batch_refused") /* one call per line instead */                \
	X(EMSGSIZE, -32600, "frame_too_long")      /* the connection is closed */                  \
	X(ETIME, -32600, "frame_timeout")          /* an unfinished line; closed */                \
	X(ELOOP, -32600, "too_deep")                                                               \
	X(E2BIG, -32600, "too_many_values")                                                        \
	X(ENOSYS, -32601, "method_not_found")                                                      \
	X(EINVAL, -32602, "invalid_params")                                                        \
	X(EACCES, -32001, "permission_denied")                                                     \
	X(ENOENT, -32002, "not_found")                                                             \
	X(EAGAIN, -32003, "unavailable")           /* not now */                                   \
	X(EUSERS, -32004, "too_many_clients")      /* the connection is closed */                  \
	X(ENOSPC, -32005, "limit_reached")                                                         \
	X(EALREADY, -32006, "conflict")            /* done already, or ended */                    \
	X(EFBIG, -32007, "reply_too_large")                                                        \
	X(EIO, -32603, "internal_error")           /* everything else */
/* clang-format on */

/* A request. */
struct rpc_message {
	json_t *root; /* owns the members below */
	const char *method;
	json_t *params; /* an object; NULL: none */
	json_t *id;     /* NULL: a notification, which gets no answer */
};

/* *ret is set even on failure: its id is then the one to answer to, if there was one. */
int rpc_message_parse(struct scan line, struct rpc_message *ret, struct err *err) must_check;
void rpc_message_done(struct rpc_message *m);

/* jansson's parse error as a message for clients, without jansson's own vocabulary. -ERANGE: a number
 * that we cannot represent; -ENOTUNIQ: a duplicate key; -EBADMSG: everything else. */
int rpc_message_json_error(struct scan text, const json_error_t *why, struct err *err);

/* These write one line with its newline. The result or the params, one value, go between begin and
 * end. */
void rpc_message_begin_result(struct json *j, const json_t *id);
void rpc_message_begin_notification(struct json *j, const char *method);
void rpc_message_end(struct json *j);
/* `id` may be NULL. */
void rpc_message_put_error(struct json *j, const json_t *id, const struct err *err);
/* `params` is the text of a JSON object, or NULL. */
void rpc_message_put_request(struct json *j, uint64_t id, const char *method, const char *params);

/* Any parsed value, with every number as it was; NULL becomes null. */
void rpc_message_put_value(struct json *j, const json_t *value);

int rpc_message_error_errno(const char *word); /* EIO for an unknown word */
