/* SPDX-License-Identifier: MIT */
#include "serve/event_publisher.h"

#include "check.h"
#include "model/sample.h"

static void test_event_publisher__names_events_and_finds_their_owners(void **state)
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
		{ { .kind = EVENT_LIMIT, .job = 0 }, "job.limit", "a-1", 1000 },
		{ { .kind = EVENT_LOSS, .job = -1 }, "monitor.loss", "", 0 },
		{ { .kind = EVENT_GPU, .job = 0 }, "monitor.gpu", "a-1", 1000 },
	};
	cleanup(bus_freep) struct bus *bus = bus_new(0, 1);
	struct bus_cursor c = bus_end(bus, 0);
	struct snapshot snap = { 0 };
	struct buf scratch = { 0 };
	struct bus_event e;
	uint64_t lost;

	(void)state;
	*vec_push(&snap.jobs, 1) = (struct job){ .id = "a-1", .uid = 1000 };
	for (size_t i = 0; i < ARRAY_LEN(cases); i++)
		*vec_push(&snap.events, 10) = cases[i].event;
	*vec_push(&snap.events, 10) = (struct event){ .kind = EVENT_TOTALS, .job = -1 };
	*vec_push(&snap.events, 10) = (struct event){ .kind = EVENT_MARK, .job = 0 };
	event_publisher_publish(bus, &snap, &scratch);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		assert_true(bus_next(bus, &c, &(struct bus_filter){ 0 }, &e, &lost));
		assert_string_equal(e.name, cases[i].name);
		assert_string_equal(e.job_id, cases[i].job_id);
		assert_int_equal(e.uid, cases[i].uid);
		assert_int_equal(e.text[0], '{');
	}
	assert_false(bus_next(bus, &c, &(struct bus_filter){ 0 }, &e, &lost));
	buf_done(&scratch);
	snapshot_done(&snap);
}

RUN_TESTS(TEST(test_event_publisher__names_events_and_finds_their_owners))
