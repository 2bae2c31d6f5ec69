/* SPDX-License-Identifier: MIT */
#include "view/events_view.h"

#include <signal.h>
#include <time.h>

#include "check.h"
#include "model_kit.h"

static struct event_record ended(double at, pid_t pid, int code, int signal)
{
	struct event_record e = kit_event(EVENT_EXIT, at, pid, signal ? "core dumped" : NULL);

	e.has_exit_code = !signal;
	e.exit_code = code;
	e.signal = signal;
	return e;
}

static size_t all_events(struct event_record *to)
{
	size_t n = 0;

	to[n++] = kit_event(EVENT_SPAWN, 0, 2417, NULL);
	to[n++] = kit_event(EVENT_EXEC, 0.0021, 2417,
	                    "python train.py --epochs 3 --very long option");
	to[n] = kit_event(EVENT_MARK, 1.5, 0, "{\"loss\":0.4}");
	to[n++].name = "epoch";
	to[n] = kit_event(EVENT_PHASE, 62, 0, NULL);
	to[n].name = "lo\x1b[31mad";
	to[n++].count = (int64_t)(60 * NS_PER_S);
	to[n] = kit_event(EVENT_SIGNAL, 70, 2417, "sent by bash (pid 12, uid 0)");
	to[n++].signal = SIGTERM;
	to[n++] = ended(71, 2418, 3, 0);
	to[n++] = ended(3672.5, 2419, 0, SIGSEGV);
	to[n] = kit_event(EVENT_LOSS, 3680, 0, "the ring buffer was full");
	to[n++].count = 1234567;
	to[n] = kit_event(EVENT_GAP, 3690, 0, "");
	to[n++].count = 3200000000;
	to[n++] = kit_event(EVENT_OOM, 3700, 2417, NULL);
	return n;
}

static void assert_view(struct style style, uint64_t started_ns, const char *golden)
{
	const struct events_view view = { .started_ns = started_ns };
	struct event_record events[16];
	size_t n = all_events(events);
	struct buf out = { 0 };

	events_view_head(&view, CANVAS(&style, &out));
	for (size_t i = 0; i < n; i++)
		events_view_put(&view, &events[i], events[i].process.pid == 2417 ? "python" : NULL,
		                CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
}

static void test_events_view__shows_an_event_a_line(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	assert_view((struct style){ .width = SIZE_MAX }, KIT_STARTED_NS, "events-pipe.txt");
	assert_view((struct style){ .width = 80 }, 0, "events-80.txt");
	assert_view((struct style){ .width = 40 }, KIT_STARTED_NS, "events-40.txt");
}

static void test_events_json__is_one_object_each(void **state)
{
	const struct events_view view = { .started_ns = KIT_STARTED_NS };
	struct event_record events[16];
	size_t n = all_events(events);
	struct buf out = { 0 };

	for (size_t i = 0; i < n; i++) {
		struct json j = { .out = &out };

		events_view_json_put(&view, &events[i], "python", &j);
		buf_putc(&out, '\n');
	}
	assert_golden("events.jsonl", &out);
	buf_done(&out);
}

static void test_events_kinds__are_read_from_a_list(void **state)
{
	uint64_t kinds = 42;
	char bad[16];

	assert_false(events_parse_kinds("spawn,nonsense,exit", &kinds, bad, sizeof bad));
	assert_string_equal(bad, "nonsense");
	assert_false(events_parse_kinds("", &kinds, bad, sizeof bad));
	assert_int_equal(kinds, 42);
	assert_true(events_parse_kinds("mark", &kinds, bad, sizeof bad));
	assert_int_equal(kinds, UINT64_C(1) << EVENT_MARK);
	assert_true(events_parse_kinds("spawn,exit", &kinds, bad, sizeof bad));
	assert_int_equal(kinds, 1u << EVENT_SPAWN | 1u << EVENT_EXIT);
}

RUN_TESTS(TEST(test_events_view__shows_an_event_a_line), TEST(test_events_json__is_one_object_each),
          TEST(test_events_kinds__are_read_from_a_list))
