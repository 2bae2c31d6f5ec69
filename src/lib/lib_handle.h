/* SPDX-License-Identifier: MIT */
/* lib_handle.h - what is behind the public header, for this room alone. */
#pragma once

#include <jansson.h>

#include "base/json.h"
#include "lib/proctor.h"
#include "rpc/rpc_client.h"

#define EXPORT __attribute__((visibility("default")))

struct proctor {
	struct rpc_client *calls;
	struct rpc_client *
		feed; /* NULL: not subscribed. A connection of its own: no answer waits behind events */
	char *path;
	uint64_t patience_ns;
	json_t *event; /* the one that was given out last */
	char *data;    /* … and the text of its data */
	struct err err;
};

uint64_t lib_handle_deadline(const struct proctor *p);
/* Calls; whatever the parameters lacked or the server refused is in proctor_error(). The result is
 * the caller's to json_decref(). */
int lib_handle_call(struct proctor *p, const char *method, const char *params, json_t **ret_result)
	must_check;

/* Parameters that are not there are not sent. */
struct args {
	struct buf text;
	struct json j;
};

void args_begin(struct args *a);
void args_str(struct args *a, const char *key, const char *value);
void args_num(struct args *a, const char *key, uint64_t value); /* 0 is not there */
void args_json(struct args *a, const char *key, const char *json);
/* Ends them, calls, and frees them. */
int args_call(struct args *take_a, struct proctor *p, const char *method, json_t **ret_result)
	must_check;
