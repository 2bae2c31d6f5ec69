/* SPDX-License-Identifier: MIT */
#include "runfolder/runfolder.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/io.h"
#include "base/json_read.h"
#include "check.h"
#include "model/record_fields.h"
#include "runfolder/runfolder_read.h"
#include "store_kit.h"

#define WALL0_NS (UINT64_C(1790000000) * NS_PER_S)
#define BOOT0_NS (5000 * NS_PER_S)

struct fixture {
	char *dir, *path; /* path: dir/out */
	struct runfolder *folder;
	struct snapshot snap;
	uint64_t cpu_ns; /* of two CPUs together */
	uint64_t user_ns, idle_ns;
};

static int try_open(struct fixture *s, uint64_t interval_ns, struct err *err)
{
	const struct runfolder_options options = { .path = s->path,
		                                   .job = { .id = "train-1" },
		                                   .interval_ns = interval_ns };

	return runfolder_open(&options, &s->folder, err);
}

static struct fixture fixture_begin(uint64_t interval_ns)
{
	struct fixture s = { .dir = world_dir() };
	struct err err = { 0 };

	setenv("TZ", "UTC", 1);
	s.path = xasprintf("%s/deep/out", s.dir);
	if (try_open(&s, interval_ns, &err) < 0)
		fail_msg("%s", err.msg);
	return s;
}

static void fixture_end(struct fixture *s)
{
	runfolder_close(s->folder);
	snapshot_done(&s->snap);
	free(s->path);
	world_rmdir(s->dir);
}

static struct job *fixture_job(struct fixture *s)
{
	return &s->snap.jobs.at[0];
}

static char *fixture_load(const struct fixture *s, const char *name);

static void assert_count(const struct fixture *s, const char *name, const char *part, size_t n)
{
	cleanup(freep) char *text = fixture_load(s, name);
	size_t found = 0;

	for (const char *at = text; (at = strstr(at, part)); at++)
		found++;
	assert_int_equal(found, n);
}

/* The next snapshot, after so many ms in which two CPUs did this (percent). */
static void fixture_tick(struct fixture *s, uint64_t after_ms, uint64_t user_pct, uint64_t idle_pct)
{
	uint64_t elapsed_ns = s->snap.seq ? after_ms * NS_PER_MS : 0;
	struct snapshot last = { .seq = s->snap.seq,
		                 .wall_ns = s->snap.wall_ns,
		                 .boot_ns = s->snap.boot_ns };
	struct job *job;

	snapshot_reset(&s->snap);
	s->snap.seq = last.seq + 1;
	s->snap.elapsed_ns = elapsed_ns;
	s->snap.wall_ns = last.seq ? last.wall_ns + elapsed_ns : WALL0_NS;
	s->snap.boot_ns = last.seq ? last.boot_ns + elapsed_ns : BOOT0_NS;
	s->cpu_ns += 2 * elapsed_ns;
	s->user_ns += 2 * elapsed_ns / 100 * user_pct;
	s->idle_ns += 2 * elapsed_ns / 100 * idle_pct;
	readings_set(&s->snap.host, HOST_CPU_TOTAL, s->cpu_ns);
	readings_set(&s->snap.host, HOST_CPU_USER, s->user_ns);
	readings_set(&s->snap.host, HOST_CPU_IDLE, s->idle_ns);
	job = world_push(&s->snap.jobs);
	snprintf(job->id, sizeof job->id, "train-1");
	snprintf(job->type, sizeof job->type, "train.py");
	snprintf(job->command, sizeof job->command, "python train.py --epochs 3");
	job->started_ns = WALL0_NS;
}

static void fixture_put(struct fixture *s)
{
	struct err err = { 0 };

	if (runfolder_put(s->folder, &s->snap, &err) < 0)
		fail_msg("%s", err.msg);
}

static char *fixture_load(const struct fixture *s, const char *name)
{
	cleanup(freep) char *path = xasprintf("%s/%s", s->path, name);
	struct buf text = { 0 };
	struct err err = { 0 };

	if (load_file(AT_FDCWD, path, &text, &err) < 0)
		buf_puts(&text, "(none)");
	return text.at ? buf_take(&text) : xstrdup("");
}

static void assert_file(const struct fixture *s, const char *name, const char *wanted)
{
	cleanup(freep) char *text = fixture_load(s, name);

	assert_string_equal(text, wanted);
}

static bool has(const struct fixture *s, const char *name, const char *part)
{
	cleanup(freep) char *text = fixture_load(s, name);

	return strstr(text, part) != NULL;
}

static void assert_has(const struct fixture *s, const char *name, const char *part)
{
	cleanup(freep) char *text = fixture_load(s, name);

	if (!strstr(text, part))
		fail_msg("no %s in %s: %s", part, name, text);
}

static struct event *fixture_event(struct fixture *s, enum event_kind kind, const char *name,
                                 const char *text)
{
	struct event *e = world_push(&s->snap.events);

	e->kind = kind;
	e->wall_ns = s->snap.wall_ns - 100 * NS_PER_MS;
	e->name = (struct text_ref){ (uint32_t)s->snap.text.len, (uint32_t)strlen(name) };
	buf_puts(&s->snap.text, name);
	e->text = (struct text_ref){ (uint32_t)s->snap.text.len, (uint32_t)strlen(text) };
	buf_puts(&s->snap.text, text);
	return e;
}

/* The recorder ticks finely at the start and coarser later; lines come every two seconds. */
static void test_folder_put__writes_cpu_lines_at_one_interval(void **state)
{
	static const uint64_t steps_ms[] = { 0, 50, 50, 100, 200, 600, 999, 1001, 1000, 1000 };
	struct fixture s = fixture_begin(0);

	for (size_t i = 0; i < ARRAY_LEN(steps_ms); i++) {
		fixture_tick(&s, steps_ms[i], i < 7 ? 40 : 10, i < 7 ? 50 : 80);
		fixture_put(&s);
	}
	assert_file(&s, "cpu_metrics.csv",
	            "timestamp,usr_pct,idle_pct\n"
	            "2026/09/21 14:13:21.999,40.0,50.0\n"
	            "2026/09/21 14:13:24.000,10.0,80.0\n");
	assert_has(&s, "summary.json", "\"cpu_usr_mean_pct\":20.0,\"cpu_idle_mean_pct\":70.0");
	fixture_end(&s);
}

static void test_folder_put__follows_an_interval_that_was_asked_for(void **state)
{
	struct fixture s = fixture_begin(50 * NS_PER_MS);

	for (int i = 0; i < 4; i++) {
		fixture_tick(&s, 50, 25, 75);
		fixture_put(&s);
	}
	assert_file(&s, "cpu_metrics.csv",
	            "timestamp,usr_pct,idle_pct\n"
	            "2026/09/21 14:13:20.050,25.0,75.0\n"
	            "2026/09/21 14:13:20.100,25.0,75.0\n"
	            "2026/09/21 14:13:20.150,25.0,75.0\n");
	fixture_end(&s);
}

static void test_folder_end__counts_a_rest_of_half_a_line_or_all_there_is(void **state)
{
	static const struct {
		uint64_t ms;
		const char *lines;
	} cases[] = {
		{ 300, "2026/09/21 14:13:20.300,30.0,60.0\n" },
		{ 2900, "2026/09/21 14:13:22.000,30.0,60.0\n" },
		{ 3100, "2026/09/21 14:13:22.000,30.0,60.0\n2026/09/21 14:13:23.100,30.0,60.0\n" },
	};

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture s = fixture_begin(0);
		struct err err = { 0 };
		cleanup(freep) char *wanted = xasprintf(HARDWARE_FILE_CPU_HEAD "%s",
		                                        cases[i].lines);

		fixture_tick(&s, 0, 0, 0);
		fixture_put(&s);
		for (uint64_t at = 100; at <= cases[i].ms; at += 100) {
			fixture_tick(&s, 100, 30, 60);
			fixture_put(&s);
		}
		/* It is in the summary before the end: whoever is killed now loses little. */
		assert_has(&s, "summary.json", "\"cpu_usr_mean_pct\":30.0");
		assert_false(has(&s, "summary.json", "\"samples\":{\"cpu\":0"));
		assert_int_equal(runfolder_end(s.folder, NULL, NULL, &err), 0);
		assert_file(&s, "cpu_metrics.csv", wanted);
		assert_file(&s, "report.txt", "(none)");
		fixture_end(&s);
	}
}

static void test_folder_put__leaves_out_what_the_counters_cannot_show(void **state)
{
	struct fixture s = fixture_begin(NS_PER_S);

	fixture_tick(&s, 1000, 10, 10);
	fixture_put(&s);
	s.cpu_ns = s.user_ns = s.idle_ns = 0; /* they restarted */
	fixture_tick(&s, 1000, 10, 10);
	s.snap.host.value[HOST_CPU_TOTAL] = 0;
	fixture_put(&s);
	fixture_tick(&s, 1000, 50, 50);
	s.snap.host.present = 0; /* could not be read */
	fixture_put(&s);
	assert_file(&s, "cpu_metrics.csv", HARDWARE_FILE_CPU_HEAD);
	assert_has(&s, "summary.json", "\"cpu_usr_mean_pct\":\"/proc/stat could not be read\"");
	fixture_tick(&s, 1000, 50, 50);
	fixture_put(&s);
	fixture_tick(&s, 1000, 50, 50);
	fixture_put(&s);
	assert_file(&s, "cpu_metrics.csv",
	            HARDWARE_FILE_CPU_HEAD "2026/09/21 14:13:24.000,50.0,50.0\n");
	fixture_end(&s);
}

static void test_folder_put__rewrites_the_summary(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	struct job job;
	struct buf text = { 0 };
	char *summary;

	fixture_tick(&s, 0, 0, 0);
	fixture_put(&s);
	assert_has(&s, "summary.json", "\"status\":\"running\"");
	assert_has(&s, "summary.json", "\"peak_vram_mb\":\"no GPU here\"");
	assert_has(&s, "summary.json", "\"cpu_usr_mean_pct\":\"too short a time\"");
	fixture_tick(&s, 2500, 62, 31);
	fixture_put(&s);
	job = *fixture_job(&s);
	job.status = JOB_FAILED;
	job.has_exit_code = true;
	job.exit_code = 3;
	job.ended_ns = WALL0_NS + 2500 * NS_PER_MS;
	job.took_ns = 2500 * NS_PER_MS;
	job.figures[JOB_FIGURE_CPU] = (struct figure){ 3100 * NS_PER_MS, QUALITY_EXACT };
	job.figures[JOB_FIGURE_PEAK_RSS] = (struct figure){ UINT64_C(812) << 20, QUALITY_AT_LEAST };
	assert_int_equal(runfolder_end(s.folder, &job, "A report.\n", &err), 0);
	assert_file(&s, "report.txt", "A report.\n");
	summary = fixture_load(&s, "summary.json");
	buf_puts(&text, summary);
	assert_golden("run-folder-summary.json", &text);
	buf_done(&text);
	free(summary);
	fixture_end(&s);
}

/* What the job holds in the snapshot to come. */
static void fixture_sum(struct fixture *s, uint64_t used_mib, uint64_t cpu_ms, double cpu_ratio)
{
	*(struct job_sum *)world_push(&s->snap.sums) = (struct job_sum){
		.procs = 2,
		.rss_bytes = UINT64_C(5) << 19,
		.used = { used_mib << 20, used_mib ? QUALITY_SAMPLED : QUALITY_MISSING },
		.cpu_ns = { cpu_ms * NS_PER_MS, QUALITY_EXACT },
		.cpu_ratio = cpu_ratio,
		.written = { 4096, QUALITY_AT_LEAST },
	};
}

static void test_folder_put__writes_a_line_of_the_job_at_each_tick_and_one_at_its_end(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	struct job job;

	fixture_tick(&s, 0, 0, 0);
	fixture_sum(&s, 0, 0, NAN);
	fixture_put(&s);
	fixture_tick(&s, 500, 50, 50);
	fixture_sum(&s, 100, 250, 0.5);
	s.snap.sums.at[0].gpu_memory = (struct figure){ UINT64_C(512) << 20, QUALITY_SAMPLED };
	s.snap.sums.at[0].gpu_sm = (struct figure){ 375, QUALITY_SAMPLED };
	s.snap.sums.at[0].gpu_energy = (struct figure){ MJ_PER_WH / 4, QUALITY_SAMPLED };
	s.snap.sums.at[0].gpu_device_memory = (struct figure){ UINT64_C(1) << 30, QUALITY_SAMPLED };
	s.snap.sums.at[0].gpu_util = (struct figure){ 805, QUALITY_SAMPLED };
	fixture_put(&s);
	job = *fixture_job(&s);
	job.status = JOB_COMPLETED;
	job.has_exit_code = true;
	job.took_ns = 750 * NS_PER_MS;
	job.ended_ns = WALL0_NS + job.took_ns;
	job.figures[JOB_FIGURE_CPU] = (struct figure){ 500 * NS_PER_MS, QUALITY_EXACT };
	assert_int_equal(runfolder_end(s.folder, &job, NULL, &err), 0);
	assert_file(&s, "job_metrics.csv",
	            "timestamp,elapsed,used_mb,charged_mb,rss_mb,cpu_percent,cpu_seconds,"
	            "processes,read_bytes,written_bytes,gpu_memory_mb,gpu_sm_pct,gpu_energy_wh,"
	            "gpu_device_mb,gpu_util_pct\n"
	            "2026/09/21 14:13:20.000,0.000,,,2.500,,0.000,2,,4096,,,,,\n"
	            "2026/09/21 14:13:20.500,0.500,100.000,,2.500,50.0,0.250,2,,4096,512.000,37.5,0.250000,1024.000,80.5\n"
	            "2026/09/21 14:13:20.750,0.750,,,,100.0,0.500,0,,4096,,,0.250000,,\n");
	assert_has(&s, "summary.json", "\"job\":3}");
	fixture_end(&s);
}

static void test_folder_put__has_all_fields_of_a_sample(void **state)
{
	struct fixture s = fixture_begin(0);
	cleanup(freep) char *text = NULL, *head = NULL;

	(void)state;
	text = fixture_load(&s, "job_metrics.csv");
	head = xasprintf(",%.*s,", (int)strcspn(text, "\n"), text);
	for (size_t i = 0; i < job_sum_fields.n; i++) {
		cleanup(freep) char *key = xasprintf(",%s,", job_sum_fields.at[i].key);

		if (!strstr(head, key))
			fail_msg("no '%s' in %s", key, head);
	}
	fixture_end(&s);
}

/* The last row of a job on two CPUs: so long, with so much CPU time. */
static void assert_last_share(uint64_t row_ms, uint64_t cpu_ms, uint64_t tasks, const char *expected)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	cleanup(freep) char *text = NULL;
	struct job job;

	fixture_tick(&s, 0, 0, 0);
	fixture_sum(&s, 0, 0, NAN);
	fixture_put(&s);
	fixture_tick(&s, 500, 50, 50);
	fixture_sum(&s, 0, 450, 0.9);
	fixture_put(&s);
	job = *fixture_job(&s);
	job.status = JOB_COMPLETED;
	job.took_ns = (500 + row_ms) * NS_PER_MS;
	job.ended_ns = WALL0_NS + job.took_ns;
	job.allowed.cpus = 2;
	job.most_tasks = tasks;
	job.figures[JOB_FIGURE_CPU] = (struct figure){ (450 + cpu_ms) * NS_PER_MS, QUALITY_AT_LEAST };
	assert_int_equal(runfolder_end(s.folder, &job, NULL, &err), 0);
	text = fixture_load(&s, "job_metrics.csv");
	if (!strstr(text, expected))
		fail_msg("no '%s' in %s", expected, text);
	fixture_end(&s);
}

static void test_folder_end__writes_no_share_that_is_not_possible(void **state)
{
	(void)state;
	assert_last_share(100, 150, 8, ",150.0,0.600,");
	assert_last_share(100, 300, 8, ",200.0,0.750,");
	assert_last_share(100, 150, 1, ",100.0,0.600,");
	assert_last_share(30, 40, 8, ",90.0,0.490,");
}

static void test_folder_put__logs_marks_and_job_events(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	struct buf text = { 0 };
	struct sheet *sheet;
	struct event *e;
	char *log;

	fixture_tick(&s, 0, 0, 0);
	fixture_event(&s, EVENT_SPAWN, "", "");
	fixture_event(&s, EVENT_MARK, "epoch", "{\"loss\":0.25,\"jax_peak_bytes_mb\":\"2048.5\"}");
	e = fixture_event(&s, EVENT_PHASE, "load data", "{\"rows\":100}");
	e->count = 1234567890;
	sheet = world_push(&s.snap.sheets);
	*sheet = (struct sheet){ .num = 1, .label = "fetch", .started_ns = WALL0_NS };
	fixture_put(&s);
	fixture_put(&s); /* the same snapshot again: the sheet is not written twice, the rest was
	                  twice */
	fixture_tick(&s, 1000, 10, 10);
	sheet = world_push(&s.snap.sheets);
	*sheet = (struct sheet){ .num = 1,
		                 .status = JOB_COMPLETED,
		                 .started_ns = WALL0_NS,
		                 .ended_ns = WALL0_NS + 900 * NS_PER_MS,
		                 .has_exit_code = true };
	sheet = world_push(&s.snap.sheets); /* began and ended since the last tick */
	*sheet = (struct sheet){ .num = 2,
		                 .status = JOB_FAILED,
		                 .started_ns = WALL0_NS + 910 * NS_PER_MS,
		                 .ended_ns = WALL0_NS + 950 * NS_PER_MS,
		                 .signal = 9 };
	e = fixture_event(&s, EVENT_KILL, "", "");
	e->id.pid = 42;
	e->signal = 9;
	e->sender_pid = 7;
	memcpy(e->comm, "worker", 7);
	memcpy(e->sender_comm, "bash", 5);
	e = fixture_event(&s, EVENT_KILL, "", ""); /* `sheet` ends as its command did: no news */
	e->id.pid = e->sender_pid = 41;
	e->signal = 9;
	memcpy(e->comm, "proctor", 8);
	e = fixture_event(&s, EVENT_LOSS, "", "ring buffer full");
	e->job = -1;
	e->count = 12;
	fixture_event(&s, EVENT_LIMIT, "mem", "512 MiB");
	fixture_event(&s, EVENT_LIMIT, "pids", "full")->count = 50;
	fixture_event(&s, EVENT_LIMIT, "time", "over")->count = 2 * (int64_t)NS_PER_S;
	e = fixture_event(&s, EVENT_GAP, "", "disk full");
	e->job = -1;
	e->count = 1500 * (int64_t)NS_PER_MS;
	e = fixture_event(&s, EVENT_OOM, "", ""); /* of somebody else */
	e->job = -1;
	e->id.pid = 43;
	fixture_put(&s);
	assert_has(&s, "summary.json", "\"jax_peak_bytes_mb\":2048.5");
	fixture_job(&s)->status = JOB_COMPLETED;
	fixture_job(&s)->took_ns = NS_PER_S;
	assert_int_equal(runfolder_end(s.folder, fixture_job(&s), NULL, &err), 0);
	log = fixture_load(&s, "run.jsonl");
	buf_puts(&text, log);
	assert_golden("run-folder-log.jsonl", &text);
	buf_done(&text);
	free(log);
	fixture_end(&s);
}

/* Times of all lines, as they stand in the log, do not go back. */
static void assert_in_order(const struct fixture *s, size_t lines)
{
	cleanup(freep) char *log = fixture_load(s, "run.jsonl");
	char last[32] = "";
	size_t n = 0;

	for (const char *line = log; *line; line = strchr(line, '\n') + 1, n++) {
		char ts[32];

		snprintf(ts, sizeof ts, "%.24s", line + strlen("{\"ts\":\""));
		if (strcmp(ts, last) < 0)
			fail_msg("%s after %s: %s", ts, last, log);
		snprintf(last, sizeof last, "%s", ts);
	}
	assert_int_equal(n, lines);
}

static void test_folder_put__logs_sheets_and_marks_in_the_order_of_time(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };

	fixture_tick(&s, 0, 0, 0);
	fixture_put(&s);
	fixture_tick(&s, 1000, 10, 10);
	for (uint32_t num = 1; num <= 3; num++) {
		uint64_t began_ns = WALL0_NS + num * 200 * NS_PER_MS;

		*world_push(&s.snap.sheets) = (struct sheet){ .num = num,
			                                      .status = JOB_COMPLETED,
			                                      .started_ns = began_ns,
			                                      .ended_ns = began_ns +
			                                                  100 * NS_PER_MS };
		fixture_event(&s, EVENT_MARK, "before", "")->wall_ns = began_ns - 10 * NS_PER_MS;
		fixture_event(&s, EVENT_MARK, "within", "")->wall_ns = began_ns + 50 * NS_PER_MS;
	}
	s.snap.sheets.at[2].ended_ns = s.snap.wall_ns + NS_PER_S; /* closed as the job was over */
	fixture_put(&s);
	fixture_job(&s)->status = JOB_COMPLETED;
	fixture_job(&s)->ended_ns = s.snap.wall_ns;
	assert_int_equal(runfolder_end(s.folder, fixture_job(&s), NULL, &err), 0);
	assert_in_order(&s, 14);
	fixture_end(&s);
}

static void test_folder_put__logs_where_an_anomaly_begins_and_ends(void **state)
{
	struct fixture s = fixture_begin(0);
	struct anomaly a = { .kind = ANOMALY_ZOMBIE,
		             .severity = SEVERITY_HIGH,
		             .news = ANOMALY_BEGAN,
		             .id = { 42, 7 },
		             .comm = "sh",
		             .began_wall_ns = WALL0_NS,
		             .value = 3.5e9,
		             .peak = 3.5e9,
		             .threshold = 3e9 };

	fixture_tick(&s, 0, 0, 0);
	*(struct anomaly *)world_push(&s.snap.anomalies) = a;
	a.id.pid = 43;
	a.job = -1; /* somebody else's */
	*(struct anomaly *)world_push(&s.snap.anomalies) = a;
	fixture_put(&s);
	assert_has(&s, "run.jsonl", "\"event\":\"monitor.anomaly\"");
	assert_has(&s, "run.jsonl",
	           "\"anomaly_type\":\"zombie\",\"severity\":\"high\",\"pid\":42,"
	           "\"job_id\":\"train-1\",\"job_uid\":0,\"sheet_num\":null,"
	           "\"description\":\"zombie: sh 42 not reaped for 3.5 s\","
	           "\"metric_value\":3.5,\"threshold\":3.0,\"peak\":3.5,\"ended\":null,"
	           "\"basis\":\"threshold\",\"earlier_runs\":null}");
	fixture_tick(&s, 1000, 10, 10);
	a = (struct anomaly){ .news = ANOMALY_CHANGED, .id = { 42, 7 } };
	*(struct anomaly *)world_push(&s.snap.anomalies) = a;
	a = (struct anomaly){ .kind = ANOMALY_MEMORY_PRESSURE,
		              .severity = SEVERITY_CRITICAL,
		              .news = ANOMALY_ENDED,
		              .job = -1,
		              .began_wall_ns = WALL0_NS,
		              .ended_wall_ns = WALL0_NS + NS_PER_S,
		              .peak = 1 << 30,
		              .base = 16.0 * (1 << 30) };
	*(struct anomaly *)world_push(&s.snap.anomalies) = a;
	fixture_put(&s);
	assert_count(&s, "run.jsonl", "monitor.anomaly", 2);
	assert_has(&s, "run.jsonl", "\"pid\":null,\"job_id\":null");
	assert_has(&s, "run.jsonl", "memory pressure: 1.0 of 16.0 GiB available");
	fixture_end(&s);
}

static void fixture_gpu(struct fixture *s, uint32_t index, uint64_t util, uint64_t mib)
{
	struct gpu_sample *gpu = world_push(&s->snap.gpus);

	gpu->index = index;
	readings_set(&gpu->r, GPU_UTIL, util);
	readings_set(&gpu->r, GPU_MEM_UTIL, util / 2);
	readings_set(&gpu->r, GPU_MEM_USED, mib << 20);
	readings_set(&gpu->r, GPU_MEM_TOTAL, UINT64_C(1024) << 20);
	if (index == 0)
		readings_set(&gpu->r, GPU_POWER, 100000 + util);
}

static void test_folder_put__writes_gpu_files_when_there_is_one(void **state)
{
	struct fixture s = fixture_begin(0);

	fixture_tick(&s, 0, 0, 0);
	fixture_put(&s);
	assert_file(&s, "hw_metrics.csv", "(none)");
	for (uint64_t i = 0; i < 4; i++) {
		fixture_tick(&s, 1000, 50, 50);
		fixture_gpu(&s, 0, i * 10, i == 1 ? 900 : 100);
		fixture_gpu(&s, 1, 100, 50);
		fixture_put(&s);
	}
	assert_file(&s, "hw_metrics.csv",
	            "2026/09/21 14:13:21.000, 0, 0, 100, 1024, 100.00, [N/A], [N/A], [N/A]\n"
	            "2026/09/21 14:13:21.000, 100, 50, 50, 1024, [N/A], [N/A], [N/A], [N/A]\n"
	            "2026/09/21 14:13:23.000, 20, 10, 100, 1024, 100.02, [N/A], [N/A], [N/A]\n"
	            "2026/09/21 14:13:23.000, 100, 50, 50, 1024, [N/A], [N/A], [N/A], [N/A]\n");
	assert_file(&s, "hw_dmon.csv",
	            HARDWARE_FILE_DMON_HEAD
	            "    0      0      0    100\n    1    100     50     50\n"
	            "    0     20     10    100\n    1    100     50     50\n");
	/* The memory that was held between two lines counts. */
	assert_has(&s, "summary.json",
	           "\"peak_vram_mb\":900.0,\"gpu_util_mean_pct\":55.0,\"gpu_util_max_pct\":100.0,"
	           "\"mem_util_mean_pct\":27.5,\"mem_util_max_pct\":50.0,"
	           "\"power_watts_mean\":100.0,\"power_watts_max\":100.0");
	assert_has(&s, "summary.json", "\"gpu\":4,");
	fixture_end(&s);
}

/* Whoever reads the files comes to the summary that we wrote. */
static void test_folder_end__leaves_files_that_give_the_same_summary(void **state)
{
	struct fixture s = fixture_begin(0);
	struct buf out = { 0 };
	struct json j = { .out = &out };
	struct runfolder_reading reading;
	struct err err = { 0 };

	for (uint64_t i = 0; i < 99; i++) {
		fixture_tick(&s, 37 + i * 10, i * 7 % 61, i * 3 % 29);
		fixture_gpu(&s, 0, i * 13 % 101, 100 + i);
		fixture_event(&s, EVENT_MARK, "m", "{\"jax_peak_bytes_mb\":77.77}");
		fixture_put(&s);
	}
	fixture_job(&s)->status = JOB_COMPLETED;
	assert_int_equal(runfolder_end(s.folder, fixture_job(&s), NULL, &err), 0);
	assert_int_equal(runfolder_read(s.path, &reading, &err), 0);
	/* The peak may be one between two lines. */
	assert_true(reading.summary.series[RESOURCE_VRAM_MB].max_milli <= 198000);
	reading.summary.series[RESOURCE_VRAM_MB].max_milli = 198000;
	json_begin_object(&j);
	resource_summary_put(&j, &reading.summary);
	assert_has(&s, "summary.json", out.at + 1);
	buf_done(&out);
	fixture_end(&s);
}

static void test_folder_open__moves_an_earlier_run_aside(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };

	for (int i = 1; i <= 3; i++) {
		cleanup(freep) char *place = xasprintf("%s/run.%d", s.path, i);
		cleanup(freep) char *inside = xasprintf("run.%d/summary.json", i);

		fixture_tick(&s, 1000, 10, 10);
		fixture_put(&s);
		assert_int_equal(runfolder_end(s.folder, NULL, "r", &err), 0);
		runfolder_close(s.folder);
		s.folder = NULL;
		assert_int_equal(try_open(&s, 0, &err), 0);
		assert_string_equal(runfolder_moved_to(s.folder), place);
		assert_file(&s, "report.txt", "(none)");
		assert_file(&s, "summary.json", "(none)");
		assert_file(&s, "cpu_metrics.csv", HARDWARE_FILE_CPU_HEAD);
		assert_has(&s, inside, "train-1");
	}
	fixture_end(&s);
}

static void test_folder_open__removes_what_a_killed_run_left(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	pid_t pid = fork();
	cleanup(freep) char *left = NULL;

	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	left = xasprintf("%s/.proctor-%d-0123456789abcdef.new", s.path, (int)pid);
	assert_int_equal(close(open(left, O_WRONLY | O_CREAT, 0600)), 0);
	runfolder_close(s.folder);
	s.folder = NULL;
	assert_int_equal(try_open(&s, 0, &err), 0);
	assert_int_equal(access(left, F_OK), -1);
	fixture_end(&s);
}

static void test_folder_open__refuses_a_folder_that_is_in_use(void **state)
{
	struct fixture s = fixture_begin(0), other = { .path = s.path };
	struct err err = { 0 };

	assert_null(runfolder_moved_to(s.folder));
	assert_int_equal(try_open(&other, 0, &err), -EBUSY);
	assert_non_null(strstr(err.msg, s.path));
	assert_null(other.folder);
	fixture_end(&s);
}

static void test_folder_open__follows_no_link_and_touches_no_strange_file(void **state)
{
	static const char *const names[] = { "run.jsonl", "summary.json", "hw_metrics.csv",
		                             "report.txt" };
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };

	runfolder_close(s.folder);
	s.folder = NULL;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup(freep) char *path = xasprintf("%s/%s", s.path, names[i]);

		unlink(path);
		assert_int_equal(symlink("/etc/passwd", path), 0);
		assert_int_equal(try_open(&s, 0, &err), -EINVAL);
		assert_non_null(strstr(err.msg, names[i]));
		assert_int_equal(unlink(path), 0);
		assert_int_equal(mkfifo(path, 0600), 0);
		assert_int_equal(try_open(&s, 0, &err), -EINVAL);
		assert_int_equal(unlink(path), 0);
	}
	fixture_end(&s);
}

static void test_folder_open__reports_what_is_in_the_way(void **state)
{
	struct fixture s = { .dir = world_dir() };
	struct err err = { 0 };
	cleanup(freep) char *file = xasprintf("%s/file", s.dir);

	close(open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
	s.path = xasprintf("%s/file/out", s.dir);
	assert_int_equal(try_open(&s, 0, &err), -ENOTDIR);
	assert_non_null(strstr(err.msg, file));
	fixture_end(&s);
}

/* Puts until it is killed. */
static void put_forever(struct fixture *s)
{
	for (uint64_t i = 0;; i++) {
		fixture_tick(s, 10, i % 50, i % 40);
		fixture_event(s, EVENT_MARK, "step",
		            "{\"n\":1,\"text\":\"so that a line is not short\"}");
		fixture_gpu(s, 0, i % 100, i % 1000);
		fixture_put(s);
	}
}

static void assert_lines(const struct fixture *s, const char *name, bool are_objects)
{
	cleanup(freep) char *text = fixture_load(s, name);
	struct scan rest = scan_str(text), line;

	assert_true(strlen(text) == 0 || text[strlen(text) - 1] == '\n');
	while (are_objects && scan_line(&rest, &line))
		assert_true(json_read_is_object(line));
}

static void test_runfolder__is_whole_whenever_its_writer_is_killed(void **state)
{
	for (unsigned round = 0; round < 25; round++) {
		struct fixture s = fixture_begin(10 * NS_PER_MS);
		cleanup(freep) char *summary = NULL;
		pid_t pid = fork();

		if (pid == 0)
			put_forever(&s);
		usleep(2000 + round * 731 % 9000);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, NULL, 0), pid);
		summary = fixture_load(&s, "summary.json");
		assert_true(strcmp(summary, "(none)") == 0 ||
		            json_read_is_object(scan_str(summary)));
		assert_lines(&s, "run.jsonl", true);
		assert_lines(&s, "cpu_metrics.csv", false);
		assert_lines(&s, "job_metrics.csv", false);
		fixture_end(&s);
	}
}

/* With the next line it begins to fit again. */
static void test_folder_put__keeps_whole_lines_and_the_last_summary_on_a_full_disk(void **state)
{
	struct fixture s = fixture_begin(NS_PER_S);
	struct rlimit before, small;
	struct err err = { 0 };
	char *summary;

	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 40, before.rlim_max };
	fixture_tick(&s, 1000, 10, 90);
	fixture_put(&s);
	summary = fixture_load(&s, "summary.json");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	for (int i = 0; i < 2; i++) {
		fixture_tick(&s, 1000, 10, 90);
		assert_int_equal(runfolder_put(s.folder, &s.snap, &err), -ENOSPC);
	}
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_non_null(strstr(err.msg, s.path));
	assert_file(&s, "cpu_metrics.csv", HARDWARE_FILE_CPU_HEAD);
	assert_file(&s, "summary.json", summary);
	fixture_tick(&s, 1000, 10, 90);
	fixture_put(&s);
	assert_file(&s, "cpu_metrics.csv",
	            HARDWARE_FILE_CPU_HEAD "2026/09/21 14:13:23.000,10.0,90.0\n");
	assert_has(&s, "summary.json", "\"lines_lost\":2");
	free(summary);
	fixture_end(&s);
}

static void test_folder_put__reports_that_the_folder_is_gone(void **state)
{
	struct fixture s = fixture_begin(0);
	struct err err = { 0 };
	static const char *const names[] = { "run.jsonl", "cpu_metrics.csv", "job_metrics.csv" };

	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		cleanup(freep) char *path = xasprintf("%s/%s", s.path, names[i]);

		assert_int_equal(unlink(path), 0);
	}
	assert_int_equal(rmdir(s.path), 0);
	fixture_tick(&s, 0, 0, 0);
	assert_int_equal(runfolder_put(s.folder, &s.snap, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "summary.json"));
	fixture_end(&s);
}

RUN_TESTS(TEST(test_folder_put__logs_sheets_and_marks_in_the_order_of_time),
          TEST(test_folder_put__logs_where_an_anomaly_begins_and_ends),
          TEST(test_folder_open__removes_what_a_killed_run_left),
          TEST(test_folder_put__writes_cpu_lines_at_one_interval),
          TEST(test_folder_put__follows_an_interval_that_was_asked_for),
          TEST(test_folder_end__counts_a_rest_of_half_a_line_or_all_there_is),
          TEST(test_folder_put__leaves_out_what_the_counters_cannot_show),
          TEST(test_folder_put__rewrites_the_summary),
          TEST(test_folder_put__writes_a_line_of_the_job_at_each_tick_and_one_at_its_end),
          TEST(test_folder_put__has_all_fields_of_a_sample),
          TEST(test_folder_end__writes_no_share_that_is_not_possible),
          TEST(test_folder_put__logs_marks_and_job_events),
          TEST(test_folder_put__writes_gpu_files_when_there_is_one),
          TEST(test_folder_end__leaves_files_that_give_the_same_summary),
          TEST(test_folder_open__moves_an_earlier_run_aside),
          TEST(test_folder_open__refuses_a_folder_that_is_in_use),
          TEST(test_folder_open__follows_no_link_and_touches_no_strange_file),
          TEST(test_folder_open__reports_what_is_in_the_way),
          TEST(test_runfolder__is_whole_whenever_its_writer_is_killed),
          TEST(test_folder_put__keeps_whole_lines_and_the_last_summary_on_a_full_disk),
          TEST(test_folder_put__reports_that_the_folder_is_gone))
