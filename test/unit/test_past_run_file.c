/* SPDX-License-Identifier: MIT */
#include "model/past_run_file.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "check.h"

#define MIB ((uint64_t)1 << 20)

/* One line, without its newline. */
static void split(const char *line, struct csv_row *ret)
{
	static struct buf unquoted;
	struct csv_format format = { strchr(line, '|')    ? '|'
		                     : strchr(line, '\t') ? '\t'
		                                          : ',',
		                     true };
	struct scan text = scan_str(line);
	struct err err;

	(void)buf_grow(&unquoted, 4096);
	assert_int_equal(csv_split(&text, format, true, &unquoted, ret, &err), 1);
}

static void begin(struct run_file_reader *r, const char *header)
{
	struct csv_row row;
	struct err err;

	*r = (struct run_file_reader){ 0 };
	split(header, &row);
	assert_int_equal(past_run_file_parse_header(&row, &r->columns, &err), 0);
}

static int add(struct run_file_reader *r, const char *line, struct past_run *ret, struct err *err)
{
	struct csv_row row = { .line = 2 };
	uint64_t number;

	if (line)
		split(line, &row);
	return past_run_file_add(r, line ? &row : NULL, ret, &number, err);
}

static void test_run_file__reads_a_row_of_csv(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r,
	      "job_type,started_at,duration_seconds,peak_used_mb,input_bytes,requested_mb,outcome,exit_code,cpu_seconds,sheet,tags");
	assert_int_equal(add(&r,
	                     "align,1700000000.5,60.25,1536,4096,2048,oom_own_limit,137,12.5,2,a=b",
	                     &run, &err),
	                 1);
	assert_string_equal(run.type, "align");
	assert_int_equal(run.started_ns, UINT64_C(1700000000500000000));
	assert_int_equal(run.took_ns, UINT64_C(60250000000));
	assert_int_equal(run.peak_bytes, 1536 * MIB);
	assert_int_equal(run.basis, RUN_BASIS_JOB);
	assert_int_equal(run.input_bytes, 4096);
	assert_int_equal(run.requested_bytes, 2048 * MIB);
	assert_string_equal(run.outcome, "oom_own_limit");
	assert_int_equal(run.exit_code, 137);
	assert_int_equal(run.cpu_ns, UINT64_C(12500000000));
	assert_int_equal(run.sheet, 2);
	assert_string_equal(run.tags, "a=b");
}

static void test_run_file__rejects_a_row_with_more_fields_than_the_header(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r, "job_type,started_at,duration_seconds,peak_used_mb");
	assert_int_equal(add(&r, "align, two,1700000000,60,1536", &run, &err), -EBADMSG);
	assert_string_equal(err.msg, "5 fields, but the header has 4");
	assert_int_equal(add(&r, "\"align, two\",1700000000,60,1536", &run, &err), 1);
	assert_string_equal(run.type, "align, two");
}

static void test_run_file__keeps_absent_apart_from_zero(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r,
	      "job_type,started_at,duration_seconds,peak_used_mb,peak_rss_mb,input_bytes,cpu_seconds");
	assert_int_equal(add(&r, "a,2026-01-01T00:00:00Z,1,,5,0,", &run, &err), 1);
	assert_int_equal(run.started_ns / NS_PER_S, 1767225600);
	assert_int_equal(run.basis, RUN_BASIS_PROCESS);
	assert_true(past_run_has(&run, RUN_INPUT));
	assert_int_equal(run.input_bytes, 0);
	assert_false(past_run_has(&run, RUN_CPU) || past_run_has(&run, RUN_REQUESTED));
}

static void test_run_file__rejects_rows_with_a_reason(void **state)
{
	static const char *const rows[][2] = {
		{ ",1,1,1", "no job_type" },
		{ "a,soon,1,1", "started_at 'soon': not readable" },
		{ "a,2h ago,1,1", "started_at '2h ago': not readable" },
		{ "a,1,-1,1", "duration_seconds '-1': not readable" },
		{ "a,1,1,", "no peak of memory" },
		{ "a,1,1,much", "peak_used_mb 'much': not readable" },
		{ "a,1,1", "no peak of memory" },
		{ "a,1,1,1,success",
		  "outcome 'success': write ok, failed or a cause as `proctor why --json` names it" },
	};
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r, "job_type,started_at,duration_seconds,peak_used_mb,outcome");
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(add(&r, rows[i][0], &run, &err), -EBADMSG);
		assert_string_equal(err.msg, rows[i][1]);
	}
}

static void test_run_file__names_the_column_that_is_missing(void **state)
{
	struct run_file_columns columns;
	struct csv_row row;
	struct err err;

	split("job_type,started_at,peak_used_mb", &row);
	assert_int_equal(past_run_file_parse_header(&row, &columns, &err), -EBADMSG);
	assert_string_equal(err.msg, "the header has no column 'duration_seconds'");
}

/* sacct --parsable2 --format=JobID,JobName,Start,Elapsed,MaxRSS,ReqMem,State,ExitCode,TotalCPU */
static void test_run_file__joins_the_steps_of_a_slurm_job(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r, "JobID|JobName|Start|Elapsed|MaxRSS|ReqMem|State|ExitCode|TotalCPU");
	assert_int_equal(
		add(&r, "7|align|2026-01-01T00:00:00|1-02:00:00||4G|OUT_OF_MEMORY|0:125|01:02.250",
	            &run, &err),
		0);
	assert_int_equal(
		add(&r,
	            "7.batch|batch|2026-01-01T00:00:00|1-02:00:00|1024K||OUT_OF_MEMORY|0:125|00:00:01",
	            &run, &err),
		0);
	assert_int_equal(add(&r,
	                     "7.0|bwa|2026-01-01T00:00:00|01:00:00|2.5G||COMPLETED|0:0|00:00:01",
	                     &run, &err),
	                 0);
	assert_int_equal(
		add(&r, "8|next|2026-01-02T00:00:00|00:00:10||4000Mn|RUNNING|0:0|", &run, &err), 1);
	assert_string_equal(run.type, "align");
	assert_string_equal(run.id, "7");
	assert_int_equal(run.peak_bytes, 2560 * MIB);
	assert_int_equal(run.basis, RUN_BASIS_PROCESS);
	assert_int_equal(run.took_ns, 26 * 3600 * NS_PER_S);
	assert_int_equal(run.requested_bytes, 4096 * MIB);
	assert_int_equal(run.cpu_ns, UINT64_C(62250000000));
	assert_string_equal(run.outcome, "oom_own_limit");
	assert_int_equal(add(&r, NULL, &run, &err), -EBADMSG);
	assert_string_equal(err.msg, "it is still running");
}

static void test_run_file__leaves_absent_what_sacct_does_not_know(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r, "JobID|JobName|Start|Elapsed|MaxRSS|ReqMem|State|ExitCode|TotalCPU");
	assert_int_equal(
		add(&r, "9|a|2026-01-02T00:00:00|00:10:00|2M|?|COMPLETED|0:0|INVALID", &run, &err),
		0);
	assert_int_equal(add(&r, NULL, &run, &err), 1);
	assert_false(past_run_has(&run, RUN_CPU) || past_run_has(&run, RUN_REQUESTED));
	assert_true(past_run_has(&run, RUN_EXIT_CODE));
}

static void test_run_file__reads_a_nextflow_trace(void **state)
{
	struct run_file_reader r;
	struct past_run run;
	struct err err;

	begin(&r, "task_id\thash\tname\tstatus\texit\tsubmit\tduration\trealtime\t%cpu\tpeak_rss");
	assert_int_equal(
		add(&r,
	            "1\tab/12\tALIGN (s 1)\tCOMPLETED\t0\t2026-01-01 00:00:00.500\t4m\t3m 4s\t150.0%\t1.2 GB",
	            &run, &err),
		1);
	assert_string_equal(run.type, "ALIGN");
	assert_int_equal(run.took_ns, 184 * NS_PER_S);
	assert_int_equal(run.cpu_ns, 276 * NS_PER_S);
	assert_int_equal(run.peak_bytes, (uint64_t)(1200 * (MIB << 10) / 1000));
	assert_string_equal(run.outcome, "ok");
	assert_int_equal(
		add(&r, "2\tab/13\tALIGN (s 2)\tCACHED\t0\t1767225600000\t4m\t184000\t-\t100 MB",
	            &run, &err),
		-EBADMSG);
	assert_int_equal(add(&r,
	                     "3\tab/14\tALIGN\tFAILED\t1\t1767225600000\t4m\t184000\t-\t104857600",
	                     &run, &err),
	                 1);
	assert_int_equal(run.started_ns, 1767225600 * NS_PER_S);
	assert_int_equal(run.took_ns, 184 * NS_PER_S);
	assert_int_equal(run.peak_bytes, 100 * MIB);
	assert_string_equal(run.outcome, "failed");
}

RUN_TESTS(TEST(test_run_file__reads_a_row_of_csv),
          TEST(test_run_file__rejects_a_row_with_more_fields_than_the_header),
          TEST(test_run_file__keeps_absent_apart_from_zero),
          TEST(test_run_file__rejects_rows_with_a_reason),
          TEST(test_run_file__names_the_column_that_is_missing),
          TEST(test_run_file__joins_the_steps_of_a_slurm_job),
          TEST(test_run_file__leaves_absent_what_sacct_does_not_know),
          TEST(test_run_file__reads_a_nextflow_trace))
