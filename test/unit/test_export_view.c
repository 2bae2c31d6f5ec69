/* SPDX-License-Identifier: MIT */
#include "view/export_view.h"

#include <jansson.h>
#include <signal.h>

#include "check.h"
#include "model_kit.h"
#include "view/trace_view.h"

#define HOSTILE "wor\x1bker \"\\\n\xff\xc2\x80"

static struct process_sample_record kit_process_sample(double at, double cpu, uint64_t mib)
{
	struct figure bytes = { mib << 20, QUALITY_SAMPLED };

	return (struct process_sample_record){ .wall_ns = KIT_AT(at),
		                               .id = { 2417, 1000 },
		                               .comm = "python",
		                               .cpu_ratio = cpu,
		                               .rss = bytes,
		                               .written = bytes };
}

static struct gpu_sample_record kit_gpu_sample(double at)
{
	struct gpu_sample_record s = { .wall_ns = KIT_AT(at), .index = 1, .name = "Fake GPU" };

	s.r[GPU_UTIL] = (struct figure){ 71, QUALITY_SAMPLED };
	s.r[GPU_POWER] = (struct figure){ 123450, QUALITY_SAMPLED };
	s.own_memory = (struct figure){ KIT_GIB, QUALITY_SAMPLED };
	return s;
}

/* 0.25 Wh */
static struct job_sum_record energy_sum(void)
{
	struct job_sum_record sum = kit_sum(10, KIT_GIB, NAN);

	sum.sum.gpu_energy = (struct figure){ MJ_PER_WH / 4, QUALITY_SAMPLED };
	return sum;
}

static void trace_all(struct buf *out, const struct job *job)
{
	struct sheet_record first = kit_sheet(1, "prepare", 0, 60),
			    second = kit_sheet(2, "", 30, 90), third = kit_sheet(3, "late", 95, 99);
	struct process_record p = kit_process(2417, "python", HOSTILE, 1, 100);
	struct process_record alive = kit_process(2600, HOSTILE, NULL, 50, 0);
	struct event_record phase = kit_event(EVENT_PHASE, 80, 0, "{}");
	struct event_record mark = kit_event(EVENT_MARK, 12.5, 0, NULL);
	struct event_record kill = kit_event(EVENT_KILL, 99, 2417, "sent by the kernel");
	struct event_record spawn = kit_event(EVENT_SPAWN, 1, 2417, NULL);
	struct job_sum_record sum = kit_sum(10, KIT_GIB, NAN),
			      later = kit_sum(11, 2 * KIT_GIB, 1.5);
	struct gpu_sample_record gpu = kit_gpu_sample(11);
	struct process_sample_record course[] = { kit_process_sample(10, NAN, 100),
		                                  kit_process_sample(11, 0.5, 200),
		                                  kit_process_sample(12, 0.5, 300) };
	struct trace_view t;

	sum.sum.gpu_energy = (struct figure){ 100 * 1000, QUALITY_SAMPLED };
	later.sum.gpu_energy = (struct figure){ 350 * 1000, QUALITY_SAMPLED }; /* 250 W for 1 s */
	phase.name = "load";
	phase.count = (int64_t)(10 * NS_PER_S);
	mark.name = HOSTILE;
	kill.signal = SIGKILL;
	p.cpu_time_ns.quality = QUALITY_MISSING;
	trace_view_begin(&t, out, job);
	trace_view_begin_job(&t, job, KIT_AT(200));
	trace_view_sheet(&t, &first);
	trace_view_sheet(&t, &second);
	trace_view_sheet(&t, &third);
	trace_view_process(&t, &p);
	trace_view_process(&t, &alive);
	trace_view_process(&t, &alive); /* the pid is used again */
	trace_view_sum(&t, &sum);
	trace_view_sum(&t, &later);
	trace_view_gpu_sample(&t, &gpu);
	for (unsigned i = 0; i < 3; i++) {
		trace_view_process_sample(&t, &course[i]);
		trace_view_end_tick(&t, course[i].wall_ns);
	}
	trace_view_event(&t, &spawn);
	trace_view_event(&t, &phase);
	trace_view_event(&t, &mark);
	trace_view_event(&t, &kill);
	trace_view_end_job(&t);
	trace_view_end(&t);
}

static void test_trace__is_valid_json_with_what_viewers_need(void **state)
{
	struct job job = kit_good_job();
	struct buf out = { 0 };
	json_error_t error;
	json_t *doc, *events, *e;
	size_t i;

	trace_all(&out, &job);
	assert_golden("trace.json", &out);
	doc = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, &error);
	if (!doc)
		fail_msg("%s at %d", error.text, error.position);
	events = json_object_get(doc, "traceEvents");
	assert_true(json_array_size(events) > 10);
	json_array_foreach(events, i, e)
	{
		const char *ph = json_string_value(json_object_get(e, "ph"));

		assert_non_null(ph);
		assert_true(json_is_string(json_object_get(e, "name")));
		assert_true(json_is_integer(json_object_get(e, "pid")));
		assert_true(json_is_integer(json_object_get(e, "tid")));
		assert_true(json_is_object(json_object_get(e, "args")));
		if (*ph != 'M')
			assert_true(json_number_value(json_object_get(e, "ts")) >= 0);
		if (*ph == 'X')
			assert_true(json_number_value(json_object_get(e, "dur")) >= 0);
	}
	json_decref(doc);
	buf_done(&out);
}

/* On each track the slices follow each other. */
static void assert_follow(json_t *events)
{
	double ends[8] = { 0 };
	json_int_t tids[8] = { 0 };
	json_t *e;
	size_t i, n = 0, at;

	json_array_foreach(events, i, e)
	{
		json_int_t tid = json_integer_value(json_object_get(e, "tid"));
		double ts = json_number_value(json_object_get(e, "ts"));

		if (strcmp(json_string_value(json_object_get(e, "ph")), "X") != 0)
			continue;
		for (at = 0; at < n && tids[at] != tid; at++)
			;
		assert_true(at < 8);
		n = MAX(n, at + 1);
		tids[at] = tid;
		assert_true(ts >= ends[at]);
		ends[at] = ts + json_number_value(json_object_get(e, "dur"));
	}
}

/* Starts in ticks: a pid that is used again seems to begin before its last life is over, a child
 * before its parent, and the first of all before the job. */
static void test_trace__lets_slices_follow_each_other_and_children_their_parents(void **state)
{
	struct job job = kit_good_job();
	struct process_record first = kit_process(100, "sh", NULL, -0.005, 50),
			      child = kit_process(200, "a", NULL, 0.01, 1.234),
			      again = kit_process(200, "b", NULL, 1.23, 3),
			      grandchild = kit_process(300, "c", NULL, 1.23, 2);
	struct buf out = { 0 };
	json_t *doc, *events, *e;
	struct trace_view t;
	size_t i;

	again.is_start_exact = false;
	child.ppid = again.ppid = 100;
	grandchild.ppid = 200;
	trace_view_begin(&t, &out, &job);
	trace_view_begin_job(&t, &job, KIT_AT(200));
	trace_view_process(&t, &first);
	trace_view_process(&t, &child);
	trace_view_process(&t, &again);
	trace_view_process(&t, &grandchild);
	trace_view_end_job(&t);
	trace_view_end(&t);
	doc = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, NULL);
	assert_non_null(doc);
	events = json_object_get(doc, "traceEvents");
	assert_follow(events);
	json_array_foreach(events, i, e)
	{
		const char *name = json_string_value(json_object_get(e, "name"));

		if (strcmp(name, "b") == 0 || strcmp(name, "c") == 0)
			assert_true(json_number_value(json_object_get(e, "ts")) >= 1234000);
		if (strcmp(name, "b") == 0)
			assert_non_null(json_object_get(json_object_get(e, "args"), "start"));
	}
	json_decref(doc);
	buf_done(&out);
}

static void test_trace__finds_room_for_more_sheets_than_it_has_tracks(void **state)
{
	struct job job = kit_good_job();
	struct buf out = { 0 };
	json_t *doc, *events, *e;
	struct trace_view t;
	size_t i, n = 0;
	double last[TRACE_VIEW_LANES_MAX + 1] = { 0 };

	trace_view_begin(&t, &out, &job);
	trace_view_begin_job(&t, &job, KIT_AT(200));
	for (uint32_t num = 1; num <= 3 * TRACE_VIEW_LANES_MAX; num++) {
		struct sheet_record s = kit_sheet(num, "", 1, 2 + num);

		trace_view_sheet(&t, &s);
	}
	trace_view_end_job(&t);
	trace_view_end(&t);
	doc = json_loadb(out.at, out.len, JSON_REJECT_DUPLICATES, NULL);
	events = json_object_get(doc, "traceEvents");
	json_array_foreach(events, i, e)
	{
		size_t lane = (size_t)json_integer_value(json_object_get(e, "tid")) % 5000000;
		double ts = json_number_value(json_object_get(e, "ts"));

		if (strcmp(json_string_value(json_object_get(e, "ph")), "X") != 0)
			continue;
		if (strcmp(json_string_value(json_object_get(e, "cat")), "job") == 0)
			continue;
		assert_true(lane <= TRACE_VIEW_LANES_MAX && ts >= last[lane]);
		last[lane] = ts + json_number_value(json_object_get(e, "dur"));
		n++;
	}
	assert_int_equal(n, 3 * TRACE_VIEW_LANES_MAX);
	json_decref(doc);
	buf_done(&out);
}

static void test_jsonl__is_one_typed_object_a_line(void **state)
{
	struct job job = kit_good_job();
	struct sheet_record sheet = kit_sheet(1, "prepare", 0, 60);
	struct process_record p = kit_process(2417, "python", HOSTILE, 1, 100);
	struct event_record e = kit_event(EVENT_SPAWN, 1, 2417, NULL);
	struct job_sum_record sum = energy_sum();
	struct process_sample_record s = kit_process_sample(10, NAN, 100);
	struct gpu_sample_record gpu = kit_gpu_sample(10);
	const struct export_place place = { job.id, { NS_PER_S, QUALITY_EXACT } },
				  own = { NULL, { 0 } };
	struct buf out = { 0 };

	export_job_line(&out, &job);
	export_record_line(&out, "sheet", &place, &sheet_fields, &sheet);
	export_record_line(&out, "process", &place, &process_fields, &p);
	export_record_line(&out, "event", &own, &event_fields, &e);
	export_record_line(&out, "sample", &place, &job_sum_fields, &sum);
	export_record_line(&out, "process_sample", &place, &process_sample_fields, &s);
	export_record_line(&out, "gpu_sample", &place, &gpu_sample_fields, &gpu);
	assert_golden("export.jsonl", &out);
	for (char *line = out.at, *end; (end = strchr(line, '\n')); line = end + 1) {
		json_t *doc = json_loadb(line, (size_t)(end - line), JSON_REJECT_DUPLICATES, NULL);

		assert_non_null(doc);
		assert_true(json_is_string(json_object_get(doc, "type")));
		json_decref(doc);
	}
	buf_done(&out);
}

static void test_csv__has_a_head_and_a_line_each(void **state)
{
	struct process_record p = kit_process(2417, "python", "a \"b\",c\nd", 1, 100);
	struct event_record e = kit_event(EVENT_SPAWN, 1, 2417, NULL);
	struct job_sum_record sum = energy_sum();
	struct process_sample_record s = kit_process_sample(10, NAN, 100);
	struct gpu_sample_record gpu = kit_gpu_sample(10);
	const struct export_place place = { "train", { NS_PER_S / 2, QUALITY_EXACT } };
	const struct {
		const struct csv_layout *layout;
		const void *record;
	} tables[] = { { &csv_processes, &p },
		       { &csv_events, &e },
		       { &csv_samples, &sum },
		       { &csv_process_samples, &s },
		       { &csv_gpus, &gpu } };
	struct buf out = { 0 };
	struct csv csv;

	p.peak_rss_bytes.quality = QUALITY_MISSING;
	for (size_t i = 0; i < ARRAY_LEN(tables); i++) {
		struct row_writer rows = { .format = ROW_WRITER_CSV, .out = &out };

		export_csv_begin(&csv, tables[i].layout, &rows);
		export_csv_put(&csv, &place, tables[i].record);
		row_writer_done(&rows);
	}
	assert_golden("export.csv", &out);
	buf_done(&out);
}

RUN_TESTS(TEST(test_trace__lets_slices_follow_each_other_and_children_their_parents),
          TEST(test_trace__finds_room_for_more_sheets_than_it_has_tracks),
          TEST(test_trace__is_valid_json_with_what_viewers_need),
          TEST(test_jsonl__is_one_typed_object_a_line), TEST(test_csv__has_a_head_and_a_line_each))
