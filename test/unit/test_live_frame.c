/* SPDX-License-Identifier: MIT */
#include "top/live_frame.h"

#include <math.h>

#include "check.h"
#include "top/snapshot_text.h"

static const char line[] =
	"{\"jsonrpc\":\"2.0\",\"method\":\"daemon.top\",\"params\":{\"schema\":1,\"seq\":7,\"timestamp\":1794752587.5,"
	"\"cpu_percent\":62.5,\"system_memory_total_mb\":1024.0,\"system_memory_available_mb\":null,"
	"\"gpus\":[{\"index\":0,\"utilization_pct\":71,\"processes\":[]}],\"processes_complete\":true,\"processes\":["
	"{\"pid\":12,\"ppid\":1,\"command\":\"a \\\"b\\\"\\u001b{[\",\"state\":\"R\",\"cpu_percent\":150.0,\"rss_mb\":2.0,"
	"\"threads\":3,\"open_fds\":null,\"age_seconds\":1.5,\"job_id\":\"train\",\"sheet_num\":2,\"syscall_counts\":{},"
	"\"syscall_time_pct\":{\"read\":9.0,\"futex\":41.2},\"uid\":5,\"read_bytes_per_s\":10.0},"
	"{\"pid\":13,\"ppid\":12,\"command\":\"x\",\"state\":\"S\",\"cpu_percent\":null,\"job_id\":null}]}}";

static const char jobs[] =
	"{\"jobs\":[{\"job_id\":\"train\",\"status\":\"running\",\"started_at\":1794752500.0,\"total_sheets\":3,"
	"\"last_completed_sheet\":1,\"current_sheet\":2,\"allowed_memory_mb\":512.0,\"sheets\":["
	"{\"sheet_num\":2,\"label\":\"fit\",\"status\":\"running\",\"started_at\":1794752510.0}]}]}";

static const char status[] =
	"{\"interval_seconds\":1.0,\"jobs\":[{\"job_id\":\"train\",\"cpu_percent\":160.0,\"used_mb\":3.0}],"
	"\"anomalies_active\":[{\"timestamp\":1794752580.0,\"anomaly_type\":\"memory_spike\",\"severity\":"
	"\"high\",\"pid\":12,\"job_id\":\"train\",\"description\":\"memory spike: a 12\"}]}";

static const char events[] =
	"{\"events\":[{\"timestamp\":1794752586.0,\"pid\":12,\"event_type\":\"kill\",\"signal_num\":9,"
	"\"job_id\":\"train\",\"details\":\"sent by the kernel\"},{\"timestamp\":1794752585.0,\"pid\":12,"
	"\"event_type\":\"exit\",\"exit_code\":1,\"job_id\":\"train\"}]}";

static json_t *load(const char *text)
{
	json_error_t error;
	json_t *loaded = json_loads(text, 0, &error);

	assert_non_null(loaded);
	return loaded;
}

static void test_live_frame__has_what_the_server_answered_and_no_more(void **state)
{
	struct program_names names = { 0 };
	struct live_answers from = { .names = &names };
	struct frame f = { 0 };
	struct buf head = { 0 };
	struct scan snapshot;
	json_t *loaded[4];

	assert_true(snapshot_text_find(scan_str(line), &snapshot));
	assert_true(snapshot_text_split(snapshot, &head, &from.processes));
	from.snapshot = loaded[0] = load(head.at);
	from.jobs = loaded[1] = load(jobs);
	from.status = loaded[2] = load(status);
	from.events = loaded[3] = load(events);
	live_frame_fill(&from, FRAME_DAEMON, NULL, &f);
	assert_true(f.head.cpu_ratio == 0.625 && isnan(f.head.mem_available) && f.head.gpus == 1);
	assert_int_equal(f.procs.len, 2);
	assert_string_equal(frame_str(&f, f.procs.at[0].command), "a \"b\"\x1b{[");
	assert_string_equal(frame_str(&f, f.procs.at[0].call), "futex 41%");
	assert_true(f.procs.at[0].figure[FRAME_CPU] == 1.5 &&
	            isnan(f.procs.at[0].figure[FRAME_FDS]) && f.procs.at[0].figure[FRAME_IO] == 10);
	assert_true(f.procs.at[0].job == 0 && f.procs.at[0].sheet == 2 && f.procs.at[1].job == -1);
	assert_true(isnan(f.procs.at[1].figure[FRAME_CPU]) &&
	            isnan(f.procs.at[1].figure[FRAME_MEM]));
	assert_true(f.jobs.at[0].figure[FRAME_CPU] == 1.6 &&
	            !isnan(f.jobs.at[0].measured[FRAME_MEM]));
	assert_int_equal(f.sheets.at[0].procs, 1);
	assert_int_equal(f.anomalies.len, 1);
	/* The job and its sheet began, the anomaly, the kill; the exit by itself is left out. */
	assert_int_equal(f.events.len, 4);
	assert_string_equal(frame_str(&f, f.events.at[3].what), "a 12: SIGKILL sent by the kernel");
	for (size_t i = 0; i < ARRAY_LEN(loaded); i++)
		json_decref(loaded[i]);
	from.events = from.status = NULL;
	from.snapshot = loaded[0] = load(head.at);
	from.jobs = loaded[1] = load(
		"{\"jobs\":[{\"job_id\":\"train\",\"status\":\"failed\",\"signal_num\":9,\"ended_at\":7.0,"
		"\"result\":\"out of memory (own limit 1.0 GiB)\"},"
		"{\"job_id\":\"old\",\"status\":\"failed\",\"signal_num\":9}]}");
	live_frame_fill(&from, FRAME_DAEMON, NULL, &f);
	assert_string_equal(frame_str(&f, f.jobs.at[0].result),
	                    "out of memory (own limit 1.0 GiB)");
	assert_string_equal(frame_str(&f, f.events.at[0].what),
	                    "FAILED: out of memory (own limit 1.0 GiB)");
	assert_string_equal(frame_str(&f, f.jobs.at[1].result),
	                    "SIGKILL"); /* an older server has no words */
	json_decref(loaded[0]);
	json_decref(loaded[1]);
	live_frame_names_done(&names);
	buf_done(&head);
	frame_done(&f);
}

#define SHEETS 30000

/* One job of that many sheets, which began one after the other. */
static json_t *many_sheets(void)
{
	json_t *sheets = json_array(), *job;

	for (int i = 1; i <= SHEETS; i++)
		json_array_append_new(sheets, json_pack("{s:i,s:s,s:f,s:f}", "sheet_num", i,
		                                        "status", "completed", "started_at",
		                                        1000.0 + i, "ended_at", 1000.5 + i));
	job = json_pack("{s:s,s:s,s:f,s:o}", "job_id", "train", "status", "running", "started_at",
	                1000.0, "sheets", sheets);
	return json_pack("{s:[o]}", "jobs", job);
}

static void test_live_frame__shows_deaths_whatever_the_number_of_sheets(void **state)
{
	struct program_names names = { 0 };
	json_t *loaded[] = { load("{\"seq\":7}"), many_sheets(), load(status), load(events) };
	struct live_answers from = { .names = &names,
		                     .snapshot = loaded[0],
		                     .jobs = loaded[1],
		                     .status = loaded[2],
		                     .events = loaded[3] };
	struct frame f = { 0 };
	size_t trouble = 0;

	live_frame_fill(&from, FRAME_DAEMON, NULL, &f);
	assert_int_equal(f.sheets.len, SHEETS);
	vec_each(&f.events, e)
		trouble += e->is_trouble;
	assert_int_equal(trouble, 2); /* the anomaly and the kill */
	assert_in_range(f.events.len, 100, 1000);
	assert_string_equal(frame_str(&f, f.events.at[f.events.len - 1].kind), "kill");
	assert_string_equal(frame_str(&f, f.events.at[f.events.len - 3].what),
	                    "sheet 30000 is done");
	for (size_t i = 0; i < ARRAY_LEN(loaded); i++)
		json_decref(loaded[i]);
	live_frame_names_done(&names);
	frame_done(&f);
}

/* Answers about two users' jobs of the same id. The members of a process may be in any order. */
static const char twin_processes[] =
	"[{\"pid\":20,\"job_id\":\"train\",\"job_uid\":0,\"sheet_num\":1,\"uid\":0},"
	"{\"pid\":21,\"job_uid\":1000,\"job_id\":\"train\",\"sheet_num\":1,\"uid\":0},"
	"{\"pid\":22,\"job_id\":\"train\",\"job_uid\":1001,\"uid\":0},{\"pid\":23,\"job_id\":\"train\"},"
	"{\"pid\":24,\"job_id\":null}]";
static const char twin_jobs[] =
	"{\"jobs\":[{\"job_id\":\"train\",\"uid\":1000,\"status\":\"running\",\"started_at\":5.0,\"sheets\":["
	"{\"sheet_num\":1,\"label\":\"hers\",\"status\":\"running\",\"started_at\":6.0}]},"
	"{\"job_id\":\"train\",\"uid\":0,\"status\":\"running\",\"started_at\":7.0,\"sheets\":["
	"{\"sheet_num\":1,\"label\":\"roots\",\"status\":\"running\",\"started_at\":8.0}]}]}";
static const char twin_status[] =
	"{\"jobs\":[{\"job_id\":\"train\",\"uid\":0,\"cpu_percent\":10.0,\"used_mb\":1.0},"
	"{\"job_id\":\"train\",\"uid\":1000,\"cpu_percent\":20.0,\"used_mb\":2.0}],\"anomalies_active\":["
	"{\"timestamp\":9.0,\"anomaly_type\":\"memory_spike\",\"severity\":\"high\",\"pid\":20,\"job_id\":\"train\","
	"\"job_uid\":0,\"description\":\"spike\"}]}";
static const char twin_events[] =
	"{\"events\":[{\"timestamp\":9.5,\"pid\":21,\"event_type\":\"kill\",\"signal_num\":9,"
	"\"job_id\":\"train\",\"job_uid\":1000,\"details\":\"\"}]}";

static void fill_twins(const struct job_key *only, struct frame *f)
{
	struct live_answers from = { .processes = scan_str(twin_processes) };
	json_t *loaded[] = { load("{\"seq\":7}"), load(twin_jobs), load(twin_status),
		             load(twin_events) };

	from.snapshot = loaded[0];
	from.jobs = loaded[1];
	from.status = loaded[2];
	from.events = loaded[3];
	live_frame_fill(&from, FRAME_DAEMON, only, f);
	for (size_t i = 0; i < ARRAY_LEN(loaded); i++)
		json_decref(loaded[i]);
}

static void test_live_frame__gives_jobs_of_the_same_id_to_their_users(void **state)
{
	struct frame f = { 0 };

	fill_twins(NULL, &f);
	assert_true(f.jobs.at[0].uid == 1000 && f.jobs.at[1].uid == 0);
	assert_true(f.procs.at[0].job == 1 && f.procs.at[1].job == 0);
	assert_int_equal(f.procs.at[2].job, -1); /* of a user whose job is not listed */
	assert_int_equal(f.procs.at[3].job, 0);  /* an older server names no user */
	assert_int_equal(f.procs.at[4].job, -1);
	assert_true(f.jobs.at[0].figure[FRAME_CPU] == 0.2 && f.jobs.at[1].figure[FRAME_CPU] == 0.1);
	assert_int_equal(f.sheets.at[1].procs, 1);
	assert_int_equal(f.anomalies.at[0].job_uid, 0);
	assert_int_equal(f.events.at[f.events.len - 1].job_uid, 1000);
	frame_done(&f);
}

static void test_live_frame__shows_one_job_of_one_user(void **state)
{
	static const struct {
		uint32_t uid;
		/* Job, sheet, and the anomaly of one or the kill of the other. */
		size_t events, anomalies;
	} cases[] = { { 0, 3, 1 }, { 1000, 3, 0 } };
	struct frame f = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		fill_twins(&(struct job_key){ cases[i].uid, "train" }, &f);
		assert_int_equal(f.jobs.len, 1);
		assert_int_equal(f.jobs.at[0].uid, cases[i].uid);
		assert_int_equal(f.procs.at[0].pid, cases[i].uid ? 21 : 20);
		assert_int_equal(f.events.len, cases[i].events);
		assert_int_equal(f.anomalies.len, cases[i].anomalies);
	}
	fill_twins(&(struct job_key){ 33, "train" }, &f);
	assert_int_equal(f.jobs.len + f.procs.len + f.events.len, 0);
	frame_done(&f);
}

static void test_snapshot_text__survives_text_that_ends_anywhere(void **state)
{
	for (size_t n = 0; n < strlen(line); n++) {
		char *copy = xstrndup(line, n);
		struct scan snapshot, processes;
		struct buf head = { 0 };
		struct frame f = { 0 };

		frame_reset(&f);
		if (snapshot_text_find(scan_mem(copy, n), &snapshot) &&
		    snapshot_text_split(snapshot, &head, &processes))
			snapshot_text_fill(processes, &f);
		snapshot_text_fill(scan_mem(copy, n), &f);
		frame_done(&f);
		buf_done(&head);
		free(copy);
	}
}

static void test_snapshot_text__knows_answers_from_notifications(void **state)
{
	struct scan ignored;

	assert_false(snapshot_text_find(scan_str("{\"jsonrpc\":\"2.0\",\"id\":3,\"result\":{}}"),
	                                &ignored));
	assert_false(
		snapshot_text_find(scan_str("{\"method\":\"bus.event\",\"params\":{}}"), &ignored));
	assert_true(snapshot_text_find(scan_str("{\"method\": \"daemon.top\", \"params\": {}}"),
	                               &ignored));
}

RUN_TESTS(TEST(test_live_frame__has_what_the_server_answered_and_no_more),
          TEST(test_live_frame__shows_deaths_whatever_the_number_of_sheets),
          TEST(test_live_frame__gives_jobs_of_the_same_id_to_their_users),
          TEST(test_live_frame__shows_one_job_of_one_user),
          TEST(test_snapshot_text__survives_text_that_ends_anywhere),
          TEST(test_snapshot_text__knows_answers_from_notifications))
