/* SPDX-License-Identifier: MIT */
#include "config/ini.h"

#include "base/buf.h"
#include "check.h"

struct outcome {
	struct config config;
	struct config_problems problems;
};

static void read_text(struct outcome *o, const char *text, size_t n)
{
	*o = (struct outcome){ 0 };
	config_init(&o->config);
	ini_read(scan_mem(text, n), "a.conf", &o->config, &o->problems);
}

/* The text gives exactly this one problem. */
static void assert_problem(const char *text, const char *problem)
{
	struct outcome o;

	read_text(&o, text, strlen(text));
	assert_int_equal(o.problems.list.len, 1);
	assert_string_equal(o.problems.list.at[0].text, problem);
	ini_problems_done(&o.problems);
}

static void test_ini__reads_sections_comments_blanks_and_crlf(void **state)
{
	static const char text[] = "\xEF\xBB\xBF# comment\r\n"
				   "; another = one\r\n"
				   "\r\n"
				   "  [ profiler ]  \r\n"
				   "\tinterval_seconds\t=  2.5  \r\n"
				   "storage_path = /a b/c=d;e#f.db\r\n"
				   "[limits]\n"
				   "max_processes=7\n"
				   "[profiler]\n"
				   "enabled = false";
	struct outcome o;

	read_text(&o, text, sizeof text - 1);
	assert_int_equal(o.problems.list.len, 0);
	assert_int_equal(o.config.profiler.interval_ns, 2500000000);
	assert_string_equal(o.config.profiler.storage_path, "/a b/c=d;e#f.db");
	assert_int_equal(o.config.limits.max_processes, 7);
	assert_false(o.config.profiler.enabled);
}

static void test_ini__names_file_line_key_and_reason(void **state)
{
	assert_problem(
		"\n[profiler]\ninterval_seconds = 0.2\n",
		"a.conf:3: [profiler] interval_seconds: out of range; it must be at least 1 and at most 1h");
	assert_problem(
		"[anomaly]\nmemory_spike_threshold = 1",
		"a.conf:2: [anomaly] memory_spike_threshold: out of range; it must be greater than 1 and at most 1000");
	assert_problem("[profiler]\ngpu_enabled = perhaps",
	               "a.conf:2: [profiler] gpu_enabled: 'perhaps': write auto, true or false");
	assert_problem(
		"[profiler]\ninterval_seconds = 2 # fast",
		"a.conf:2: [profiler] interval_seconds: '2 # fast': not a time; write a number, or 30s, 10m, 1h30m, 7d "
		"(comments need a line of their own)");
	assert_problem("[profiler]\nenabled =", "a.conf:2: [profiler] enabled: no value after '='");
}

static void test_ini__refuses_unknown_keys_and_suggests_the_nearest(void **state)
{
	assert_problem(
		"[profiler]\nintervall_seconds = 5",
		"a.conf:2: [profiler] intervall_seconds: unknown key; did you mean interval_seconds?");
	assert_problem("[profiler]\nfrobnicate = 5",
	               "a.conf:2: [profiler] frobnicate: unknown key");
	assert_problem("[profiler]\n= 5", "a.conf:2: [profiler] : unknown key");
	assert_problem("[limits]\ninterval_seconds = 5",
	               "a.conf:2: [limits] interval_seconds: unknown key");
}

static void test_ini__reports_an_unknown_section_once_and_skips_its_keys(void **state)
{
	assert_problem("[profilr]\na = 1\nb = 2\n[limits]\nmax_processes = 9",
	               "a.conf:1: [profilr]: unknown section");
}

static void test_ini__refuses_broken_lines(void **state)
{
	assert_problem("[profiler]\nenabled true",
	               "a.conf:2: enabled true: no '=' (a setting is written key = value)");
	assert_problem("enabled = true", "a.conf:1: enabled: is not in any [section]");
	assert_problem("[profiler", "a.conf:1: a section is written [name], with nothing after it");
	assert_problem("[profiler] # x",
	               "a.conf:1: a section is written [name], with nothing after it");
}

static void test_ini__refuses_a_key_given_twice_in_one_file(void **state)
{
	assert_problem("[profiler]\nenabled = true\n[limits]\n[profiler]\nenabled = true",
	               "a.conf:5: [profiler] enabled: given twice in this file");
}

static void test_ini__refuses_nul_bytes(void **state)
{
	static const char text[] = "[profiler]\nstorage_path = /a\0b\n";
	struct outcome o;

	read_text(&o, text, sizeof text - 1);
	assert_int_equal(o.problems.list.len, 1);
	assert_string_equal(o.problems.list.at[0].text,
	                    "a.conf:2: a NUL byte; this is not a text file");
	assert_string_equal(o.config.profiler.storage_path, "");
	ini_problems_done(&o.problems);
}

static void test_ini__reports_all_problems_up_to_a_ceiling(void **state)
{
	struct outcome o;
	struct buf text = { 0 };

	buf_puts(&text, "[profiler]\n");
	for (int i = 0; i < CONFIG_PROBLEMS_MAX + 5; i++)
		buf_printf(&text, "key_%d = 1\n", i);
	read_text(&o, text.at, text.len);
	assert_int_equal(o.problems.list.len, CONFIG_PROBLEMS_MAX);
	assert_int_equal(o.problems.dropped, 5);
	ini_problems_done(&o.problems);
	buf_done(&text);
}

static void test_ini__accepts_lines_of_any_length(void **state)
{
	struct buf text = { 0 };
	struct outcome o;

	buf_puts(&text, "# ");
	for (int i = 0; i < 100000; i++)
		buf_putc(&text, 'x');
	buf_puts(&text, "\n[limits]\nmax_processes =");
	for (int i = 0; i < 100000; i++)
		buf_putc(&text, ' ');
	buf_puts(&text, "42");
	read_text(&o, text.at, text.len);
	assert_int_equal(o.problems.list.len, 0);
	assert_int_equal(o.config.limits.max_processes, 42);
	buf_done(&text);
}

RUN_TESTS(TEST(test_ini__reads_sections_comments_blanks_and_crlf),
          TEST(test_ini__names_file_line_key_and_reason),
          TEST(test_ini__refuses_unknown_keys_and_suggests_the_nearest),
          TEST(test_ini__reports_an_unknown_section_once_and_skips_its_keys),
          TEST(test_ini__refuses_broken_lines),
          TEST(test_ini__refuses_a_key_given_twice_in_one_file), TEST(test_ini__refuses_nul_bytes),
          TEST(test_ini__reports_all_problems_up_to_a_ceiling),
          TEST(test_ini__accepts_lines_of_any_length))
