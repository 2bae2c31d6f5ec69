/* SPDX-License-Identifier: MIT */
#include "model/event.h"

#include <math.h>

#include "check.h"

static void assert_details(const struct event *e, const char *text, const char *expected)
{
	struct buf b = { 0 };

	event_details(e, text, &b);
	assert_string_equal(b.at ? b.at : "", expected);
	buf_done(&b);
}

static void test_event_details__names_the_sender(void **state)
{
	struct event e = { .kind = EVENT_SIGNAL,
		           .sender_pid = 12,
		           .sender_uid = 1000,
		           .sender_comm = "exactly15chars_" };

	(void)state;
	assert_details(&e, NULL, "sent by exactly15chars_ (pid 12, uid 1000)");
	memset(e.sender_comm, 'x', COMM_LEN); /* not even the kernel's NUL */
	assert_details(&e, NULL, "sent by xxxxxxxxxxxxxxxx (pid 12, uid 1000)");
	e.sender_pid = 0;
	assert_details(&e, NULL, "sent by the kernel");
	e.sender_pid = -1;
	assert_details(&e, NULL, "sender not known");
}

static void test_event_details__names_the_sender_of_a_passed_on_signal(void **state)
{
	struct event e = { .kind = EVENT_SIGNAL,
		           .is_forwarded = true,
		           .sender_pid = 12,
		           .sender_uid = 1000,
		           .sender_comm = "bash" };

	(void)state;
	assert_details(&e, NULL, "forwarded by proctor; sent to it by bash (pid 12, uid 1000)");
	e.sender_comm[0] = '\0';
	assert_details(
		&e, NULL,
		"forwarded by proctor; sent to it by a process that was gone (pid 12, uid 1000)");
	e.sender_pid = 0;
	assert_details(&e, NULL, "forwarded by proctor; sent to it by the kernel");
}

static void test_event_details__mentions_core_and_inferred(void **state)
{
	struct event e = { .kind = EVENT_EXIT, .core_dumped = true };

	(void)state;
	assert_details(&e, NULL, "core dumped");
	e = (struct event){ .kind = EVENT_EXIT, .inferred = true };
	assert_details(&e, NULL, "inferred by comparing two ticks");
	e = (struct event){ .kind = EVENT_EXEC, .text = { 2, 7 } };
	assert_details(&e, "..make -j2", "make -j");
	e = (struct event){ .kind = EVENT_EXIT };
	assert_details(&e, NULL, "");
}

static void test_event__has_five_kinds_in_the_view(void **state)
{
	unsigned in_view = 0;

	(void)state;
	for (enum event_kind k = 0; k < EVENT_KIND_COUNT; k++) {
		assert_non_null(event_name(k));
		in_view += event_in_view(k);
	}
	assert_int_equal(in_view, 5);
	assert_string_equal(event_name(EVENT_OOM), "oom");
}

static void test_metric_rate_per_s__is_unknown_when_nothing_can_be_known(void **state)
{
	(void)state;
	assert_true(isnan(metric_rate_per_s(5, 4, 1000)));
	assert_true(isnan(metric_rate_per_s(4, 5, 0)));
	assert_true(metric_rate_per_s(0, 500, 500000000) == 1000.0);
	assert_true(metric_rate_per_s(7, 7, 1) == 0.0);
}

static void test_metrics__have_a_key_of_their_own_and_help(void **state)
{
	(void)state;
	for (size_t i = 0; i < PROC_METRIC_COUNT; i++) {
		assert_true(strlen(proc_metrics[i].key) > 0 && strlen(proc_metrics[i].help) > 0);
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(proc_metrics[i].key, proc_metrics[k].key);
	}
	for (size_t i = 0; i < HOST_METRIC_COUNT; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(host_metrics[i].key, host_metrics[k].key);
	for (size_t i = 0; i < CGROUP_METRIC_COUNT; i++)
		for (size_t k = 0; k < i; k++)
			assert_string_not_equal(cgroup_metrics[i].key, cgroup_metrics[k].key);
}

RUN_TESTS(TEST(test_event_details__names_the_sender),
          TEST(test_event_details__names_the_sender_of_a_passed_on_signal),
          TEST(test_event_details__mentions_core_and_inferred),
          TEST(test_event__has_five_kinds_in_the_view),
          TEST(test_metric_rate_per_s__is_unknown_when_nothing_can_be_known),
          TEST(test_metrics__have_a_key_of_their_own_and_help))
