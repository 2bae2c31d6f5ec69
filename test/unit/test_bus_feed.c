/* SPDX-License-Identifier: MIT */
#include "serve/bus_feed.h"

#include "check.h"
#include "model/sample.h"
#include "serve/event_publisher.h"

static const struct bus_filter everything;

static void says(struct rpc_server_feed *f, const char *line)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	assert_true(f->next(f->self, &j));
	assert_string_equal(out.at, line);
	buf_done(&out);
}

static void is_silent(struct rpc_server_feed *f)
{
	struct buf out = { 0 };
	struct json j = { .out = &out };

	assert_false(f->next(f->self, &j));
	assert_int_equal(out.len, 0);
}

static void test_bus_feed__tells_each_event_as_a_notification(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(0, 1);
	struct rpc_server_feed f = bus_feed_new(bus, bus_end(bus), &everything);

	(void)state;
	is_silent(&f);
	bus_publish(bus, &(struct bus_event){ .name = "sheet.started",
	                                      .job_id = "train-1",
	                                      .text = "{\"sheet_num\":2}",
	                                      .wall_ns = UINT64_C(1794752587412031000) });
	bus_publish(bus, &(struct bus_event){ .name = "x", .job_id = "", .text = "{}" });
	says(&f,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"bus.event\",\"params\":{\"seq\":1,\"timestamp\":"
	     "1794752587.412031,\"event\":\"sheet.started\",\"job_id\":\"train-1\",\"data\":"
	     "{\"sheet_num\":2}}}\n");
	says(&f,
	     "{\"jsonrpc\":\"2.0\",\"method\":\"bus.event\",\"params\":{\"seq\":2,\"timestamp\":0.0,"
	     "\"event\":\"x\",\"job_id\":null,\"data\":{}}}\n");
	is_silent(&f);
	f.close(f.self);
}

static void test_bus_feed__tells_what_it_missed_before_what_it_has(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(0, 1);
	struct rpc_server_feed all = bus_feed_new(bus, bus_end(bus), &everything);
	struct rpc_server_feed none = bus_feed_new(bus, bus_end(bus),
	                                           &(struct bus_filter){ .prefix = "job." });
	char text[BUS_TEXT_MAX];
	struct buf out = { 0 };
	struct json j = { .out = &out };

	(void)state;
	memset(text, ' ', sizeof text);
	memcpy(text + sizeof text - 3, "{}", 3);
	for (int i = 0; i < 5; i++) /* there is room for one and a half */
		bus_publish(bus, &(struct bus_event){ .name = "x", .job_id = "", .text = text });
	assert_true(all.next(all.self, &j));
	assert_non_null(strstr(out.at, "\"method\":\"bus.lagged\",\"params\":{\"lost\":4,"
	                               "\"next_seq\":5}}\n{\"jsonrpc\""));
	says(&none, "{\"jsonrpc\":\"2.0\",\"method\":\"bus.lagged\",\"params\":{\"lost\":4,"
	            "\"next_seq\":6}}\n");
	is_silent(&none);
	buf_done(&out);
	all.close(all.self);
	none.close(none.self);
}

static void test_announce__names_events_and_knows_whose_they_are(void **state)
{
	static const struct {
		struct event event;
		const char *name, *job_id;
		uid_t uid;
	} cases[] = {
		{ { .kind = EVENT_SPAWN, .id = { 7, 1 }, .uid = 33, .job = -1 },
		  "process.spawn",
		  "",
		  33 },
		{ { .kind = EVENT_EXIT, .id = { 7, 1 }, .uid = 33, .job = 0 },
		  "process.exit",
		  "a-1",
		  1000 },
		{ { .kind = EVENT_EXEC, .id = { 7, 1 }, .job = 0 }, "process.exec", "a-1", 1000 },
		{ { .kind = EVENT_MARK, .job = 0 }, "job.mark", "a-1", 1000 },
		{ { .kind = EVENT_LOSS, .job = -1 }, "monitor.loss", "", 0 },
	};
	cleanup(bus_freep) struct bus *bus = bus_new(0, 1);
	struct bus_cursor c = bus_end(bus);
	struct snapshot snap = { 0 };
	struct buf scratch = { 0 };
	struct bus_event e;
	uint64_t lost;

	(void)state;
	*vec_push(&snap.jobs, 1) = (struct job){ .id = "a-1", .uid = 1000 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		*vec_push(&snap.events, 10) = cases[i].event;
	*vec_push(&snap.events, 10) = (struct event){ .kind = EVENT_TOTALS, .job = -1 };
	event_publisher_events(bus, &snap, &scratch);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(bus_next(bus, &c, &everything, &e, &lost));
		assert_string_equal(e.name, cases[i].name);
		assert_string_equal(e.job_id, cases[i].job_id);
		assert_int_equal(e.uid, cases[i].uid);
		assert_int_equal(e.text[0], '{');
	}
	assert_false(bus_next(bus, &c, &everything, &e, &lost));
	buf_done(&scratch);
	snapshot_done(&snap);
}

RUN_TESTS(TEST(test_bus_feed__tells_each_event_as_a_notification),
          TEST(test_bus_feed__tells_what_it_missed_before_what_it_has),
          TEST(test_announce__names_events_and_knows_whose_they_are))
