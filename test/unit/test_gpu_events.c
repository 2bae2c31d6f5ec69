/* SPDX-License-Identifier: MIT */
/* What happens to GPUs becomes events: few enough to be read, and none is lost. */
#include "probe/gpu/gpu_events.h"

#include <stdio.h>

#include "base/clock.h"
#include "check.h"

static struct gpu_events events;
static struct sample sample;

static struct gpu_sample *gpu(void)
{
	static struct gpu_sample one;

	one = (struct gpu_sample){ .index = 3, .name = "A100" };
	return &one;
}

static void setup(void)
{
	events = (struct gpu_events){ 0 };
	sample_reset(&sample);
	sample.mono_ns = 100 * NS_PER_S;
}

static void feed_throttle(unsigned seconds, uint32_t throttle)
{
	struct gpu_sample *g = gpu();

	sample.mono_ns += seconds * NS_PER_S;
	g->health.knows_throttle = true;
	g->health.throttle = throttle;
	gpu_events_feed(&events, g, &sample);
}

static void feed_ecc(uint64_t corrected, uint64_t uncorrected)
{
	struct gpu_sample *g = gpu();

	sample.mono_ns += NS_PER_S;
	g->health.knows_corrected = g->health.knows_uncorrected = true;
	g->health.ecc_corrected = corrected;
	g->health.ecc_uncorrected = uncorrected;
	gpu_events_feed(&events, g, &sample);
}

static void assert_event(size_t i, const char *name, int64_t count, const char *text)
{
	const struct event *e = &sample.events.at[i];

	assert_true(i < sample.events.len);
	assert_int_equal(e->kind, EVENT_GPU);
	assert_int_equal(e->gpu, 3);
	assert_int_equal(e->count, count);
	assert_int_equal(e->job, -1);
	assert_int_equal(e->name.len, strlen(name));
	assert_memory_equal(sample.text.at + e->name.at, name, e->name.len);
	assert_int_equal(e->text.len, strlen(text));
	assert_memory_equal(sample.text.at + e->text.at, text, e->text.len);
}

static void test_gpu_events__throttling_that_comes_and_goes_is_one_episode(void **state)
{
	setup();
	feed_throttle(0, 0);
	assert_int_equal(sample.events.len, 0);
	for (int i = 0; i < 5; i++) {
		feed_throttle(1, 1U << GPU_THROTTLE_POWER_CAP);
		feed_throttle(1, i == 3 ? 1U << GPU_THROTTLE_HW_THERMAL : 0);
	}
	assert_int_equal(sample.events.len, 1);
	assert_event(0, "throttle", 0, "GPU 3 (A100): throttled: power limit");
	feed_throttle(8, 0);
	assert_int_equal(sample.events.len, 1);
	feed_throttle(1, 0);
	assert_int_equal(sample.events.len, 2);
	assert_event(1, "throttle_end", 8 * (int64_t)NS_PER_S,
	             "GPU 3 (A100): no longer throttled, after 8.0 s: power limit, too hot, slowed "
	             "down by the hardware");
	feed_throttle(1, 1U << GPU_THROTTLE_HW_SLOWDOWN);
	assert_int_equal(sample.events.len, 3);
}

/* A driver that does not answer for a while neither ends an episode nor begins one. */
static void test_gpu_events__an_episode_outlasts_a_driver_that_is_silent(void **state)
{
	setup();
	feed_throttle(0, 1U << GPU_THROTTLE_SW_THERMAL);
	sample.mono_ns += 60 * NS_PER_S;
	gpu_events_feed(&events, gpu(), &sample);
	feed_throttle(1, 1U << GPU_THROTTLE_SW_THERMAL);
	assert_int_equal(sample.events.len, 1);
}

static void test_gpu_events__memory_errors_are_reported_when_they_are_counted(void **state)
{
	setup();
	feed_ecc(70, 2); /* of before */
	feed_ecc(70, 2);
	assert_int_equal(sample.events.len, 0);
	feed_ecc(71, 2);
	assert_event(0, "ecc", 1, "GPU 3 (A100): 1 corrected memory error (ECC)");
	for (uint64_t i = 0; i < 12; i++)
		feed_ecc(72 + i, 2); /* one each second */
	assert_int_equal(sample.events.len, 2);
	assert_event(1, "ecc", 10, "GPU 3 (A100): 10 corrected memory errors (ECC)");
	feed_ecc(83, 4);
	assert_event(2, "ecc", 2, "GPU 3 (A100): 2 uncorrectable memory errors (ECC)");
	feed_ecc(0, 0); /* the driver was loaded anew */
	feed_ecc(0, 1);
	assert_int_equal(sample.events.len, 4);
}

static void test_gpu_events__critical_errors_have_their_number_and_name(void **state)
{
	setup();
	gpu_events_xid(gpu(), 79, &sample);
	gpu_events_xid(gpu(), 4242, &sample);
	assert_event(0, "xid", 79, "GPU 3 (A100): XID 79, fallen off the bus");
	assert_event(1, "xid", 4242, "GPU 3 (A100): XID 4242");
}

static void feed_answer(bool is_lost, bool has_figures)
{
	struct gpu_sample *g = gpu();

	sample.mono_ns += NS_PER_S;
	g->is_lost = is_lost;
	if (has_figures)
		readings_set(&g->r, GPU_UTIL, 5);
	gpu_events_feed(&events, g, &sample);
	gpu_events_end_tick(&events, &sample);
}

static void test_gpu_events__a_gpu_is_lost_once_and_answers_again_once(void **state)
{
	setup();
	feed_answer(true, false); /* it may not be ours to see */
	feed_answer(false, true);
	feed_answer(false, false); /* it sleeps, or the driver answers late */
	assert_int_equal(sample.events.len, 0);
	for (int i = 0; i < 3; i++)
		feed_answer(true, false);
	assert_int_equal(sample.events.len, 1);
	assert_event(0, "lost", 0, "GPU 3 (A100): does not answer any more");
	feed_answer(false, true);
	feed_answer(false, true);
	assert_int_equal(sample.events.len, 2);
	assert_event(1, "lost_end", 3 * (int64_t)NS_PER_S,
	             "GPU 3 (A100): answers again, after 3.0 s");
}

static void test_gpu_events__a_gpu_that_is_not_listed_any_more_is_lost(void **state)
{
	setup();
	feed_answer(false, true);
	for (int i = 0; i < 3; i++) {
		sample.mono_ns += NS_PER_S;
		gpu_events_end_tick(&events, &sample);
	}
	assert_int_equal(sample.events.len, 1);
	assert_event(0, "lost", 0, "GPU 3 (A100): does not answer any more");
	feed_answer(false, true);
	assert_event(1, "lost_end", 3 * (int64_t)NS_PER_S,
	             "GPU 3 (A100): answers again, after 3.0 s");
}

static void test_gpu_events__each_gpu_has_its_own_history(void **state)
{
	struct gpu_sample *g = gpu();

	setup();
	for (uint32_t i = 0; i < GPUS_MAX + 2; i++) {
		g->index = i;
		g->health = (struct gpu_health){ .knows_throttle = true, .throttle = 1 };
		gpu_events_feed(&events, g, &sample);
		gpu_events_feed(&events, g, &sample);
	}
	assert_int_equal(sample.events.len, GPUS_MAX);
}

RUN_TESTS(TEST(test_gpu_events__throttling_that_comes_and_goes_is_one_episode),
          TEST(test_gpu_events__an_episode_outlasts_a_driver_that_is_silent),
          TEST(test_gpu_events__memory_errors_are_reported_when_they_are_counted),
          TEST(test_gpu_events__critical_errors_have_their_number_and_name),
          TEST(test_gpu_events__a_gpu_is_lost_once_and_answers_again_once),
          TEST(test_gpu_events__a_gpu_that_is_not_listed_any_more_is_lost),
          TEST(test_gpu_events__each_gpu_has_its_own_history))
