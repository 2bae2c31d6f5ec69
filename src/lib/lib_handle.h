/* SPDX-License-Identifier: MIT */
/* lib_handle.h - the handle behind proctor.h, for this room only. */
#pragma once

#include <jansson.h>

#include "base/json.h"
#include "lib/proctor.h"
#include "rpc/rpc_client.h"

#define EXPORT __attribute__((visibility("default")))

struct proctor {
	struct rpc_client *calls;
	/* A connection of its own, so that answers do not queue behind events; NULL: not subscribed */
	struct rpc_client *feed;
	char *path;
	uint64_t timeout_ns;
	json_t *event; /* the last one that was returned */
	char *data;    /* the text of its data */
	struct err err;
};

uint64_t lib_handle_deadline(const struct proctor *p);

/* The parameters of a call. Absent ones are not sent. */
struct args {
	struct buf text;
	struct json j;
};

void args_begin(struct args *a);
void args_str(struct args *a, const char *key, const char *value);
void args_num(struct args *a, const char *key, uint64_t value); /* 0: absent */
void args_json(struct args *a, const char *key, const char *json);
/* Calls the method and frees the parameters. The caller owns the result; errors are reported by
 * proctor_error(). */
int args_call(struct args *take_a, struct proctor *p, const char *method, json_t **ret_result)
	must_check;
