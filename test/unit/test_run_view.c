/* SPDX-License-Identifier: MIT */
#include "view/run_view.h"

#include "check.h"
#include "model_kit.h"

static void assert_block(const struct job *job, size_t width, const char *golden)
{
	const struct style style = { .width = width };
	struct buf out = { 0 };

	run_view(job, &(struct run_record){ .is_stored = true }, 8, CANVAS(&style, &out));
	assert_golden(golden, &out);
	assert_null(strstr(out.at, " \n"));
	buf_done(&out);
}

static void test_run_view__names_what_to_request_next_time(void **state)
{
	static const struct {
		uint64_t used;
		enum quality quality;
		uint64_t allowed_gib, seconds; /* 0: only the machine's memory */
		const char *words;             /* NULL: no such line */
	} cases[] = {
		{ UINT64_C(2150) << 20, QUALITY_EXACT, 32, 5,
		  "next    --mem 3G, used 2.1 of 32.0 GiB, largest of 14 runs 2.4 GiB" },
		{ UINT64_C(2150) << 20, QUALITY_SAMPLED, 32, 60, "next    --mem 3G" },
		{ UINT64_C(2150) << 20, QUALITY_SAMPLED, 0, 60, "next    --mem 3G" },
		{ UINT64_C(2150) << 20, QUALITY_SAMPLED, 32, 5,
		  NULL }, /* a peak may have been missed */
		{ UINT64_C(2150) << 20, QUALITY_EXACT, 0, 5, NULL }, /* nobody asks for so little */
		{ UINT64_C(2150) << 20, QUALITY_AT_LEAST, 32, 60, NULL },
		{ UINT64_C(2150) << 20, QUALITY_EXACT, 5, 5, NULL }, /* not twice as much */
	};
	const struct next_request next = { .memory_bytes = UINT64_C(3) << 30,
		                           .largest_bytes = UINT64_C(2450) << 20,
		                           .runs = 14 };

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		const struct style style = { .width = 120, .unicode = true };
		const struct run_record record = { .is_stored = true, .next = &next };
		struct job job = kit_good_job();
		struct buf out = { 0 };

		job.took_ns = cases[i].seconds * NS_PER_S;
		job.allowed = (struct allowance){ .memory_bytes = UINT64_C(32) << 30 };
		if (cases[i].allowed_gib)
			job.allowed.memory_bytes = cases[i].allowed_gib << 30;
		snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "%s",
		         cases[i].allowed_gib ? "own" : "machine");
		kit_figure(&job, JOB_FIGURE_PEAK_USED, cases[i].used, cases[i].quality);
		run_view(&job, &record, 8, CANVAS(&style, &out));
		if (cases[i].words && !strstr(out.at, cases[i].words))
			fail_msg("no '%s' in\n%s", cases[i].words, out.at);
		if (!cases[i].words)
			assert_null(strstr(out.at, "next  "));
		buf_done(&out);
	}
}

static void assert_shows(const struct job *job, size_t width, const char *words)
{
	const struct style style = { .width = width, .unicode = true };
	struct buf out = { 0 };

	run_view(job, &(struct run_record){ .is_stored = true }, 8, CANVAS(&style, &out));
	if (!strstr(out.at, words))
		fail_msg("no '%s' in\n%s", words, out.at);
	buf_done(&out);
}

static void assert_hides(const struct job *job, size_t width, const char *words)
{
	const struct style style = { .width = width, .unicode = true };
	struct buf out = { 0 };

	run_view(job, &(struct run_record){ .is_stored = true }, 8, CANVAS(&style, &out));
	assert_null(strstr(out.at, words));
	buf_done(&out);
}

static void test_run_view__shows_a_good_run_in_a_few_lines(void **state)
{
	struct job job = kit_good_job();

	assert_block(&job, 100, "run-good-100.txt");
	assert_block(&job, 40, "run-good-40.txt");
}

/* 14.2 of 24 GiB held, 13.9 GiB of them by the job. */
static struct job gpu_job(void)
{
	struct job job = kit_good_job();

	job.interval_ns = NS_PER_S;
	kit_figure(&job, JOB_FIGURE_GPUS, 1, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_UTIL, 710, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_SM, 640, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_SM_MAX, 970, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_GPU_DEVICE, (UINT64_C(142) << 30) / 10, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_DEVICE, UINT64_C(24) << 30, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_PEAK_GPU_MEMORY, (UINT64_C(139) << 30) / 10, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_ENERGY, UINT64_C(41) * MJ_PER_WH, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_HELD, 740 * NS_PER_S, QUALITY_SAMPLED);
	kit_figure(&job, JOB_FIGURE_GPU_IDLE_HELD, 214 * NS_PER_S, QUALITY_SAMPLED);
	return job;
}

static void test_run_view__shows_what_gpus_drew_for_it_and_how_long_they_waited(void **state)
{
	struct job job = gpu_job();

	assert_block(&job, 100, "run-gpu-100.txt");
	assert_block(&job, 80, "run-gpu-80.txt");
}

static void test_run_view__keeps_the_qualities_of_gpu_figures_apart(void **state)
{
	struct job job = gpu_job();

	kit_figure(&job, JOB_FIGURE_GPU_ENERGY, UINT64_C(41) * MJ_PER_WH, QUALITY_AT_LEAST);
	assert_shows(&job, 80, "          41.0 Wh by this job");
	assert_shows(&job, 80, "          idle 3m 34s of 12m 20s held");
	kit_figure(&job, JOB_FIGURE_GPU_IDLE_HELD, 14 * NS_PER_S, QUALITY_SAMPLED);
	assert_hides(&job, 80, "idle"); /* next to nothing */
	kit_figure(&job, JOB_FIGURE_GPU_ENERGY, 0, QUALITY_MISSING);
	assert_hides(&job, 80, "Wh");
}

static void test_run_view__shows_a_gpu_of_which_nothing_is_known(void **state)
{
	struct job job = kit_good_job();

	kit_figure(&job, JOB_FIGURE_GPUS, 1, QUALITY_SAMPLED);
	assert_shows(&job, 100, "  gpu     load not known   memory not known");
	kit_figure(&job, JOB_FIGURE_GPUS, 0, QUALITY_SAMPLED);
	assert_hides(&job, 100, "gpu");
}

static void test_run_view__calls_lower_bounds_of_gpus_so(void **state)
{
	struct job job = gpu_job();

	kit_figure(&job, JOB_FIGURE_GPU_UTIL, 710, QUALITY_AT_LEAST);
	assert_shows(&job, 100,
	             "          13.9 GiB by this job"
	             "                                                     at least");
}

static void test_run_view__shows_first_why_a_run_failed(void **state)
{
	struct job job = kit_oom_job();

	assert_block(&job, SIZE_MAX, "run-oom.txt");
	assert_block(&job, 40, "run-oom-40.txt");
}

static void test_run_view__compares_what_was_used_with_what_was_allowed(void **state)
{
	struct job job = kit_good_job();

	job.took_ns = 62 * NS_PER_S;
	job.allowed = (struct allowance){ .memory_bytes = UINT64_C(24) << 30,
		                          .time_ns = 3600 * NS_PER_S };
	kit_figure(&job, JOB_FIGURE_PEAK_USED, UINT64_C(6) << 30, QUALITY_SAMPLED);
	assert_shows(&job, 120, "ok in 1m 02s of 1h 00m allowed");
	snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "own");
	assert_shows(&job, 120, ", 25 % of 24.0 GiB allowed (own limit)");
	snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "/slurm/job_77");
	assert_shows(&job, 120, ", 25 % of 24.0 GiB allowed (limit of /slurm/job_77)");
	assert_shows(&job, 40, "          25 % of 24.0 GiB allowed\n");
	snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "/");
	assert_shows(&job, 120, "allowed (limit of the container)");
	snprintf(job.allowed.memory_source, sizeof job.allowed.memory_source, "ulimit");
	assert_shows(&job, 120, ", 24.0 GiB allowed to each process (ulimit -v)");
}

static void test_run_view__names_what_is_missing(void **state)
{
	struct job job = { .id = "x-1",
		           .type = "x\x1b[31m",
		           .status = JOB_FAILED,
		           .took_ns = 2 * NS_PER_MS,
		           .has_exit_code = true,
		           .exit_code = 3 };

	assert_block(&job, 80, "run-unknown.txt");
}

static void test_run_view__reports_one_process_once(void **state)
{
	struct job job = { .id = "true-1", .type = "true", .status = JOB_COMPLETED };

	job.took_ns = 1200 * NS_PER_US;
	job.limit[JOB_LIMIT_CPU] = 1500;
	snprintf(job.largest_name, sizeof job.largest_name, "true");
	kit_figure(&job, JOB_FIGURE_CPU, 900 * NS_PER_US, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU_THROTTLED, 50 * NS_PER_MS, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PROCESSES, 1, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_RSS, 1 << 20, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_PEAK_USED, 1 << 19, QUALITY_SAMPLED);
	assert_block(&job, 80, "run-one.txt");
}

static void test_run_view__shows_the_sum_where_its_parts_are_less_sure(void **state)
{
	struct job job = kit_good_job();
	struct buf out = { 0 };

	job.figures[JOB_FIGURE_CPU_USER].quality = QUALITY_AT_LEAST;
	run_view(&job, &(struct run_record){ .is_stored = true }, 8,
	         CANVAS((&(struct style){ .width = 100 }), &out));
	assert_non_null(strstr(out.at, "  cpu     43m 15s   3.4 of 8 cores busy "));
	assert_null(strstr(out.at, "user"));
	buf_done(&out);
}

/* Six cores' worth of work in eight seconds, of which the command was there for two. */
static void test_run_view__measures_what_was_waited_for_by_the_whole_job(void **state)
{
	struct job job = kit_good_job();
	struct buf out = { 0 };

	job.took_ns = 8 * NS_PER_S;
	kit_figure(&job, JOB_FIGURE_COMMAND_TOOK, 2 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_CPU, 12 * NS_PER_S, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_OUTLIVED, 3, QUALITY_EXACT);
	kit_figure(&job, JOB_FIGURE_LEAKED, 0, QUALITY_EXACT);
	run_view(&job, &(struct run_record){ .is_stored = true }, 2,
	         CANVAS((&(struct style){ .width = 120 }), &out));
	assert_non_null(strstr(out.at, "ok in 8.0s (command 2.0s) "));
	assert_non_null(strstr(out.at, "1.5 of 8 cores busy"));
	assert_non_null(strstr(out.at, "3 ended after the command, none left behind"));
	buf_done(&out);
}

static void test_run_view__points_to_what_was_stored_and_names_what_was_not(void **state)
{
	const struct style style = { .width = 80 };
	struct job job = kit_good_job();
	struct run_record record = { .is_stored = true, .state_dir = "/a b/it's" };
	struct buf out = { 0 };

	run_view(&job, &record, 8, CANVAS(&style, &out));
	assert_non_null(strstr(out.at, " --state-dir '/a b/it'\\''s'\n"));
	assert_null(strstr(out.at, "record"));
	buf_reset(&out);
	record = (struct run_record){ .is_stored = true, .trouble = "the disk is full" };
	run_view(&job, &record, 8, CANVAS(&style, &out));
	assert_non_null(
		strstr(out.at, "  record  incomplete: the disk is full\n  more    proctor"));
	buf_reset(&out);
	record.is_stored = false;
	run_view(&job, &record, 8, CANVAS(&style, &out));
	assert_non_null(strstr(out.at, "  record  not stored: the disk is full\n"));
	assert_null(strstr(out.at, "proctor report"));
	buf_done(&out);
}

static void test_run_view__points_to_the_side_store_until_it_is_imported(void **state)
{
	const struct style style = { .width = 100 };
	struct job job = kit_good_job();
	struct run_record record = { .is_stored = true,
		                     .state_dir = "/s/side-v5",
		                     .side_path = "/s/side-v5/proctor.db" };
	struct buf out = { 0 };

	(void)state;
	run_view(&job, &record, 8, CANVAS(&style, &out));
	assert_non_null(strstr(out.at,
	                       "  record  in '/s/side-v5/proctor.db' until it can be imported\n"
	                       "  more    proctor report "));
	assert_non_null(strstr(out.at, " --state-dir /s/side-v5\n"));
	buf_reset(&out);
	record.state_dir = NULL;
	run_view(&job, &record, 8, CANVAS(&style, &out));
	assert_non_null(strstr(out.at, " until it can be imported\n"));
	assert_null(strstr(out.at, "proctor report"));
	buf_done(&out);
}

static void assert_limit_line(const struct job *job, const char *words)
{
	struct buf out = { 0 };

	run_view(job, &(struct run_record){ .is_stored = true }, 2,
	         CANVAS((&(struct style){ .width = 200 }), &out));
	if (!strstr(out.at, words))
		fail_msg("'%s' is not in:\n%s", words, out.at);
	buf_done(&out);
}

static void test_run_view__reports_each_limit_that_was_met(void **state)
{
	struct job job = kit_good_job();

	job.limit[JOB_LIMIT_PIDS] = 100;
	job.limits_hit = 1u << JOB_LIMIT_PIDS;
	assert_limit_line(&job, "\n  limit   met its limit of 100 tasks\n");
	job.limit[JOB_LIMIT_TIME] = 90 * NS_PER_S;
	job.limits_hit = 1u << JOB_LIMIT_TIME;
	assert_limit_line(&job, "\n  limit   met its time limit of 1m 30s\n");
}

static void test_run_view__states_when_a_limit_counts_the_whole_user(void **state)
{
	struct job job = kit_good_job();

	job.limit[JOB_LIMIT_USER_PIDS] = 100;
	assert_limit_line(&job, "\n  limit   100 tasks of the whole user (held by RLIMIT_NPROC");
	job.limits_hit = 1u << JOB_LIMIT_USER_PIDS;
	assert_limit_line(&job,
	                  "\n  limit   met its limit of 100 tasks of the whole user (held by");
}

static struct anomaly ended(uint64_t seq, enum severity severity)
{
	return (struct anomaly){ .seq = seq,
		                 .kind = ANOMALY_MEMORY_SPIKE,
		                 .severity = severity,
		                 .news = ANOMALY_ENDED,
		                 .id = { 2410 + (pid_t)seq, 1 },
		                 .comm = "python",
		                 .base = 2.1 * KIT_GIB,
		                 .peak = 4.6 * KIT_GIB,
		                 .peak_boot_ns = 24 * NS_PER_S };
}

static void test_run_view__notes_anomalies_of_one_kind_and_program_once(void **state)
{
	struct job job = kit_good_job();
	struct run_anomalies notes = { 0 };
	const struct run_record record = { .is_stored = true, .notes = &notes };
	struct buf out = { 0 };

	for (uint64_t i = 0; i < 30; i++) {
		struct anomaly zombie = ended(i, SEVERITY_HIGH);

		zombie.kind = ANOMALY_ZOMBIE;
		run_anomalies_add(&notes, &zombie);
	}
	assert_int_equal(notes.n, 1);
	assert_int_equal(notes.more, 0);
	run_view(&job, &record, 8, CANVAS((&(struct style){ .width = 100 }), &out));
	assert_non_null(strstr(out.at, "and 29 more like it"));
	buf_done(&out);
}

static void test_run_view__notes_the_worst_anomalies_and_counts_the_others(void **state)
{
	static const enum severity severities[] = { SEVERITY_HIGH, SEVERITY_MEDIUM, SEVERITY_HIGH,
		                                    SEVERITY_HIGH, SEVERITY_CRITICAL };
	struct job job = kit_good_job();
	struct run_anomalies notes = { 0 };
	struct anomaly going = ended(9, SEVERITY_CRITICAL);
	const struct run_record record = { .is_stored = true, .notes = &notes };
	struct buf out = { 0 };

	going.news = ANOMALY_CHANGED;
	run_anomalies_add(&notes, &going);
	for (uint64_t i = 0; i < ARRAY_LEN(severities); i++) {
		struct anomaly some = ended(i, severities[i]);

		snprintf(some.comm, sizeof some.comm, "python%d", (int)i);
		run_anomalies_add(&notes, &some);
	}
	assert_int_equal(notes.n, 3);
	assert_int_equal(notes.more, 1);
	run_view(&job, &record, 8, CANVAS((&(struct style){ .width = 100 }), &out));
	assert_null(strstr(out.at, "spike")); /* it loaded its data, and all was well */
	buf_reset(&out);
	job.status = JOB_FAILED;
	job.exit_code = 1;
	run_view(&job, &record, 8, CANVAS((&(struct style){ .width = 100 }), &out));
	assert_null(strstr(out.at, "spike")); /* it failed for another reason */
	buf_reset(&out);
	job.allowed.memory_bytes = 5 * KIT_GIB;
	run_view(&job, &record, 8, CANVAS((&(struct style){ .width = 100 }), &out));
	assert_golden("run-notes-100.txt", &out);
	buf_reset(&out);
	run_view(&job, &record, 8, CANVAS((&(struct style){ .width = 40, .unicode = true }), &out));
	assert_golden("run-notes-40.txt", &out);
	buf_done(&out);
}

RUN_TESTS(TEST(test_run_view__names_what_to_request_next_time),
          TEST(test_run_view__compares_what_was_used_with_what_was_allowed),
          TEST(test_run_view__shows_what_gpus_drew_for_it_and_how_long_they_waited),
          TEST(test_run_view__shows_a_gpu_of_which_nothing_is_known),
          TEST(test_run_view__calls_lower_bounds_of_gpus_so),
          TEST(test_run_view__keeps_the_qualities_of_gpu_figures_apart),
          TEST(test_run_view__notes_anomalies_of_one_kind_and_program_once),
          TEST(test_run_view__notes_the_worst_anomalies_and_counts_the_others),
          TEST(test_run_view__points_to_what_was_stored_and_names_what_was_not),
          TEST(test_run_view__points_to_the_side_store_until_it_is_imported),
          TEST(test_run_view__reports_each_limit_that_was_met),
          TEST(test_run_view__states_when_a_limit_counts_the_whole_user),
          TEST(test_run_view__measures_what_was_waited_for_by_the_whole_job),
          TEST(test_run_view__shows_the_sum_where_its_parts_are_less_sure),
          TEST(test_run_view__shows_a_good_run_in_a_few_lines),
          TEST(test_run_view__shows_first_why_a_run_failed),
          TEST(test_run_view__names_what_is_missing), TEST(test_run_view__reports_one_process_once))
