/* SPDX-License-Identifier: MIT */
#include "model/snapshot_json.h"

#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>

#include "base/io.h"
#include "check.h"
#include "model_kit.h"

#define MIB (UINT64_C(1) << 20)

struct fixture {
	struct sample prev, cur;
	struct job_roster jobs;
	struct snapshot snap;
};

static void fill_process(struct sample *s, pid_t pid, uint64_t cpu_ns)
{
	struct proc_sample *p = kit_proc_cpu(s, pid, 500, cpu_ns);

	p->uid = 1000;
	readings_set(&p->r, PROC_RSS, 12 * MIB + MIB / 2);
	readings_set(&p->r, PROC_VMS, 100 * MIB);
	readings_set(&p->r, PROC_THREADS, 4);
}

/* One job with a process, and one process of nobody of which little is known. */
static void fixture_fill(struct fixture *fx)
{
	int32_t job;

	*fx = (struct fixture){ .prev = kit_sample(0), .cur = kit_sample(2 * NS_PER_S) };
	memcpy(fx->cur.boot_id, "0f0e0d0c-0b0a-4908-8706-050403020100", sizeof fx->cur.boot_id);
	readings_set(&fx->cur.host, HOST_MEM_TOTAL, 8192 * MIB);
	readings_set(&fx->cur.host, HOST_MEM_AVAILABLE, 6144 * MIB);
	readings_set(&fx->cur.host, HOST_LOAD_1, 1250);
	readings_set(&fx->cur.cgroup, CGROUP_MEM_LIMIT, 1024 * MIB);
	fill_process(&fx->prev, 10, NS_PER_S);
	fill_process(&fx->cur, 10, 2 * NS_PER_S);
	kit_proc(&fx->cur, 11, 600)->state = 'Z';
	job = job_roster_add(&fx->jobs, "build-7", "make", WALL0_NS);
	fx->jobs.rows.at[job]->job.total_sheets = 5;
	fx->jobs.rows.at[job]->job.uid = 1001; /* whose process is another user's */
	job_row_end_sheet(fx->jobs.rows.at[job],
	                  job_roster_begin_sheet(&fx->jobs, fx->jobs.rows.at[job], 1, "", WALL0_NS),
	                  JOB_COMPLETED, WALL0_NS);
	job_roster_begin_sheet(&fx->jobs, fx->jobs.rows.at[job], 2, "", WALL0_NS);
	job_roster_assign(&fx->jobs, (struct proc_id){ 10, 500 }, (struct job_ref){ job, 2 });
	snapshot_build(&fx->prev, &fx->cur, &fx->jobs,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS, .pid = 77 },
	               &fx->snap);
	snapshot_scope_count_jobs(&fx->snap);
}

static void fixture_done(struct fixture *fx)
{
	sample_done(&fx->prev);
	sample_done(&fx->cur);
	job_roster_done(&fx->jobs);
	snapshot_done(&fx->snap);
}

static json_t *parse(const struct buf *text)
{
	json_error_t error;
	json_t *parsed = json_loadb(text->at, text->len, JSON_REJECT_DUPLICATES, &error);

	if (!parsed)
		print_error("%s at byte %d of: %s\n", error.text, error.position, text->at);
	assert_non_null(parsed);
	return parsed;
}

static json_t *snapshot_parsed(const struct snapshot *snap)
{
	struct buf out = { 0 };
	json_t *parsed;

	snapshot_json(&(struct json){ .out = &out }, snap, NULL);
	parsed = parse(&out);
	buf_done(&out);
	return parsed;
}

static void test_codec_snapshot__is_written_as_it_always_was(void **state)
{
	struct buf out = { 0 };
	struct fixture fx;

	(void)state;
	fixture_fill(&fx);
	snapshot_json(&(struct json){ .out = &out }, &fx.snap, NULL);
	buf_putc(&out, '\n');
	assert_golden("snapshot.json", &out);
	buf_done(&out);
	fixture_done(&fx);
}

static void assert_keys(const json_t *object, const char *const *keys)
{
	for (; *keys; keys++) {
		if (!json_object_get(object, *keys))
			print_error("no key '%s'\n", *keys);
		assert_non_null(json_object_get(object, *keys));
	}
}

static void test_codec_snapshot__has_every_key_that_readers_rely_on(void **state)
{
	static const char *const snapshot_keys[] = {
		"timestamp",
		"daemon_pid",
		"system_memory_total_mb",
		"system_memory_available_mb",
		"system_memory_used_mb",
		"daemon_rss_mb",
		"load_avg_1",
		"load_avg_5",
		"load_avg_15",
		"processes",
		"gpus",
		"pressure_level",
		"running_jobs",
		"active_sheets",
		"zombie_count",
		"zombie_pids",
		"job_progress",
		"conductor_uptime_seconds",
		NULL,
	};
	static const char *const process_keys[] = {
		"pid",
		"ppid",
		"command",
		"state",
		"cpu_percent",
		"rss_mb",
		"vms_mb",
		"threads",
		"open_fds",
		"age_seconds",
		"job_id",
		"sheet_num",
		"syscall_counts",
		"syscall_time_pct",
		NULL,
	};
	static const char *const progress_keys[] = {
		"job_id", "job_uid", "total_sheets", "last_completed_sheet", "current_sheet",
		"status", NULL
	};
	struct sample empty = kit_sample(0);
	struct snapshot bare = { 0 };
	struct fixture fx;
	json_t *parsed;

	(void)state;
	fixture_fill(&fx);
	parsed = snapshot_parsed(&fx.snap);
	assert_keys(parsed, snapshot_keys);
	for (size_t i = 0; i < 2; i++)
		assert_keys(json_array_get(json_object_get(parsed, "processes"), i), process_keys);
	assert_keys(json_array_get(json_object_get(parsed, "job_progress"), 0), progress_keys);
	json_decref(parsed);
	fixture_done(&fx);

	kit_build(NULL, &empty, &bare); /* nothing could be read at all */
	parsed = snapshot_parsed(&bare);
	assert_keys(parsed, snapshot_keys);
	json_decref(parsed);
	snapshot_done(&bare);
}

static void test_snapshot_json__distinguishes_absent_from_zero(void **state)
{
	struct fixture fx;
	json_t *parsed, *known, *unknown;

	(void)state;
	fixture_fill(&fx);
	parsed = snapshot_parsed(&fx.snap);
	known = json_array_get(json_object_get(parsed, "processes"), 0);
	unknown = json_array_get(json_object_get(parsed, "processes"), 1);
	assert_true(json_real_value(json_object_get(known, "rss_mb")) == 12.5);
	assert_true(json_real_value(json_object_get(known, "cpu_percent")) == 50.0);
	assert_true(json_is_null(json_object_get(known, "open_fds")));
	assert_true(json_is_null(json_object_get(unknown, "rss_mb")));
	assert_true(json_is_null(json_object_get(unknown, "cpu_percent")));
	assert_true(json_is_null(json_object_get(unknown, "job_id")));
	assert_true(json_is_null(json_object_get(unknown, "sheet_num")));
	assert_int_equal(json_integer_value(json_object_get(known, "job_uid")), 1001);
	assert_int_equal(json_integer_value(json_object_get(known, "uid")), 1000);
	assert_null(json_object_get(unknown, "job_uid"));    /* most processes have no job */
	assert_null(json_object_get(unknown, "read_bytes")); /* ours: left out */
	assert_true(json_is_null(json_object_get(parsed, "load_avg_5")));
	assert_true(json_is_null(json_object_get(parsed, "pressure_level")));
	assert_null(json_object_get(parsed, "swap_total_mb"));
	json_decref(parsed);
	fixture_done(&fx);
}

static void test_snapshot_json__makes_valid_json_of_hostile_names(void **state)
{
	static const char hostile[] =
		"a\") R 1\n{\"pid\": 0}\x1b[2J\xff\xfe\xed\xa0\x80\xf4\x90\x80\x80\\u0000\0x\x7f";
	struct fixture fx;
	struct proc_sample *p;
	json_t *parsed, *process;

	(void)state;
	fixture_fill(&fx);
	p = &fx.cur.procs.at[0];
	p->command = sample_add_text(&fx.cur, hostile, sizeof hostile - 1);
	p->state = '"';
	memcpy(fx.jobs.rows.at[0]->job.id, hostile, sizeof hostile);
	snapshot_build(&fx.prev, &fx.cur, &fx.jobs,
	               &(struct snapshot_origin){ .seq = 2, .started_boot_ns = T0_NS }, &fx.snap);
	parsed = NULL;
	{
		struct buf out = { 0 };
		json_error_t error;

		snapshot_json(&(struct json){ .out = &out }, &fx.snap, NULL);
		assert_null(memchr(out.at, '\n', out.len)); /* one snapshot is one line of JSONL */
		parsed = json_loadb(out.at, out.len, JSON_ALLOW_NUL, &error);
		buf_done(&out);
	}
	assert_non_null(parsed);
	process = json_array_get(json_object_get(parsed, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "pid")), 10);
	json_decref(parsed);
	fixture_done(&fx);
}

static void test_snapshot_json__writes_the_largest_values_as_numbers(void **state)
{
	static const enum metric_unit units[] = { UNIT_COUNT, UNIT_BYTES, UNIT_MIB, UNIT_NS,
		                                  UNIT_MILLI };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		struct buf out = { 0 };
		struct json j = { .out = &out };

		field_metric_json(&j, units[i], UINT64_MAX);
		assert_true(strspn(out.at, "0123456789.") == out.len);
		buf_done(&out);
	}
}

static json_t *event_parsed(struct snapshot *snap, const struct event *e)
{
	struct buf out = { 0 };
	json_t *parsed;

	*vec_push(&snap->events, EVENTS_MAX) = *e;
	snapshot_json_event(&(struct json){ .out = &out }, snap, snap->events.len - 1);
	parsed = parse(&out);
	buf_done(&out);
	return parsed;
}

static void test_codec_event__has_every_key_and_the_sender_of_the_signal(void **state)
{
	static const char *const keys[] = { "timestamp", "pid",        "event_type",
		                            "exit_code", "signal_num", "job_id",
		                            "sheet_num", "details",    NULL };
	struct event e = { .kind = EVENT_KILL,
		           .id = { 10, 500 },
		           .signal = 9,
		           .sender_pid = 12,
		           .sender_comm = "ba\x1bsh",
		           .wall_ns = WALL0_NS,
		           .job = 0,
		           .sheet = 2 };
	struct fixture fx;
	json_t *parsed;

	(void)state;
	fixture_fill(&fx);
	parsed = event_parsed(&fx.snap, &e);
	assert_keys(parsed, keys);
	assert_string_equal(json_string_value(json_object_get(parsed, "event_type")), "kill");
	assert_true(json_is_null(json_object_get(parsed, "exit_code")));
	assert_int_equal(json_integer_value(json_object_get(parsed, "signal_num")), 9);
	assert_string_equal(json_string_value(json_object_get(parsed, "job_id")), "build-7");
	assert_int_equal(json_integer_value(json_object_get(parsed, "job_uid")), 1001);
	assert_string_equal(json_string_value(json_object_get(parsed, "details")),
	                    "sent by ba\x1bsh (pid 12, uid 0)");
	json_decref(parsed);
	fixture_done(&fx);
}

static void test_codec_event__distinguishes_exit_code_zero_from_none(void **state)
{
	struct event e = {
		.kind = EVENT_EXIT, .id = { 10, 500 }, .has_exit_code = true, .job = -1
	};
	struct snapshot none = { 0 };
	json_t *parsed;

	(void)state;
	readings_set(&e.final, PROC_CPU_TIME, 1500 * NS_PER_MS);
	parsed = event_parsed(&none, &e);
	assert_null(json_object_get(parsed, "job_uid"));
	assert_true(json_is_integer(json_object_get(parsed, "exit_code")));
	assert_true(json_is_null(json_object_get(parsed, "signal_num")));
	assert_true(json_real_value(json_object_get(parsed, "cpu_time_seconds")) == 1.5);
	json_decref(parsed);
	e = (struct event){ .kind = EVENT_LOSS, .job = -1 };
	parsed = event_parsed(&none, &e);
	assert_true(json_is_null(json_object_get(parsed, "pid")));
	assert_true(json_is_null(json_object_get(parsed, "exit_code")));
	json_decref(parsed);
	snapshot_done(&none);
}

static bool has_no_job(void *self, const struct job *job)
{
	(void)self, (void)job;
	return false;
}

static bool has_every_process(void *self, const struct job *job, uint32_t uid)
{
	(void)self, (void)job, (void)uid;
	return true;
}

/* What is encoded again would show what the test changes in between. */
static void test_snapshot_json__encodes_each_process_and_job_of_a_frozen_snapshot_once(void **state)
{
	static const struct snapshot_scope no_jobs = { .has_job = has_no_job,
		                                       .has_process = has_every_process };
	struct snapshot_json_cache *cache = snapshot_json_cache_new();
	struct buf plain = { 0 }, first = { 0 }, again = { 0 }, scoped = { 0 };
	struct fixture fx;

	(void)state;
	fixture_fill(&fx);
	snapshot_json(&(struct json){ .out = &plain }, &fx.snap, NULL);
	fx.snap.json = cache;
	snapshot_json(&(struct json){ .out = &first }, &fx.snap, NULL);
	assert_string_equal(first.at, plain.at);
	vec_each(&fx.snap.procs, p)
		p->s.ppid++;
	vec_each(&fx.snap.jobs, job)
		job->total_sheets++;
	snapshot_json(&(struct json){ .out = &again }, &fx.snap, NULL);
	assert_string_equal(again.at, plain.at);
	snapshot_json(&(struct json){ .out = &scoped }, &fx.snap, &no_jobs);
	assert_non_null(strstr(plain.at, "build-7"));
	assert_null(strstr(scoped.at, "build-7"));
	vec_each(&fx.snap.procs, p)
		p->s.ppid++;
	buf_reset(&again);
	snapshot_json(&(struct json){ .out = &again }, &fx.snap, &no_jobs);
	assert_string_equal(again.at, scoped.at);
	snapshot_json_cache_reset(cache);
	buf_reset(&again);
	snapshot_json(&(struct json){ .out = &again }, &fx.snap, NULL);
	assert_string_not_equal(again.at, plain.at);
	snapshot_json_cache_free(cache);
	buf_done(&plain);
	buf_done(&first);
	buf_done(&again);
	buf_done(&scoped);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_codec_snapshot__is_written_as_it_always_was),
          TEST(test_codec_snapshot__has_every_key_that_readers_rely_on),
          TEST(test_snapshot_json__distinguishes_absent_from_zero),
          TEST(test_snapshot_json__makes_valid_json_of_hostile_names),
          TEST(test_snapshot_json__writes_the_largest_values_as_numbers),
          TEST(test_codec_event__has_every_key_and_the_sender_of_the_signal),
          TEST(test_codec_event__distinguishes_exit_code_zero_from_none),
          TEST(test_snapshot_json__encodes_each_process_and_job_of_a_frozen_snapshot_once))
