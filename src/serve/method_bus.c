/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"

/* Only we publish events with these names. */
static const char *const reserved[] = {
	"process.", "monitor.", "sheet.", "job.", "daemon.", "bus."
};

#define NAME_CHARACTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/-"

static_assert(BUS_JOB_MAX == JOB_ID_MAX, "a filter has room for any id");

/* How events are written, and that some were lost before the one of `next_seq`. */
struct bus_form {
	void (*event)(struct json *j, const struct bus_event *e);
	void (*lag)(struct json *j, uint64_t lost, uint64_t next_seq);
};

/* The bus as the feed of a connection. */
struct bus_feed {
	struct bus *bus;
	struct bus_cursor cursor;
	struct bus_filter filter;
	const struct bus_form *form;
};

static void write_lag(struct json *j, uint64_t lost, uint64_t next_seq)
{
	rpc_message_begin_notification(j, "bus.lagged");
	json_begin_object(j);
	json_key(j, "lost");
	lost == BUS_LOST_UNKNOWN ? json_nil(j) : json_u64(j, lost);
	json_put_u64(j, "next_seq", next_seq);
	json_end_object(j);
	rpc_message_end(j);
}

/* The user of the job that it concerns, if any, and the user that caused it: of a process, or of a
 * client that published it. */
static void put_users(struct json *j, const struct bus_event *e)
{
	if (*e->job_id)
		json_put_u64(j, "job_uid", e->uid);
	json_put_u64(j, "uid", e->process_uid);
}

static void write_event(struct json *j, const struct bus_event *e)
{
	rpc_message_begin_notification(j, "bus.event");
	json_begin_object(j);
	json_put_u64(j, "seq", e->seq);
	json_put_fixed(j, "timestamp", e->wall_ns / NS_PER_US, 6);
	json_put_str(j, "event", e->name);
	json_put_text(j, "job_id", e->job_id);
	put_users(j, e);
	json_key(j, "data");
	json_raw(j, e->text, strlen(e->text));
	json_end_object(j);
	rpc_message_end(j);
}

/* Whose events it may see; 0: all. */
static uid_t bus_reader(const struct rpc_server_peer *peer)
{
	return methods_trusts(peer) ? 0 : peer->uid;
}

static bool next_event(void *self, struct json *out)
{
	struct bus_feed *f = self;
	struct bus_event e;
	uint64_t lost;
	bool has_event = bus_next(f->bus, &f->cursor, &f->filter, &e, &lost);

	if (lost) {
		f->form->lag(out, lost, f->cursor.seq - has_event);
		out->need_comma = false;
	}
	if (has_event)
		f->form->event(out, &e);
	return has_event || lost;
}

/* From the end on. */
static struct bus_feed *feed_on(struct methods *m, const struct rpc_server_peer *peer,
                                const struct bus_filter *filter, const struct bus_form *form)
{
	struct bus_feed *f = xcalloc(1, sizeof *f);
	const struct rpc_server_feed feed = { .self = f, .next = next_event, .close = free };

	methods_begin_bus(m);
	*f = (struct bus_feed){ m->bus, bus_end(m->bus, bus_reader(peer)), *filter, form };
	rpc_session_set_feed(peer->session, &feed);
	return f;
}

static int copy_text_param(const json_t *params, const char *name, char *to, size_t size,
                           struct err *err)
{
	const char *text = NULL;
	int r = rpc_params_text(params, name, size - 1, &text, err);

	if (r == 0 && text)
		snprintf(to, size, "%s", text);
	return r;
}

/* One job, the events of one user, or both. */
static int filter_params(struct methods *m, const struct rpc_server_peer *peer,
                         const json_t *params, struct bus_filter *ret, struct err *err)
{
	uint64_t user = 0;

	if (methods_name_job(m, peer, params, &ret->job_uid, ret->job_id, err) < 0 ||
	    rpc_params_u64(params, "uid", 0, UINT32_MAX, &user, err) < 0)
		return -err->code;
	ret->of_one_user = rpc_params_has(params, "uid");
	ret->user = (uid_t)user;
	return 0;
}

/* ---- daemon.monitor.stream: the bus as the reference's clients read it ------------------------ */

static void write_monitor_event(struct json *j, const struct bus_event *e)
{
	rpc_message_begin_notification(j, "monitor.event");
	json_begin_object(j);
	json_put_str(j, "job_id", e->job_id);
	json_key(j, "sheet_num");
	e->sheet ? json_u64(j, e->sheet) : json_nil(j);
	json_put_str(j, "event", e->name);
	json_key(j, "data");
	json_raw(j, e->text, strlen(e->text));
	json_put_fixed(j, "timestamp", e->wall_ns / NS_PER_US, 6);
	put_users(j, e);
	json_end_object(j);
	rpc_message_end(j);
}

/* A loss is an event like the others: these clients know no other notification. */
static void write_monitor_lag(struct json *j, uint64_t lost, uint64_t next_seq)
{
	char text[64];

	(void)next_seq;
	snprintf(text, sizeof text, "{\"lost\":%" PRIu64 "}", lost);
	write_monitor_event(j, &(struct bus_event){ .name = "monitor.lagged",
	                                            .job_id = "",
	                                            .text = text,
	                                            .wall_ns = clock_wall_ns() });
}

METHOD(method_monitor_stream)
{
	static const struct bus_form form = { write_monitor_event, write_monitor_lag };
	struct methods *m = self;
	struct bus_filter filter = { 0 };

	(void)result;
	if (filter_params(m, peer, params, &filter, err) < 0)
		return -err->code;
	(void)feed_on(m, peer, &filter, &form);
	return RPC_SERVER_STREAM;
}

/* ---- bus.subscribe, bus.publish -------------------------------------------------------------- */

static void write_seq(struct json *result, const char *key, uint64_t seq)
{
	json_begin_object(result);
	json_put_u64(result, key, seq);
	json_end_object(result);
}

METHOD(method_bus_subscribe)
{
	static const struct bus_form form = { write_event, write_lag };
	struct methods *m = self;
	struct bus_filter filter = { 0 };
	struct bus_feed *f;
	uint64_t since = 0;

	if (copy_text_param(params, "filter", filter.prefix, sizeof filter.prefix, err) < 0 ||
	    filter_params(m, peer, params, &filter, err) < 0 ||
	    rpc_params_u64(params, "since_seq", 0, UINT64_MAX >> 1, &since, err) < 0)
		return -err->code;
	f = feed_on(m, peer, &filter, &form);
	if (since)
		f->cursor = bus_at(m->bus, bus_reader(peer), since);
	else if (rpc_params_has(params, "since_seq"))
		f->cursor = bus_begin(m->bus, bus_reader(peer));
	write_seq(result, "next_seq", bus_next_seq(m->bus));
	return 0;
}

static int check_name(const char *name, struct err *err)
{
	if (!name[0])
		return err_set(err, EINVAL, "event is needed");
	if (strspn(name, NAME_CHARACTERS) != strlen(name))
		return err_set(err, EINVAL, "event: letters, digits and ._:/- make a name");
	for (size_t i = 0; i < ARRAY_LEN(reserved); i++)
		if (strncmp(name, reserved[i], strlen(reserved[i])) == 0)
			return err_set(err, EACCES,
			               "only proctor itself publishes events named %s…",
			               reserved[i]);
	return 0;
}

METHOD(method_bus_publish)
{
	struct methods *m = self;
	char name[BUS_NAME_MAX] = "";
	cleanup(freep) char *data = NULL;
	const struct job *job;
	job_handle at;

	if (copy_text_param(params, "event", name, sizeof name, err) < 0 ||
	    methods_find_job(m, peer, params, &at, err) < 0 ||
	    rpc_params_object_text(params, "data", SERVE_DATA_MAX, &data, err) < 0 ||
	    check_name(name, err) < 0 ||
	    methods_check_publishing(m, peer, data ? strlen(data) : 0, err) < 0)
		return -err->code;
	methods_begin_bus(m);
	job = at < 0 ? NULL : methods_job(m, at);
	methods_publish(m, &(struct bus_event){ .name = name,
	                                        .job_id = job ? job->id : "",
	                                        .text = data ? data : "{}",
	                                        .uid = job ? job->uid : peer->uid,
	                                        .process_uid = peer->uid });
	write_seq(result, "seq", bus_next_seq(m->bus) - 1);
	return 0;
}
