/* SPDX-License-Identifier: MIT */
#include "serve/bus_feed.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/mem.h"
#include "rpc/rpc_message.h"

struct bus_feed {
	struct bus *bus;
	struct bus_cursor cursor;
	struct bus_filter filter;
};

static void put_lag(struct json *j, uint64_t lost, uint64_t next_seq)
{
	rpc_message_begin_notification(j, "bus.lagged");
	json_begin_object(j);
	json_key(j, "lost");
	lost == BUS_LOST_UNKNOWN ? json_nil(j) : json_u64(j, lost);
	json_put_u64(j, "next_seq", next_seq);
	json_end_object(j);
	rpc_message_end(j);
}

static void put_event(struct json *j, const struct bus_event *e)
{
	rpc_message_begin_notification(j, "bus.event");
	json_begin_object(j);
	json_put_u64(j, "seq", e->seq);
	json_key(j, "timestamp");
	json_fixed(j, e->wall_ns / NS_PER_US, 6);
	json_put_str(j, "event", e->name);
	json_put_str(j, "job_id", e->job_id[0] ? e->job_id : NULL);
	json_key(j, "data");
	json_raw(j, e->text, strlen(e->text));
	json_end_object(j);
	rpc_message_end(j);
}

static bool next(void *self, struct json *out)
{
	struct bus_feed *f = self;
	struct bus_event e;
	uint64_t lost;
	bool has_event = bus_next(f->bus, &f->cursor, &f->filter, &e, &lost);

	if (lost) {
		put_lag(out, lost, f->cursor.seq - has_event);
		out->need_comma = false;
	}
	if (has_event)
		put_event(out, &e);
	return has_event || lost;
}

struct rpc_server_feed bus_feed_new(struct bus *bus, struct bus_cursor from,
                                    const struct bus_filter *filter)
{
	struct bus_feed *f = xcalloc(1, sizeof *f);

	*f = (struct bus_feed){ .bus = bus, .cursor = from, .filter = *filter };
	return (struct rpc_server_feed){ .self = f, .next = next, .close = free };
}
