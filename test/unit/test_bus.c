/* SPDX-License-Identifier: MIT */
#include "engine/bus.h"

#include <stdio.h>

#include "base/mem.h"
#include "check.h"

#define SMALL (2 * BUS_TEXT_MAX)

static const struct bus_filter everything;

static uint64_t publish(struct bus *bus, const char *name, const char *job_id, uid_t uid)
{
	struct bus_event e = { .name = name, .job_id = job_id, .text = "{}", .uid = uid };

	return bus_publish(bus, &e);
}

/* Texts of many lengths, each with its number in it. */
static void publish_many(struct bus *bus, int n)
{
	for (int i = 0; i < n; i++) {
		char text[600];
		struct bus_event e = { .name = "process.spawn", .job_id = "", .text = text };

		snprintf(text, sizeof text, "%llu %*d", (unsigned long long)bus_next_seq(bus),
		         (i * 37) % 500 + 1, i);
		assert_true(bus_publish(bus, &e));
	}
}

static void test_bus__hands_on_in_order_what_was_published(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_cursor c = bus_end(bus, 0);
	struct bus_event e;
	uint64_t lost;

	(void)state;
	assert_false(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(publish(bus, "job.started", "a-1", 7), 1);
	assert_int_equal(publish(bus, "job.ended", "", 0), 2);
	assert_true(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(e.seq, 1);
	assert_string_equal(e.name, "job.started");
	assert_string_equal(e.job_id, "a-1");
	assert_string_equal(e.text, "{}");
	assert_int_equal(e.uid, 7);
	assert_true(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(e.seq, 2);
	assert_false(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(lost, 0);
}

static void test_bus__lets_through_what_the_filter_names(void **state)
{
	static const struct {
		struct bus_filter filter;
		uid_t uid;
		uint64_t seen; /* one bit for each of the events below */
	} cases[] = {
		{ { .prefix = "" }, 0, 0xf },
		{ { .prefix = "sheet." }, 0, 0x3 },
		{ { .prefix = "sheet.started" }, 0, 0x1 },
		{ { .prefix = "sheet.started." }, 0, 0x0 },
		{ { .job_id = "a-1" }, 0, 0x1 }, /* two users have one */
		{ { .job_id = "a-1", .job_uid = 1000 }, 0, 0x4 },
		{ { .job_id = "a-1", .job_uid = 1001 }, 0, 0x0 },
		{ { .job_id = "a" }, 0, 0x0 },
		{ { .prefix = "" }, 1000, 0x6 },
		{ { .prefix = "job", .job_id = "a-1", .job_uid = 1000 }, 1000, 0x4 },
	};
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_event e;
	uint64_t lost;

	(void)state;
	publish(bus, "sheet.started", "a-1", 0);
	publish(bus, "sheet.failed", "b-1", 1000);
	publish(bus, "job.ended", "a-1", 1000);
	publish(bus, "job.ended", "", 1001);
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct bus_cursor c = bus_at(bus, cases[i].uid, 1);
		uint64_t seen = 0;

		while (bus_next(bus, &c, &cases[i].filter, &e, &lost))
			seen |= UINT64_C(1) << (e.seq - 1);
		assert_int_equal(seen, cases[i].seen);
	}
}

static void test_bus__reports_how_much_an_overtaken_cursor_lost(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_cursor slow = bus_end(bus, 0);
	struct bus_event e;
	uint64_t lost, lost_in_all = 0, read = 0, last = 0;

	(void)state;
	for (int turn = 0; turn < 20; turn++) {
		publish_many(bus, 997);
		for (int i = 0; i < 50 && bus_next(bus, &slow, &everything, &e, &lost); i++) {
			assert_int_equal(strtoull(e.text, NULL, 10),
			                 e.seq); /* whole, and its own */
			assert_int_equal(e.seq, last + lost + 1);
			last = e.seq;
			lost_in_all += lost;
			read++;
		}
	}
	while (bus_next(bus, &slow, &everything, &e, &lost))
		read++;
	assert_true(lost_in_all > 0);
	assert_int_equal(read + lost_in_all, bus_next_seq(bus) - 1);
}

/* A flood of one user costs another neither its events nor a word, and the flooded user learns what it lost. */
static void test_bus__displaces_only_events_of_the_same_user(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_cursor quiet = bus_end(bus, 1000), loud = bus_end(bus, 1001), all;
	struct bus_event e;
	uint64_t lost, lost_in_all = 0, read = 0;

	(void)state;
	publish(bus, "job.started", "a-1", 1000);
	for (int i = 0; i < 10000; i++)
		publish(bus, "app.noise", "", 1001);
	publish(bus, "job.ended", "a-1", 1000);
	assert_true(bus_next(bus, &quiet, &everything, &e, &lost));
	assert_int_equal(e.seq, 1);
	assert_int_equal(lost, 0);
	assert_true(bus_next(bus, &quiet, &everything, &e, &lost));
	assert_int_equal(e.seq, 10002);
	assert_int_equal(lost, 0);
	assert_false(bus_next(bus, &quiet, &everything, &e, &lost));
	assert_int_equal(lost, 0);
	while (bus_next(bus, &loud, &everything, &e, &lost)) {
		lost_in_all += lost;
		read++;
	}
	assert_true(lost_in_all > 0);
	assert_int_equal(read + lost_in_all, 10000);
	all = bus_begin(bus, 0);
	assert_true(bus_next(bus, &all, &everything, &e, &lost));
	assert_int_equal(e.seq, 1);
	assert_int_equal(lost, 0);
	assert_true(bus_next(bus, &all, &everything, &e, &lost));
	assert_int_equal(lost, lost_in_all);
	quiet = bus_at(bus, 1000, 2); /* where it stopped reading */
	assert_true(bus_next(bus, &quiet, &everything, &e, &lost));
	assert_int_equal(lost, 0);
	loud = bus_at(bus, 1001, 2);
	assert_true(bus_next(bus, &loud, &everything, &e, &lost));
	assert_true(lost == BUS_LOST_UNKNOWN);
}

/* Many users fill all that there is: one with less than its part keeps it. */
static void test_bus__shares_what_there_is_by_user(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_cursor quiet = bus_end(bus, 999);
	unsigned kept[3 * BUS_ROOMS] = { 0 };
	struct bus_event e;
	uint64_t lost;

	(void)state;
	publish(bus, "job.started", "a-1", 999);
	for (uid_t uid = 0; uid < 3 * BUS_ROOMS; uid++)
		for (int i = 0; i < 3000; i++)
			publish(bus, "app.noise", "", 1000 + uid);
	assert_true(bus_next(bus, &quiet, &everything, &e, &lost));
	assert_int_equal(lost, 0);
	for (struct bus_cursor c = bus_begin(bus, 0); bus_next(bus, &c, &everything, &e, &lost);)
		kept[e.uid == 999 ? 0 : e.uid - 1000]++;
	for (uid_t uid = 0; uid < 3 * BUS_ROOMS; uid++)
		assert_true(kept[uid] > SMALL * BUS_ROOMS / (3 * BUS_ROOMS) / 200);
}

static void test_bus__resumes_at_a_number_that_is_still_in_the_ring(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	struct bus_cursor c;
	struct bus_event e;
	uint64_t lost, oldest;

	(void)state;
	publish_many(bus, 5000);
	c = bus_at(bus, 0, 4990);
	assert_true(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(e.seq, 4990);
	assert_int_equal(lost, 0);
	c = bus_at(bus, 0, 1); /* long gone */
	assert_true(bus_next(bus, &c, &everything, &e, &lost));
	oldest = e.seq;
	assert_true(oldest > 1 && oldest < 5000);
	assert_int_equal(lost, oldest - 1);
	c = bus_begin(bus, 0); /* whatever is left, and a reader of that lost nothing */
	assert_true(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(e.seq, oldest);
	assert_int_equal(lost, 0);
	c = bus_at(bus, 0, bus_next_seq(bus)); /* it has read all there is */
	assert_false(bus_next(bus, &c, &everything, &e, &lost));
	assert_int_equal(lost, 0);
}

static void test_bus__reports_an_unknown_loss_for_a_number_of_another_ring(void **state)
{
	static const uint64_t numbers[] = { 1, 999, 1011 };
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1000);
	struct bus_event e;
	uint64_t lost;

	(void)state;
	publish_many(bus, 10);
	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		struct bus_cursor c = bus_at(bus, 0, numbers[i]);

		assert_true(bus_next(bus, &c, &everything, &e, &lost));
		assert_int_equal(e.seq, 1000);
		assert_true(lost == BUS_LOST_UNKNOWN);
		assert_true(bus_next(bus, &c, &everything, &e, &lost));
		assert_int_equal(lost, 0);
	}
}

static void test_bus__refuses_what_is_too_long(void **state)
{
	cleanup(bus_freep) struct bus *bus = bus_new(SMALL, 1);
	char *text = xcalloc(1, BUS_TEXT_MAX + 1);
	struct bus_event e = { .name = "job.ended", .job_id = "", .text = text };

	(void)state;
	memset(text, 'x', BUS_TEXT_MAX);
	assert_int_equal(bus_publish(bus, &e), 0);
	text[BUS_TEXT_MAX - 1] = '\0';
	assert_int_equal(bus_publish(bus, &e), 1);
	free(text);
}

RUN_TESTS(TEST(test_bus__hands_on_in_order_what_was_published),
          TEST(test_bus__lets_through_what_the_filter_names),
          TEST(test_bus__reports_how_much_an_overtaken_cursor_lost),
          TEST(test_bus__displaces_only_events_of_the_same_user),
          TEST(test_bus__shares_what_there_is_by_user),
          TEST(test_bus__resumes_at_a_number_that_is_still_in_the_ring),
          TEST(test_bus__reports_an_unknown_loss_for_a_number_of_another_ring),
          TEST(test_bus__refuses_what_is_too_long))
