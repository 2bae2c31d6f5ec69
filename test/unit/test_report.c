/* SPDX-License-Identifier: MIT */
#include "view/report_view.h"

#include <inttypes.h>
#include <signal.h>
#include <time.h>

#include "analyze/verdict_rules.h"
#include "check.h"
#include "model_kit.h"
#include "view/verdict_advice.h"

static void add_processes(struct report *r)
{
	struct process_record main = kit_process(2417, "python", "python train.py --epochs 3", 1,
	                                         760);
	struct process_record dead = kit_process(2500, "loader", "loader\x1b[31m --shard 0", 30,
	                                         40);
	struct process_record left = kit_process(2600, "tensorboard", "tensorboard --logdir .", 50,
	                                         0);

	dead.has_exit_code = false;
	dead.signal = SIGSEGV;
	dead.core_dumped = true;
	left.cpu_time_ns.quality = QUALITY_SAMPLED;
	left.peak_rss_bytes.quality = QUALITY_MISSING;
	report_add_process(r, &main);
	report_add_process(r, &dead);
	report_add_process(r, &left);
	for (pid_t pid = 3000; pid < 3200; pid++) {
		struct process_record p = kit_process(pid, "true", "", 100, 100.01);

		if (pid == 3199)
			p.cpu_time_ns.quality = QUALITY_MISSING;
		report_add_process(r, &p);
	}
}

static void add_anomalies(struct report *r)
{
	struct anomaly_record a = {
		.kind = "memory_spike",
		.severity = SEVERITY_HIGH,
		.process = { 2417, 1000 },
		.job_id = "train.py-7f3a",
		.sheet = 2,
		.began_ns = KIT_AT(60),
		.ended_ns = KIT_AT(84),
		.value = 2500,
		.peak = 4710.4,
		.threshold = 2300,
		.description = "memory spike: python 2417 2.1 → 4.6 GiB in 24 s",
	};

	report_add_anomaly(r, &a);
	a = (struct anomaly_record){ .kind = "memory_pressure",
		                     .severity = SEVERITY_CRITICAL,
		                     .began_ns = KIT_AT(70),
		                     .value = 90,
		                     .peak = NAN,
		                     .threshold = 100,
		                     .description = "memory pressure: 0.1 of 1.0 GiB available" };
	report_add_anomaly(r, &a);
}

static void add_events(struct report *r)
{
	struct event_record e = kit_event(EVENT_EXIT, 40, 2500, "core dumped");

	e.signal = SIGSEGV;
	report_add_event(r, &e);
	for (pid_t pid = 3000; pid < 3004; pid++) {
		e = kit_event(EVENT_EXIT, 100, pid, "");
		e.has_exit_code = true;
		e.exit_code = 1;
		report_add_event(r, &e);
	}
	e = kit_event(EVENT_EXIT, 101, 3005, "");
	e.has_exit_code = true;
	report_add_event(r, &e); /* nothing to report */
	e = kit_event(EVENT_SIGNAL, 120, 2417, "sent by bash (pid 12, uid 0)");
	e.signal = SIGTERM;
	report_add_event(r, &e);
	e = kit_event(EVENT_SIGNAL, 120, 2500, "sent by loader (pid 2500, uid 0)");
	e.signal = SIGSEGV;
	report_add_event(r, &e); /* its own doing */
	e = kit_event(EVENT_GAP, 121, 0, "");
	e.count = 137000000;
	report_add_event(r, &e); /* too short to matter */
	e = kit_event(EVENT_OOM, 121, 2417, NULL);
	report_add_event(r, &e);
	e = kit_event(EVENT_LOSS, 130, 0, "the ring buffer was full");
	e.count = 1234;
	report_add_event(r, &e);
	e = kit_event(EVENT_GAP, 140, 0, "");
	e.count = 3200000000;
	report_add_event(r, &e);
	e = kit_event(EVENT_PROBE, 150, 0, "probe 'cgroup': gone; its metrics are absent");
	report_add_event(r, &e);
	e = kit_event(EVENT_KILL, 160, 77, NULL);
	e.signal = SIGKILL;
	report_add_event(r, &e);
	e = kit_event(EVENT_MARK, 12.5, 0, "{\"loss\":0.4}");
	e.name = "epoch";
	report_add_event(r, &e);
	e = kit_event(EVENT_PHASE, 62, 0, NULL);
	e.name = "load\n";
	e.count = (int64_t)(60 * NS_PER_S);
	report_add_event(r, &e);
}

/* A process whose last calls were kept, and one whose were not. */
static void add_last_calls(struct report *r)
{
	struct last_call_record c = { .process = { 2500, 3000 },
		                      .comm = "loader",
		                      .signal = SIGSEGV,
		                      .core_dumped = true,
		                      .ended_ns = KIT_AT(40),
		                      .began_ns = KIT_AT(39),
		                      .seconds = 0.000002,
		                      .result = 4096,
		                      .tid = 2500,
		                      .call = "read",
		                      .text = "read(3</data/shards/a long name of a directory/and "
		                              "of a file in it>, ..., 4096) = 4096" };

	for (int i = 0; i < 9; i++)
		report_add_last_call(r, &c);
	c.result = -1;
	c.call = "openat";
	c.error = "ENOENT";
	c.tid = 2501;
	c.seconds = 1.5;
	c.text = "openat(AT_FDCWD, \"/data/\\x1b[31m\", O_RDONLY) = -1 ENOENT";
	report_add_last_call(r, &c);
	c.error = c.text = NULL;
	c.process.pid = 2400;
	report_add_last_call(r, &c);
}

static struct report full_report(void)
{
	struct report r = { .job = kit_good_job(),
		            .host = "gpu-03",
		            .user = "ana",
		            .cpus = 8,
		            .now_ns = KIT_AT(10000) };
	static const char *const labels[] = { "preprocess", "fit", "export" };
	static const double ends[] = { 0, 62, 713, 761 };

	for (uint32_t i = 0; i < 3; i++) {
		struct sheet_record s = kit_sheet(i + 1, labels[i], ends[i], ends[i + 1]);

		if (i == 2) {
			s.s.status = JOB_FAILED;
			s.s.exit_code = 3;
			s.use.max_cpu_ratio = NAN;
			s.use.figures[SHEET_FIGURE_CPU].quality = QUALITY_AT_LEAST;
			s.use.figures[SHEET_FIGURE_PEAK_RSS].quality = QUALITY_MISSING;
		}
		report_add_sheet(&r, &s);
	}
	report_add_gpu(&r, &(struct gpu_record){ .name = "Fake GPU",
	                                         .util_mean_ratio = 0.71,
	                                         .util_max_ratio = 0.99,
	                                         .mem_peak_bytes = 14.2 * (double)KIT_GIB,
	                                         .mem_total_bytes = 24.0 * (double)KIT_GIB,
	                                         .power_mean_w = 250,
	                                         .power_max_w = 310,
	                                         .own_peak_bytes = 13.9 * (double)KIT_GIB,
	                                         .is_used = true });
	report_add_gpu(&r, &(struct gpu_record){ 1, NULL, NAN, NAN, NAN, NAN, NAN, NAN, NAN });
	kit_figure(&r.job, JOB_FIGURE_GPU_TIME, 487 * NS_PER_S, QUALITY_SAMPLED);
	kit_figure(&r.job, JOB_FIGURE_GPU_SM, 640, QUALITY_SAMPLED);
	kit_figure(&r.job, JOB_FIGURE_GPU_SM_MAX, 970, QUALITY_SAMPLED);
	kit_figure(&r.job, JOB_FIGURE_GPU_ENERGY, UINT64_C(41) * MJ_PER_WH, QUALITY_SAMPLED);
	kit_figure(&r.job, JOB_FIGURE_GPU_HELD, 740 * NS_PER_S, QUALITY_SAMPLED);
	kit_figure(&r.job, JOB_FIGURE_GPU_IDLE_HELD, 214 * NS_PER_S, QUALITY_SAMPLED);
	add_processes(&r);
	add_anomalies(&r);
	add_events(&r);
	add_last_calls(&r);
	kit_figure(&r.job, JOB_FIGURE_LEAKED, 1, QUALITY_EXACT);
	for (int i = 0; i <= 760; i += 10) {
		struct job_sum_record s = kit_sum(i, KIT_GIB * 61 / 10 * (uint64_t)i / 760,
		                                  i ? 8.0 * i / 760 : NAN);

		report_add_sum(&r, &s);
	}
	return r;
}

static void assert_report(const struct report *r, struct style style, const char *golden)
{
	struct buf out = { 0 };

	report_view(r, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
}

static void test_report__shows_all_of_a_job(void **state)
{
	struct report r = full_report();

	report_end(&r);
	assert_report(&r, (struct style){ .width = 110, .unicode = true }, "report-110.txt");
	assert_report(&r, (struct style){ .width = SIZE_MAX }, "report-pipe.txt");
	assert_report(&r, (struct style){ .width = 40, .unicode = true }, "report-40.txt");
	report_done(&r);
}

static void test_report_view_markdown__shows_all_of_a_job(void **state)
{
	struct report r = full_report();
	const struct verdict verdict = { 0 };
	struct buf out = { 0 };

	report_end(&r);
	report_view_markdown(&r, &verdict, &out);
	assert_golden("report.md", &out);
	buf_done(&out);
	report_done(&r);
}

static void test_report__shows_no_share_of_a_core_for_a_job_of_milliseconds(void **state)
{
	struct report r = { .job = kit_oom_job(), .now_ns = KIT_AT(1000) };
	const struct style style = { .width = 100 };
	struct buf out = { 0 };

	(void)state;
	r.job.figures[JOB_FIGURE_SELF_CPU] = (struct figure){ 10 * NS_PER_MS, QUALITY_EXACT };
	r.job.took_ns = 3 * NS_PER_MS;
	report_view(&r, CANVAS(&style, &out));
	assert_non_null(strstr(out.at, "10.0ms CPU"));
	assert_null(strstr(out.at, "of a core"));
	buf_done(&out);
	report_done(&r);
}

static void test_report__states_when_there_is_no_data(void **state)
{
	struct report r = { .now_ns = KIT_AT(100) };

	r.job = (struct job){ .id = "x-1", .type = "x", .started_ns = KIT_STARTED_NS };
	assert_false(report_has_data(&r));
	assert_report(&r, (struct style){ .width = 80 }, "report-empty.txt");
	report_done(&r);
}

static void test_report__names_what_is_missing(void **state)
{
	struct report r = { .job = kit_oom_job(), .now_ns = KIT_AT(1000) };

	snprintf(r.job.parent, sizeof r.job.parent, "pipeline-1");
	r.job.figures[JOB_FIGURE_CPU].quality = QUALITY_MISSING;
	r.job.figures[JOB_FIGURE_SELF_CPU].quality = QUALITY_MISSING;
	r.job.figures[JOB_FIGURE_PEAK_RSS].quality = QUALITY_MISSING;
	r.job.largest_pid = 0;
	assert_report(&r, (struct style){ .width = 100 }, "report-missing.txt");
	report_done(&r);
}

static void test_report_json__has_the_keys_of_the_profile(void **state)
{
	struct report r = full_report();
	struct buf out = { 0 };
	struct json j = { .out = &out };

	snprintf(r.job.tier, sizeof r.job.tier, "BPF tracepoints, cgroup v2, " FLIGHT_TIER);
	report_end(&r);
	r.next = (struct next_request){ UINT64_C(3) << 30, UINT64_C(2450) << 20, 14 };
	report_view_json(&r, &j);
	buf_putc(&out, '\n');
	assert_golden("report.json", &out);
	buf_done(&out);
	report_done(&r);
}

static struct process_record process_of(pid_t pid, const char *name, uint64_t cpu_ms, uint64_t mib,
                                        enum quality quality)
{
	struct process_record p = kit_process(pid, name, "", 0, 1);

	p.cpu_time_ns = (struct figure){ cpu_ms * NS_PER_MS, QUALITY_EXACT };
	p.peak_rss_bytes = (struct figure){ mib << 20, quality };
	return p;
}

static void test_report__costly_is_cpu_time_then_own_memory_of_others_programs(void **state)
{
	struct report r = { .job = kit_good_job() };
	const struct process_record all[] = {
		process_of(1, "sleep", 1, 3, QUALITY_EXACT),
		process_of(2, "bash", 1, 800, QUALITY_AT_MOST),
		process_of(3, "cache", 2, 500, QUALITY_EXACT),
		process_of(4, "proctor", 900, 900, QUALITY_EXACT),
		process_of(5, "gzip", 700, 2, QUALITY_EXACT),
	};

	for (size_t i = 0; i < ARRAY_LEN(all); i++)
		report_add_process(&r, &all[i]);
	assert_int_equal(r.n_costly, 4);
	assert_int_equal(r.costly[0].p.id.pid, 5);
	assert_int_equal(r.costly[1].p.id.pid, 3);
	report_done(&r);
}

static void test_report__a_sheet_that_was_seen_with_its_helpers_name_passes_on_a_death(void **state)
{
	struct report r = { .job = kit_good_job() };
	struct process_record sheet = process_of(7, "proctor-signals", 1, 1, QUALITY_EXACT);
	struct process_record command = process_of(8, "sh", 1, 1, QUALITY_EXACT);

	sheet.has_exit_code = command.has_exit_code = false;
	sheet.signal = command.signal = SIGKILL;
	command.ppid = sheet.id.pid;
	report_add_process(&r, &sheet);
	report_add_process(&r, &command);
	assert_int_equal(r.programs.len, 2);
	assert_int_equal(r.programs.at[0].signalled, 0);
	assert_int_equal(r.programs.at[1].signalled, 1);
	report_done(&r);
}

static void test_report__of_many_marks_the_first_and_the_last_are_shown(void **state)
{
	enum { N = REPORT_MARKS_MAX + 700 };
	struct report r = { .job = kit_good_job() };
	struct buf out = { 0 };

	for (uint64_t i = 1; i <= N; i++) {
		char name[16];

		snprintf(name, sizeof name, "m%" PRIu64 ".", i);
		report_add_event(&r, &(struct event_record){ .kind = EVENT_MARK,
		                                             .name = name,
		                                             .wall_ns = r.job.started_ns + i });
	}
	report_end(&r);
	report_view_text(&r, &out);
	assert_non_null(strstr(out.at, " m1. "));
	assert_non_null(strstr(out.at, " m3. "));
	assert_null(strstr(out.at, " m4. "));
	assert_null(strstr(out.at, " m1690. "));
	assert_non_null(strstr(out.at, " m1691. "));
	assert_non_null(strstr(out.at, " m1700. "));
	assert_non_null(strstr(out.at, "1,687 more"));
	buf_done(&out);
	report_done(&r);
}

static void test_report__keeps_the_most_costly_in_order(void **state)
{
	struct report r = { .job = kit_good_job() };

	for (pid_t pid = 1; pid <= 100; pid++) {
		struct process_record p = kit_process(pid, "worker", "", 0, (pid * 37 % 101) + 1);

		p.peak_rss_bytes.quality = QUALITY_MISSING;
		report_add_process(&r, &p);
	}
	assert_int_equal(r.n_costly, REPORT_COSTLY);
	for (size_t i = 1; i < r.n_costly; i++)
		assert_true(r.costly[i - 1].cost.cpu_ns >= r.costly[i].cost.cpu_ns);
	assert_int_equal(r.costly[0].p.cpu_time_ns.value, 101 * 2 * NS_PER_S);
	assert_int_equal(r.unique_pids, 100);
	assert_int_equal(r.programs.len, 1);
	report_done(&r);
}

static void test_report__orders_small_processes_by_cpu_time(void **state)
{
	struct report r = { .job = kit_good_job() };

	(void)state;
	for (pid_t pid = 1; pid <= 5; pid++) {
		struct process_record p = kit_process(pid, "worker", "", 0, 1);

		p.cpu_time_ns.value = (uint64_t)(pid * 3 % 5 + 1) * NS_PER_MS;
		p.peak_rss_bytes.value = (uint64_t)(6 - pid) << 16;
		report_add_process(&r, &p);
	}
	for (size_t i = 0; i < r.n_costly; i++)
		assert_int_equal(r.costly[i].cost.cpu_ns, (5 - i) * NS_PER_MS);
	report_done(&r);
}

/* What a process dies of is one note, and a shell that ends for it none. */
static void test_report__has_one_note_of_many_anomalies_of_one_program(void **state)
{
	struct report r = { .job = kit_good_job() };

	(void)state;
	for (pid_t pid = 50; pid < 80; pid++) {
		struct process_record p = kit_process(pid, "python3", "", 0, 1);
		struct anomaly_record a = { .kind = "zombie",
			                    .severity = SEVERITY_HIGH,
			                    .process = p.id,
			                    .began_ns = KIT_AT(3),
			                    .description = pid == 50 ? "zombie: python3 50"
			                                             : "zombie: python3" };

		report_add_process(&r, &p);
		report_add_anomaly(&r, &a);
	}
	assert_int_equal(r.notes.len, 1);
	assert_int_equal(r.notes.at[0].count, 30);
	assert_string_equal(r.notes.at[0].details, "zombie: python3 50");
	report_done(&r);
}

static void test_report__has_one_note_of_one_cause(void **state)
{
	struct report r = { .job = kit_good_job() };
	struct process_record shell = kit_process(50, "sh", "", 0, 1),
			      victim = kit_process(51, "python3", "", 0, 1),
			      sleeper = kit_process(52, "sleep", "", 0, 1);
	struct event_record e;

	(void)state;
	victim.ppid = sleeper.ppid = 50;
	sleeper.signal = SIGTERM;
	victim.signal = SIGKILL;
	report_add_process(&r, &shell);
	report_add_process(&r, &sleeper);
	report_add_process(&r, &victim);
	e = kit_event(EVENT_SIGNAL, 1, 52, "sent by timeout (pid 12, uid 0)");
	e.signal = SIGTERM;
	report_add_event(&r, &e);
	e = kit_event(EVENT_SIGNAL, 1, 52, "sent by timeout (pid 12, uid 0)");
	e.signal = SIGCONT;
	report_add_event(&r, &e);
	e = kit_event(EVENT_EXIT, 2, 52, "");
	e.signal = SIGTERM;
	report_add_event(&r, &e);
	e = kit_event(EVENT_KILL, 3, 51, "sent by the kernel");
	e.signal = SIGKILL;
	report_add_event(&r, &e);
	e = kit_event(EVENT_OOM, 4, 51, NULL);
	report_add_event(&r, &e);
	e = kit_event(EVENT_EXIT, 4, 51, "");
	e.signal = SIGKILL;
	report_add_event(&r, &e);
	e = kit_event(EVENT_EXIT, 5, 50, "");
	e.has_exit_code = true;
	e.exit_code = 128 + SIGKILL;
	report_add_event(&r, &e);
	report_end(&r);
	assert_int_equal(r.notes.len, 3);
	assert_int_equal(r.notes.at[0].kind, NOTE_SIGNAL);
	assert_int_equal(r.notes.at[0].signal, SIGTERM);
	assert_int_equal(r.notes.at[1].signal, SIGCONT);
	assert_int_equal(r.notes.at[2].kind, NOTE_OOM);
	report_done(&r);
}

static void add_signalled(struct report *r, enum event_kind kind, int pid, int signal,
                          const char *details)
{
	struct event_record e = kit_event(kind, 1, pid, details);

	e.signal = signal;
	report_add_event(r, &e);
}

static void test_report__has_one_note_of_a_death_that_came_before_its_signal(void **state)
{
	struct report r = { .job = kit_good_job() };
	struct process_record one = kit_process(52, "sleep", "", 0, 1),
			      two = kit_process(53, "sleep", "", 0, 1);

	(void)state;
	one.signal = two.signal = SIGINT;
	report_add_process(&r, &one);
	report_add_process(&r, &two);
	add_signalled(&r, EVENT_EXIT, 52, SIGINT, "");
	add_signalled(&r, EVENT_EXIT, 53, SIGINT, "");
	add_signalled(&r, EVENT_SIGNAL, 52, SIGINT, "sent by the kernel");
	add_signalled(&r, EVENT_SIGNAL, 52, SIGINT, "sent by the kernel");
	add_signalled(&r, EVENT_SIGNAL, 53, SIGTERM, "sent by bash (pid 7, uid 0)");
	report_end(&r);
	assert_int_equal(r.notes.len, 3);
	assert_int_equal(r.notes.at[0].kind, NOTE_DEATH); /* of the second one */
	assert_int_equal(r.notes.at[0].count, 1);
	assert_int_equal(r.notes.at[1].kind, NOTE_SIGNAL);
	assert_int_equal(r.notes.at[1].signal, SIGINT);
	assert_int_equal(r.notes.at[2].signal, SIGTERM);
	report_done(&r);
}

static void test_report__bounds_what_it_keeps(void **state)
{
	struct report r = { .job = kit_good_job() };

	for (uint32_t i = 0; i < REPORT_NOTES_MAX + 1000; i++) {
		char name[COMM_LEN];
		struct process_record p = kit_process((pid_t)i + 1, name, "", 0, 1);
		struct event_record e = kit_event(EVENT_EXIT, 1, (pid_t)i + 1, NULL);

		snprintf(name, sizeof name, "p%u", i);
		e.has_exit_code = true;
		e.exit_code = (int)i + 1;
		report_add_process(&r, &p);
		report_add_event(&r, &e);
	}
	assert_int_equal(r.programs.len, REPORT_PROGRAMS_MAX);
	assert_string_equal(r.programs.at[REPORT_PROGRAMS_MAX - 1].name, "(others)");
	assert_int_equal(r.notes.len, REPORT_NOTES_MAX);
	assert_int_equal(r.notes_dropped, 1000);
	report_done(&r);
}

static void test_report__points_to_the_rest_safely(void **state)
{
	struct report r = { .job = kit_good_job(), .now_ns = KIT_AT(1000) };
	struct buf out = { 0 };

	snprintf(r.job.id, sizeof r.job.id, "x\x1b[2J");
	for (int i = 0; i < 30; i++) {
		struct event_record mark = kit_event(EVENT_MARK, i, 0, NULL),
				    end = kit_event(EVENT_EXIT, i, 5, NULL);

		mark.name = "step";
		end.has_exit_code = true;
		end.exit_code = i + 1;
		report_add_event(&r, &mark);
		report_add_event(&r, &end);
	}
	report_view(&r, CANVAS((&(struct style){ .width = 80 }), &out));
	assert_null(strchr(out.at, '\x1b'));
	assert_non_null(
		strstr(out.at, "17 more; see: proctor events x\\x1b[2J --kind mark,phase\n"));
	assert_non_null(strstr(out.at, "15 more; see: proctor events x\\x1b[2J\n"));
	buf_done(&out);
	report_done(&r);
}

static int set_zone(void **state)
{
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

static size_t anomaly_notes(uint64_t allowed_bytes, unsigned limits_hit)
{
	struct report r = { .job = kit_good_job() };
	size_t n = 0;

	r.job.allowed.memory_bytes = allowed_bytes;
	r.job.limits_hit = limits_hit;
	add_anomalies(&r); /* a spike to 4.6 GiB, and pressure */
	report_end(&r);
	vec_each(&r.notes, note)
		n += note->kind == NOTE_ANOMALY;
	assert_int_equal(r.anomalies.len, 2); /* all of them, for programs */
	report_done(&r);
	return n;
}

static void test_report__notes_a_memory_spike_only_where_memory_is_short(void **state)
{
	assert_int_equal(anomaly_notes(32 * KIT_GIB, 0), 1);
	assert_int_equal(anomaly_notes(0, 0), 1);
	assert_int_equal(anomaly_notes(5 * KIT_GIB, 0), 2);
	assert_int_equal(anomaly_notes(32 * KIT_GIB, 1u << JOB_LIMIT_MEM), 2);
}

/* … which is known from its launcher, though the event of its end was lost. */
static void test_report__knows_how_the_command_of_a_launched_job_ended(void **state)
{
	struct process_record command = kit_process(2417, "divide", "./divide", 1, 0);
	struct report r = { .job = { .status = JOB_FAILED,
		                     .signal = SIGFPE,
		                     .started_ns = KIT_AT(0),
		                     .ended_ns = KIT_AT(3),
		                     .took_ns = 3 * NS_PER_S } };
	struct verdict v;

	command.has_exit_code = false;
	r.job.figures[JOB_FIGURE_COMMAND_TOOK] = (struct figure){ 3 * NS_PER_S, QUALITY_EXACT };
	report_add_process(&r, &command);
	verdict_rules_judge(&r.job, &r.facts, &v);
	assert_int_equal(v.code, VERDICT_ARITHMETIC_ERROR);
	assert_int_equal(v.confidence, CONFIDENCE_MEDIUM);
	assert_string_equal(v.culprit.name, "divide");
	assert_int_equal(r.unended, 0);
	report_done(&r);
}

static struct advice advice_for(const struct report *r, const struct verdict *v)
{
	struct advice list[ADVICE_MAX];

	assert_int_equal(verdict_advice(r, v, list), 1);
	return list[0];
}

static void test_verdict_advice__names_the_program_unless_another_one_may_be_meant(void **state)
{
	const struct verdict v = { .code = VERDICT_NOT_EXECUTABLE };
	struct report r = { .job.command = "./train.sh --fast" };

	r.job.figures[JOB_FIGURE_PROCESSES].quality = QUALITY_EXACT;
	assert_string_equal(advice_for(&r, &v).command, "chmod +x ./train.sh");
	snprintf(r.job.command, sizeof r.job.command, "./a;b");
	assert_string_equal(advice_for(&r, &v).command, "chmod +x FILE");
	snprintf(r.job.command, sizeof r.job.command, "sh -c ./train.sh");
	r.job.figures[JOB_FIGURE_PROCESSES].value = 1;
	assert_string_equal(advice_for(&r, &v).command, "chmod +x FILE");
}

static void test_verdict_advice__finds_the_disk_of_a_relative_name(void **state)
{
	struct verdict v = { .code = VERDICT_DISK_FULL };
	struct report r = { .job.cwd = "/home/ana" };

	snprintf(verdict_add(&v, EVIDENCE_DISK)->text, VERDICT_TEXT_MAX, "scratch/out.bin");
	assert_string_equal(advice_for(&r, &v).command, "df -h /home/ana/scratch/out.bin");
	snprintf(v.evidence[0].text, VERDICT_TEXT_MAX, "/data");
	assert_string_equal(advice_for(&r, &v).command, "df -h /data");
	snprintf(v.evidence[0].text, VERDICT_TEXT_MAX, "standard output");
	assert_string_equal(advice_for(&r, &v).command, "df -h .");
	snprintf(v.evidence[0].text, VERDICT_TEXT_MAX, "/my data/$(id)'s");
	assert_string_equal(advice_for(&r, &v).command, "df -h '/my data/$(id)'\\''s'");
}

static void test_report_view__shows_a_limit_once(void **state)
{
	struct report r = { .job = kit_good_job(), .now_ns = KIT_AT(3600) };
	struct buf out = { 0 };

	r.job.limit[JOB_LIMIT_MEM] = r.job.allowed.memory_bytes = 8 * KIT_GIB;
	snprintf(r.job.allowed.memory_source, sizeof r.job.allowed.memory_source, ALLOWANCE_OWN);
	r.job.limit[JOB_LIMIT_CPU] = r.job.allowed.milli_cores = 4000;
	report_view_text(&r, &out);
	assert_null(strstr(out.at, "Limits"));
	r.job.limit[JOB_LIMIT_PIDS] = 100;
	r.job.limits_hit = 1u << JOB_LIMIT_MEM;
	buf_reset(&out);
	report_view_text(&r, &out);
	assert_non_null(strstr(out.at, "Limits       memory 8.0 GiB (met), 100 tasks\n"));
	buf_done(&out);
	report_done(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_report__notes_a_memory_spike_only_where_memory_is_short),
		TEST(test_report__knows_how_the_command_of_a_launched_job_ended),
		TEST(test_verdict_advice__names_the_program_unless_another_one_may_be_meant),
		TEST(test_verdict_advice__finds_the_disk_of_a_relative_name),
		TEST(test_report_view__shows_a_limit_once),
		TEST(test_report__has_one_note_of_a_death_that_came_before_its_signal),
		TEST(test_report__shows_all_of_a_job),
		TEST(test_report_view_markdown__shows_all_of_a_job),
		TEST(test_report__shows_no_share_of_a_core_for_a_job_of_milliseconds),
		TEST(test_report__states_when_there_is_no_data),
		TEST(test_report__names_what_is_missing),
		TEST(test_report_json__has_the_keys_of_the_profile),
		TEST(test_report__costly_is_cpu_time_then_own_memory_of_others_programs),
		TEST(test_report__a_sheet_that_was_seen_with_its_helpers_name_passes_on_a_death),
		TEST(test_report__of_many_marks_the_first_and_the_last_are_shown),
		TEST(test_report__keeps_the_most_costly_in_order),
		TEST(test_report__orders_small_processes_by_cpu_time),
		TEST(test_report__has_one_note_of_many_anomalies_of_one_program),
		TEST(test_report__has_one_note_of_one_cause),
		TEST(test_report__bounds_what_it_keeps),
		TEST(test_report__points_to_the_rest_safely),
	};

	return cmocka_run_group_tests(tests, set_zone, NULL);
}
