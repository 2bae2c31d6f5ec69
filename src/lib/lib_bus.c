/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "lib/lib_handle.h"

/* A new subscription replaces the old one together with its unread events. */
EXPORT int proctor_subscribe(struct proctor *p, const char *filter, const char *job_id,
                             uint64_t since_seq)
{
	struct rpc_client *feed = NULL, *calls;
	struct args a;
	int r;

	if (!p)
		return -ENOTCONN;
	p->err = (struct err){ 0 };
	r = rpc_client_open(p->path, lib_handle_deadline(p), &feed, &p->err);
	if (r < 0)
		return r;
	rpc_client_close(p->feed);
	p->feed = feed;
	args_begin(&a);
	args_str(&a, "filter", filter && *filter ? filter : NULL);
	args_str(&a, "job_id", job_id);
	args_num(&a, "since_seq", since_seq);
	calls = p->calls;
	p->calls = feed;
	r = args_call(&a, p, "bus.subscribe", NULL);
	p->calls = calls;
	return r;
}

static const char *text(const json_t *from, const char *key)
{
	const char *v = json_string_value(json_object_get(from, key));

	return v ? v : "";
}

/* The strings of *ret belong to the handle, until the next event. */
static void fill_event(struct proctor *p, json_t *take_message, struct proctor_event *ret)
{
	const json_t *params = json_object_get(take_message, "params");
	const json_t *data = json_object_get(params, "data");
	const char *name = text(params, "event");

	json_decref(p->event);
	p->event = take_message;
	free(p->data);
	p->data = data ? json_dumps(data, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
	*ret = (struct proctor_event){
		.seq = (uint64_t)json_integer_value(json_object_get(params, "seq")),
		.timestamp = json_number_value(json_object_get(params, "timestamp")),
		.name = *name ? name : text(take_message, "method"),
		.job_id = text(params, "job_id"),
		.data = p->data ? p->data : "{}",
		.lost = (uint64_t)json_integer_value(json_object_get(params, "lost")),
	};
}

EXPORT int proctor_next(struct proctor *p, int timeout_ms, struct proctor_event *ret)
{
	uint64_t deadline_ns = timeout_ms < 0 ? UINT64_MAX
	                                      : clock_mono_ns() + (uint64_t)timeout_ms * NS_PER_MS;
	json_t *message = NULL;
	int r;

	if (!p || !p->feed)
		return -ENOTCONN;
	p->err = (struct err){ 0 };
	r = rpc_client_next(p->feed, deadline_ns, &message, &p->err);
	if (r == -ETIMEDOUT) {
		p->err = (struct err){ 0 }; /* a timeout is not an error */
		return 0;
	}
	if (r < 0)
		return r;
	fill_event(p, message, ret);
	return 1;
}

EXPORT int proctor_fd(const struct proctor *p)
{
	return p && p->feed ? rpc_client_fd(p->feed) : -ENOTCONN;
}

EXPORT int proctor_publish(struct proctor *p, const char *name, const char *data)
{
	struct args a;

	if (!p)
		return -ENOTCONN;
	args_begin(&a);
	args_str(&a, "event", name);
	args_json(&a, "data", data);
	return args_call(&a, p, "bus.publish", NULL);
}
