/* SPDX-License-Identifier: MIT */
#include "kernel/process_files.h"

#include <stdio.h>

#include "check.h"

#define REST                                                                                       \
	" S 600 700 700 0 -1 4194304 77 1 5 2 30 12 0 0 20 0 4 0 222228 2990080 406 "              \
	"18446744073709551615 "                                                                    \
	"94440361689088 94440361707017 140726179857584 0 0 0 0 0 0 1 0 0 17 0 0 0 0 0 0 1 2 3 4 "  \
	"5 6 7 0\n"

static void test_process_files_parse_stat__takes_the_fields_by_their_places(void **state)
{
	struct process_files_stat st;

	(void)state;
	assert_true(process_files_parse_stat(scan_str("700 (sleep)" REST), &st));
	assert_int_equal(st.pid, 700);
	assert_int_equal(st.ppid, 600);
	assert_string_equal(st.comm, "sleep");
	assert_int_equal(st.state, 'S');
	assert_int_equal(st.r.value[PROC_MINOR_FAULTS], 77);
	assert_int_equal(st.r.value[PROC_MAJOR_FAULTS], 5);
	assert_int_equal(st.r.value[PROC_CPU_TIME], 42 * NS_PER_TICK);
	assert_int_equal(st.threads, 4);
	assert_int_equal(st.start_ticks, 222228);
	assert_true(st.exec_id != 0);
}

static void test_process_files_parse_cpu__takes_field_39(void **state)
{
	static const char line[] = "700 (a) b) S 1 2 3 0 -1 4194560 7 8 9 10 11 12 13 14 20 0 1 0 "
				   "5000 1 2 3 4 5 6 7 8 0 0 0 0 1 0 0 17 3 0 0 0 0 0\n";

	(void)state;
	assert_int_equal(process_files_parse_cpu(scan_str(line)), 3);
	assert_int_equal(process_files_parse_cpu(scan_str("700 (a) S 1 2 3")), -1);
	assert_int_equal(process_files_parse_cpu(scan_str("")), -1);
}

static void test_process_files_parse_stat__is_not_fooled_by_hostile_names(void **state)
{
	static const char *const names[] = { ") R 1 1 (", "a\nb", "\x1b[31m", "\xff\xfe\x80", "",
		                             "\"'\\",     "%n%s", "((",       "))",           " " };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		struct process_files_stat st = { 0 };
		char text[512];

		snprintf(text, sizeof text, "700 (%s)%s", names[i], REST);
		assert_true(process_files_parse_stat(scan_str(text), &st));
		assert_string_equal(st.comm, names[i]);
		assert_int_equal(st.state, 'S');
		assert_int_equal(st.ppid, 600);
		assert_int_equal(st.threads, 4);
	}
}

static void test_process_files_parse_stat__keeps_fifteen_bytes_of_a_longer_name(void **state)
{
	struct process_files_stat st;

	(void)state;
	assert_true(process_files_parse_stat(
		scan_str("700 (a-kernel-thread-with-a-long-name)" REST), &st));
	assert_string_equal(st.comm, "a-kernel-thread");
}

static void test_process_files_parse_stat__calls_kworkers_by_their_own_name(void **state)
{
	static const char *const names[][2] = { { "kworker/0:0-events", "kworker/0:0" },
		                                { "kworker/u8:2+mm_percpu_wq", "kworker/u8:2" },
		                                { "kworker/1:1H-kblockd", "kworker/1:1H" },
		                                { "kworker/R-rcu_gp", "kworker/R-rcu_g" } };
	struct process_files_stat st;
	char text[512];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		snprintf(text, sizeof text,
		         "9 (%s) I 2 0 0 0 -1 69238880 0 0 0 0 0 24 0 0 20 0 1 0 21 0 0 "
		         "18446744073709551615 0 0 0 0\n",
		         names[i][0]);
		assert_true(process_files_parse_stat(scan_str(text), &st));
		assert_string_equal(st.comm, names[i][1]);
		assert_int_equal(st.exec_id, 0);
	}
	/* Anybody may take such a name; only the kernel's flag makes a worker. */
	assert_true(process_files_parse_stat(scan_str("700 (kworker/0:0-x)" REST), &st));
	assert_string_equal(st.comm, "kworker/0:0-x");
}

static void
test_process_files_parse_stat__refuses_short_and_broken_text_and_leaves_the_result_alone(
	void **state)
{
	static const char *const broken[] = {
		"",
		"7",
		"700",
		"700 (",
		"700 ()",
		"700 (sleep",
		"700 (sleep)",
		"700 (sleep) S",
		"(sleep) S 1 1",
		"x (sleep)" REST,
		"700 (sleep) SS 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
		"700 (sleep) S 600 700 700 0 -1 4194304 77 1 5 2 30 12 0 0 20 0 4 0",
		"700 (sleep) S x 700 700 0 -1 4194304 77 1 5 2 30 12 0 0 20 0 4 0 22 1 1",
		")700 (",
		"99999999999 (sleep)" REST
	};
	struct process_files_stat st = { .pid = 7 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(broken); i++)
		assert_false(process_files_parse_stat(scan_str(broken[i]), &st));
	assert_int_equal(st.pid, 7);
}

#define SH_UP_TO_CODE " (sh) S 1 1 1 0 -1 0 1 1 1 1 1 1 0 0 20 0 1 0 222 2990080 406 1 "

static void test_process_files_parse_stat__detects_an_exec_by_code_or_stack(void **state)
{
	struct process_files_stat a, b, hidden;

	(void)state;
	assert_true(process_files_parse_stat(
		scan_str("7" SH_UP_TO_CODE "94440361689088 2 140726179857584 0\n"), &a));
	assert_true(process_files_parse_stat(
		scan_str("7" SH_UP_TO_CODE "94440361689088 2 140726179857600 0\n"), &b));
	assert_true(process_files_parse_stat(scan_str("7" SH_UP_TO_CODE "1 1 0 0\n"), &hidden));
	assert_true(a.exec_id && b.exec_id && a.exec_id != b.exec_id);
	assert_int_equal(hidden.exec_id, 0);
}

static void test_process_files_parse_statm__takes_size_and_resident(void **state)
{
	struct proc_readings r = { 0 };

	(void)state;
	assert_false(process_files_parse_statm(scan_str("2102"), 4096, &r));
	assert_false(process_files_parse_statm(scan_str(""), 4096, &r));
	assert_int_equal(r.present, 0);
	assert_true(process_files_parse_statm(scan_str("2102 410 361 165 0 110 0\n"), 4096, &r));
	assert_int_equal(r.value[PROC_VMS], 2102 * 4096);
	assert_int_equal(r.value[PROC_RSS], 410 * 4096);
}

static void test_process_files_parse_io__does_not_mistake_cancelled_writes(void **state)
{
	struct proc_readings io = { 0 };

	(void)state;
	assert_true(process_files_parse(
		PROCESS_IO,
		scan_str("rchar: 323934931\nwchar: 323929600\nsyscr: 632687\nsyscw: 632675\n"
	                 "read_bytes: 4096\nwrite_bytes: 323932160\ncancelled_write_bytes: 17\n"),
		&io));
	assert_int_equal(io.value[PROC_READ_BYTES], 4096);
	assert_int_equal(io.value[PROC_WRITE_BYTES], 323932160);
	assert_false(process_files_parse(PROCESS_IO, scan_str("read_bytes: 4096\n"), &io));
	assert_false(process_files_parse(PROCESS_IO, scan_str("read_bytes: 4096\nwrite_bytes: x\n"),
	                                 &io));
}

RUN_TESTS(
	TEST(test_process_files_parse_stat__takes_the_fields_by_their_places),
	TEST(test_process_files_parse_cpu__takes_field_39),
          TEST(test_process_files_parse_stat__is_not_fooled_by_hostile_names),
	TEST(test_process_files_parse_stat__keeps_fifteen_bytes_of_a_longer_name),
	TEST(test_process_files_parse_stat__calls_kworkers_by_their_own_name),
	TEST(test_process_files_parse_stat__refuses_short_and_broken_text_and_leaves_the_result_alone),
	TEST(test_process_files_parse_stat__detects_an_exec_by_code_or_stack),
	TEST(test_process_files_parse_statm__takes_size_and_resident),
	TEST(test_process_files_parse_io__does_not_mistake_cancelled_writes))
