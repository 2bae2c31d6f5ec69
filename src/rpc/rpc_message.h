/* SPDX-License-Identifier: MIT */
/* rpc_message.h - JSON-RPC 2.0 envelopes. Inside, what went wrong is an errno like everywhere; outside
 * it is a number of JSON-RPC and a word (error.data.code) that programs may rely on: this table
 * joins them, in both directions. */
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
	X(ENOTUNIQ, -32700, "duplicate_key")       /* an object names a key twice */               \
	X(ERANGE, -32700, "number_too_large")      /* JSON, but beyond 2^63 or a double */         \
	X(EPROTO, -32600, "invalid_request")       /* JSON, and no JSON-RPC 2.0 */                 \
	X(EPROTONOSUPPORT, -32600, "batch_refused") /* send the calls one a line instead */        \
	X(EMSGSIZE, -32600, "frame_too_long")      /* the connection ends */                       \
	X(ETIME, -32600, "frame_timeout")          /* half a line, and no more; it ends too */     \
	X(ELOOP, -32600, "too_deep")                                                               \
	X(E2BIG, -32600, "too_many_values")                                                        \
	X(ENOSYS, -32601, "method_not_found")                                                      \
	X(EINVAL, -32602, "invalid_params")                                                        \
	X(EACCES, -32001, "permission_denied")                                                     \
	X(ENOENT, -32002, "not_found")                                                             \
	X(EAGAIN, -32003, "unavailable")           /* not now */                                   \
	X(EUSERS, -32004, "too_many_clients")      /* the connection ends */                       \
	X(ENOSPC, -32005, "limit_reached")                                                         \
	X(EALREADY, -32006, "conflict")            /* it is so already, or was ended */            \
	X(EFBIG, -32007, "reply_too_large")                                                        \
	X(EIO, -32603, "internal_error")           /* everything else */
/* clang-format on */

/* A request. */
struct rpc_message {
	json_t *root;       /* holds all of it */
	const char *method; /* borrowed from root, as are these */
	json_t *params;     /* an object; NULL: none */
	json_t *id;         /* NULL: nobody waits for an answer */
};

/* *ret is set in any case: after a failure its id is the one to answer to, if there was one. */
int rpc_message_parse(struct scan line, struct rpc_message *ret, struct err *err) must_check;
void rpc_message_done(struct rpc_message *m);
/* The checked line as JSON, for those who read answers. */
int rpc_message_load(struct scan line, json_t **ret, struct err *err) must_check;

/* Both write one line with its newline. The result goes between begin and end, as one value. */
void rpc_message_begin_result(struct json *j, const json_t *id);
void rpc_message_end_result(struct json *j);
void rpc_message_put_error(struct json *j, const json_t *id,
                           const struct err *err); /* id may be NULL */
/* The same for words that nobody asked for one by one; the params go between. */
void rpc_message_begin_notification(struct json *j, const char *method);
void rpc_message_end_notification(struct json *j);
/* `params` is the text of a JSON object, or NULL. */
void rpc_message_put_request(struct json *j, uint64_t id, const char *method, const char *params);

const char *rpc_message_error_word(int code); /* of an errno */
int rpc_message_error_errno(const char *word);
