/* SPDX-License-Identifier: MIT */
#include "engine/latest_snapshot.h"
#include "engine/pipeline.h"

#include "check.h"

/* Writes down which were called, in order. */
struct log {
	char text[64];
	const struct snapshot *kept;
	bool has_room;
};

static void note(struct log *log, char what)
{
	size_t n = strlen(log->text);

	log->text[n] = what;
}

static void first_stage(void *self, struct snapshot *snap)
{
	note(self, '1');
	snap->seq++;
}

static void second_stage(void *self, struct snapshot *snap)
{
	note(self, '2');
	snap->seq *= 10;
}

static void first_sink(void *self, const struct snapshot *snap)
{
	struct log *log = self;

	note(self, 'a');
	log->kept = snapshot_ref(snap);
}

static void second_sink(void *self, const struct snapshot *snap)
{
	(void)snap;
	note(self, 'b');
}

static bool has_room(void *self)
{
	return ((struct log *)self)->has_room;
}

static struct pipeline make(struct log *log)
{
	return (struct pipeline){
		.stages = { { "first", ON_BOTH, first_stage, log },
		            { "second", ON_TICKS, second_stage, log } },
		.sinks = { { "first", ON_TICKS, first_sink, .self = log },
		           { "second", ON_BOTH, second_sink, has_room, .self = log } },
	};
}

static void run(const struct pipeline *p, struct snapshot_pool *pool, bool events_only)
{
	struct snapshot *snap = snapshot_pool_take(pool);
	const struct snapshot *frozen;

	snapshot_reset(snap);
	snap->events_only = events_only;
	frozen = pipeline_complete(p, snap);
	pipeline_hand_out(p, frozen);
	snapshot_unref(frozen);
}

static void test_pipeline__runs_stages_in_order_then_sinks(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct log log = { 0 };
	struct pipeline p = make(&log);

	(void)state;
	run(&p, pool, false);
	assert_string_equal(log.text, "12ab");
	assert_int_equal(log.kept->seq, 10); /* the sink's reference keeps it */
	snapshot_unref(log.kept);
	snapshot_pool_free(pool);
}

static void test_pipeline__a_flush_passes_only_those_that_want_it(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct log log = { 0 };
	struct pipeline p = make(&log);

	(void)state;
	run(&p, pool, true);
	assert_string_equal(log.text, "1b");
	assert_null(log.kept);
	snapshot_pool_free(pool);
}

static void test_pipeline__has_room_when_all_sinks_have(void **state)
{
	struct log log = { .has_room = true };
	struct pipeline p = make(&log);

	(void)state;
	assert_true(pipeline_has_room(&p));
	log.has_room = false;
	assert_false(pipeline_has_room(&p));
}

static void take_outcome(void *self, const struct snapshot *snap, bool is_stored)
{
	(void)snap;
	note(self, is_stored ? 'S' : 'N');
}

static void test_pipeline__reports_outcomes_to_the_sinks_that_want_them(void **state)
{
	struct log log = { 0 };
	struct pipeline p = make(&log);
	const struct snapshot snap = { 0 };

	(void)state;
	assert_false(pipeline_wants_outcomes(&p));
	p.sinks[1].outcome = take_outcome;
	assert_true(pipeline_wants_outcomes(&p));
	pipeline_report_outcome(&p, &snap, true);
	pipeline_report_outcome(&p, &snap, false);
	assert_string_equal(log.text, "SN");
}

static void test_latest_snapshot__is_that_of_the_last_tick(void **state)
{
	struct snapshot_pool *pool = snapshot_pool_new();
	struct latest_snapshot latest = { 0 };
	const struct pipeline p = { .sinks = { { "latest", ON_TICKS, latest_snapshot_take,
		                                 .self = &latest } } };
	const struct snapshot *first;

	(void)state;
	run(&p, pool, true);
	assert_null(latest.snap);
	run(&p, pool, false);
	first = latest.snap;
	assert_non_null(first);
	run(&p, pool, true);
	assert_ptr_equal(latest.snap, first);
	run(&p, pool, false);
	assert_ptr_not_equal(latest.snap, first);
	latest_snapshot_done(&latest);
	snapshot_pool_free(pool);
}

RUN_TESTS(TEST(test_pipeline__runs_stages_in_order_then_sinks),
          TEST(test_pipeline__a_flush_passes_only_those_that_want_it),
          TEST(test_pipeline__has_room_when_all_sinks_have),
          TEST(test_pipeline__reports_outcomes_to_the_sinks_that_want_them),
          TEST(test_latest_snapshot__is_that_of_the_last_tick))
