/* SPDX-License-Identifier: MIT */
#include "model/record_fields.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/scan.h"
#include "check.h"
#include "model/blocked_call.h"
#include "model/snapshot_json.h"
#include "view/field_view.h"
#include "view/flight_view.h"
#include "view/format.h"
#include "view/jobs_view.h"
#include "view/report_tables.h"
#include "view/snapshot_view.h"
#include "view/syscall_view.h"

static void assert_explained(const char *key, const char *help, const char **keys, size_t *n)
{
	assert_non_null(help);
	for (size_t i = 0; i < *n; i++)
		assert_string_not_equal(keys[i], key);
	keys[(*n)++] = key;
}

static void test_fields__explain_each_key_and_have_it_once(void **state)
{
	static const struct field_table *const tables[] = {
		&job_fields,
		&sheet_fields,
		&process_fields,
		&event_fields,
		&job_sum_fields,
		&anomaly_fields,
		&gpu_fields,
		&profile_fields,
		&live_process_fields,
		&live_job_fields,
		&live_gpu_fields,
		&live_gpu_use_fields,
		&snapshot_head_fields,
		&snapshot_count_fields,
		&snapshot_tail_fields,
		&process_sample_fields,
		&gpu_sample_fields,
		&blocked_call_fields,
		&export_fields,
		&live_event_fields,
		&last_call_fields,
		&flight_fields,
		&profile_sheet_fields,
		&report_program_fields,
		&report_mark_fields,
		&report_note_fields,
		&report_next_request_fields,
		&report_fields,
		&syscall_fields,
	};
	const char *keys[100];

	for (size_t t = 0; t < ARRAY_LEN(tables); t++) {
		size_t n = 0;

		for (size_t i = 0; i < tables[t]->n; i++) {
			const struct field *f = &tables[t]->at[i];

			if (f->type != FIELD_READINGS)
				assert_explained(f->key, f->help, keys, &n);
			for (size_t m = 0; m < f->n_metrics; m++)
				assert_explained(f->metrics[m].key, f->metrics[m].help, keys, &n);
		}
	}
}

static void test_fields__keep_absent_apart_from_zero(void **state)
{
	const struct process_record absent = { .id = { .pid = 7 }, .max_cpu_ratio = NAN },
				    zero = { .id = { .pid = 7 },
		                             .comm = "",
		                             .has_exit_code = true,
		                             .cpu_time_ns = { 0, QUALITY_EXACT } };
	struct buf out = { 0 };
	struct json j = { .out = &out };

	field_table_json_object(&j, &process_fields, &absent);
	assert_non_null(strstr(out.at, "\"exit_code\":null,"));
	assert_non_null(strstr(out.at, "\"cpu_seconds\":null,"));
	assert_non_null(strstr(out.at, "\"max_cpu_pct\":null,"));
	assert_non_null(strstr(out.at, "\"cpu_seconds\":\"missing\","));
	buf_reset(&out);
	j.need_comma = false;
	field_table_json_object(&j, &process_fields, &zero);
	assert_non_null(strstr(out.at, "\"name\":null,"));
	assert_non_null(strstr(out.at, "\"exit_code\":0,"));
	assert_non_null(strstr(out.at, "\"cpu_seconds\":0"));
	assert_non_null(strstr(out.at, "\"max_cpu_pct\":0"));
	buf_done(&out);
}

static void test_field_view__lists_units_and_help(void **state)
{
	const struct style style = { .width = 100 };
	struct buf out = { 0 };

	field_view(CANVAS(&style, &out));
	assert_non_null(strstr(out.at, "rss_mb"));
	assert_non_null(strstr(out.at, "MiB    resident memory\n"));
	assert_non_null(strstr(out.at, "max_cpu_pct     %      most CPU"));
	assert_non_null(strstr(out.at, "psi_io_percent              %      share of the time"));
	assert_non_null(strstr(out.at, "read_bytes_per_s"));
	assert_non_null(strstr(out.at, "costly_processes"));
	assert_non_null(strstr(out.at, "errors_by_name"));
	buf_done(&out);
}

/* "  rss_mb  MiB  resident memory": what follows the last two blanks is longer than a unit. */
static void test_field_view__leaves_no_key_unexplained(void **state)
{
	const struct style style = { .width = 300 };
	struct buf out = { 0 };
	struct scan text, line;
	size_t n = 0;

	field_view(CANVAS(&style, &out));
	text = scan_mem(out.at, out.len);
	while (scan_until(&text, '\n', &line)) {
		const char *help = line.end;

		if (scan_left(&line) < 3 || line.p[0] != ' ')
			continue;
		while (help > line.p + 2 && !(help[-1] == ' ' && help[-2] == ' '))
			help--;
		if (help == line.p + 2 || line.end - help <= (ptrdiff_t)strlen("bytes"))
			fail_msg("no help: %.*s", (int)scan_left(&line), line.p);
		n++;
	}
	assert_true(n > 300);
	buf_done(&out);
}

/* Below each title, every line has a heading, the key of a field, and what that means. */
static void test_field_view__explains_each_column_by_the_field_it_shows(void **state)
{
	const struct style style = { .width = 140 };
	struct buf out = { 0 };
	struct scan text, line;
	size_t n = 0;

	field_view(CANVAS(&style, &out));
	assert_non_null(
		strstr(out.at, "  USED      peak_used_mb        most memory in use that dropping"));
	assert_non_null(strstr(
		out.at, "  PSS      pss_mb             resident memory, shared pages divided"));
	assert_non_null(strstr(out.at, "  max cpu  max_cpu_pct  most CPU of one process"));
	text = scan_mem(out.at, (size_t)(strstr(out.at, "machine: ") - out.at));
	while (scan_until(&text, '\n', &line)) {
		if (scan_left(&line) < 2 || *line.p != ' ')
			continue;
		n++;
		assert_true(scan_left(&line) > 30);
	}
	assert_int_equal(n, jobs_view_columns.n + snapshot_view_columns.n + report_sheet_columns.n +
	                            report_process_columns.n);
	buf_done(&out);
}

static void test_field_metric_json__lets_a_reader_show_memory_as_the_writer_does(void **state)
{
	(void)state;
	for (uint64_t kib = 1; kib < UINT64_C(1) << 43; kib += 1 + kib / 97) {
		struct buf out = { 0 };
		double read_bytes;

		field_metric_json(&(struct json){ .out = &out }, UNIT_MIB, kib << 10);
		buf_putc(&out, '\0');
		read_bytes = round(strtod(out.at, NULL) * (1 << 20));
		assert_string_equal(format_bytes((uint64_t)read_bytes).at,
		                    format_bytes(kib << 10).at);
		buf_done(&out);
	}
}

RUN_TESTS(TEST(test_field_metric_json__lets_a_reader_show_memory_as_the_writer_does),
          TEST(test_field_view__explains_each_column_by_the_field_it_shows),
          TEST(test_fields__explain_each_key_and_have_it_once),
          TEST(test_fields__keep_absent_apart_from_zero),
          TEST(test_field_view__leaves_no_key_unexplained),
          TEST(test_field_view__lists_units_and_help))
