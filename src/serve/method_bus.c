/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "rpc/rpc_params.h"
#include "serve/bus_feed.h"
#include "serve/methods.h"

/* Names that only we give. */
static const char *const ours[] = { "process.", "monitor.", "sheet.", "job.", "daemon.", "bus." };

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

static int text_into(const json_t *params, const char *name, char *to, size_t size, struct err *err)
{
	const char *text = NULL;
	int r = rpc_params_text(params, name, size - 1, &text, err);

	if (r == 0 && text)
		snprintf(to, size, "%s", text);
	return r;
}

METHOD(method_bus_subscribe)
{
	struct methods *m = self;
	struct bus_filter filter = { .uid = methods_trusts(peer) ? 0 : peer->uid };
	struct bus_cursor from;
	struct rpc_server_feed feed;
	uint64_t since = 0;

	if (text_into(params, "filter", filter.prefix, sizeof filter.prefix, err) < 0 ||
	    text_into(params, "job_id", filter.job_id, sizeof filter.job_id, err) < 0 ||
	    rpc_params_u64(params, "since_seq", 0, UINT64_MAX >> 1, &since, err) < 0)
		return -err->code;
	methods_begin_bus(m);
	from = since                                 ? bus_at(m->bus, since)
	       : rpc_params_has(params, "since_seq") ? bus_begin(m->bus)
	                                             : bus_end(m->bus);
	feed = bus_feed_new(m->bus, from, &filter);
	rpc_server_feed(peer, &feed);
	json_begin_object(result);
	json_put_u64(result, "next_seq", bus_next_seq(m->bus));
	json_end_object(result);
	return 0;
}

static int check_name(const char *name, struct err *err)
{
	if (strspn(name, LETTERS) != strlen(name))
		return err_set(err, EINVAL, "event: letters, digits and ._:/- make a name");
	for (size_t i = 0; i < ARRAY_LEN(ours); i++)
		if (strncmp(name, ours[i], strlen(ours[i])) == 0)
			return err_set(err, EACCES, "events named %s… are told by proctor alone",
			               ours[i]);
	return 0;
}

METHOD(method_bus_publish)
{
	struct methods *m = self;
	char name[BUS_NAME_MAX] = "";
	cleanup(freep) char *data = NULL;
	const struct job *job;
	job_handle at;

	if (text_into(params, "event", name, sizeof name, err) < 0 ||
	    methods_find_any_job(m, peer, params, &at, err) < 0 ||
	    rpc_params_object_text(params, "data", SERVE_DATA_MAX, &data, err) < 0)
		return -err->code;
	if (!name[0])
		return err_set(err, EINVAL, "event is needed");
	if (check_name(name, err) < 0)
		return -err->code;
	methods_begin_bus(m);
	job = at < 0 ? NULL : methods_job(m, at);
	methods_publish(m, name, job ? job->id : "", job ? job->uid : peer->uid,
	                data ? data : "{}");
	json_begin_object(result);
	json_put_u64(result, "seq", bus_next_seq(m->bus) - 1);
	json_end_object(result);
	return 0;
}
