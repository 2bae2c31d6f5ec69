/* SPDX-License-Identifier: MIT */
#include "base/scan.h"

#include "base/clock.h"
#include "check.h"

static void test_scan_u64__refuses_overflow_and_leaves_result_alone(void **state)
{
	struct scan s = scan_str("18446744073709551616");
	uint64_t v = 7;

	(void)state;
	assert_false(scan_u64(&s, &v));
	assert_int_equal(v, 7);
}

static void test_scan_u64__reads_the_largest_number(void **state)
{
	struct scan s = scan_str("  18446744073709551615 x");
	uint64_t v = 0;

	(void)state;
	assert_true(scan_u64(&s, &v));
	assert_true(v == UINT64_MAX);
	assert_true(scan_eq(&s, " x"));
}

static void test_scan_fixed__cuts_digits_and_pads_with_zeros(void **state)
{
	struct scan a = scan_str("1.2345 "), b = scan_str("7"), c = scan_str("0.5");
	uint64_t v = 0;

	(void)state;
	assert_true(scan_fixed(&a, 3, &v));
	assert_int_equal(v, 1234);
	assert_true(scan_fixed(&b, 2, &v));
	assert_int_equal(v, 700);
	assert_true(scan_fixed(&c, 2, &v));
	assert_int_equal(v, 50);
}

static void test_scan_typed__needs_no_digit_before_the_point(void **state)
{
	struct scan a = scan_str(".5"), b = scan_str("."), c = scan_str(""), d = scan_str(".x");
	uint64_t v = 7;

	(void)state;
	assert_false(scan_typed(&b, 3, &v) || scan_typed(&c, 3, &v) || scan_typed(&d, 3, &v));
	assert_int_equal(v, 7);
	assert_true(scan_typed(&a, 3, &v));
	assert_int_equal(v, 500);
}

static void test_scan_fixed__refuses_a_point_without_digits(void **state)
{
	struct scan s = scan_str("1.");
	uint64_t v = 0;

	(void)state;
	assert_false(scan_fixed(&s, 2, &v));
}

static void test_scan_line__returns_a_last_line_without_newline(void **state)
{
	struct scan s = scan_str("a\n\nb"), line;

	(void)state;
	assert_true(scan_line(&s, &line) && scan_eq(&line, "a"));
	assert_true(scan_line(&s, &line) && scan_eq(&line, ""));
	assert_true(scan_line(&s, &line) && scan_eq(&line, "b"));
	assert_false(scan_line(&s, &line));
}

static void test_scan_hex__refuses_seventeen_digits(void **state)
{
	struct scan s = scan_str("ffffffffffffffff"), t = scan_str("1ffffffffffffffff");
	uint64_t v = 0;

	(void)state;
	assert_true(scan_hex(&s, &v));
	assert_true(v == UINT64_MAX);
	assert_false(scan_hex(&t, &v));
}

struct duration {
	const char *text;
	uint64_t s;
};

static void check_durations(const struct duration *all, size_t n)
{
	uint64_t ns;

	for (size_t i = 0; i < n; i++)
		if (!clock_parse_duration(scan_str(all[i].text), &ns) || ns != all[i].s * NS_PER_S)
			fail_msg("'%s'", all[i].text);
}

static void test_clock_parse_duration__reads_numbers_with_units(void **state)
{
	static const struct duration all[] = {
		{ "2", 2 },          { "90", 90 },        { "90s", 90 },       { "1.5m", 90 },
		{ "2h", 7200 },      { "1d", 86400 },     { "7d", 7 * 86400 }, { "1h30m", 5400 },
		{ "1h30m5s", 5405 }, { "1d12h", 129600 }, { "1s1000ms", 2 },   { "1h 30m", 5400 },
		{ "1d1m", 86460 },   { "0.5h30m", 3600 },
	};
	uint64_t ns;

	(void)state;
	check_durations(all, ARRAY_LEN(all));
	assert_true(clock_parse_duration(scan_str("0.05"), &ns) && ns == 50 * NS_PER_MS);
	assert_true(clock_parse_duration(scan_str("250ms"), &ns) && ns == 250 * NS_PER_MS);
}

static void test_clock_parse_duration__reads_what_slurm_writes(void **state)
{
	static const struct duration all[] = {
		{ "1:30:00", 5400 },     { "01:30:00", 5400 }, { "30:00", 1800 },
		{ "90:00", 5400 },       { "0:01", 1 },        { "100:00:00", 360000 },
		{ "1-02:00:00", 93600 }, { "1-02:30", 95400 }, { "1-02", 93600 },
		{ "1-00:00:01", 86401 }, { "0-0:0:30", 30 },   { "7-00:00:00", 7 * 86400 },
	};

	(void)state;
	check_durations(all, ARRAY_LEN(all));
}

static void test_clock_parse_duration__refuses_the_rest(void **state)
{
	static const char *const bad[] = {
		"",
		"x",
		"-1",
		"1w",
		"1 h",
		"1e3",
		"1h30",
		"30m1h",
		"1h1h",
		"1hm",
		"h",
		"1:60:00",
		"1:30:60",
		"1:2:3:4",
		"1:",
		":30",
		"1::2",
		"1-24:00:00",
		"1-",
		"-1:00",
		"1-1-1",
		"1: 30",
		"1:30:00s",
		"1:30.5",
		"1h1:30",
		"99999999999999d",
		"99999999999999999:00",
		"18446744073709551615-00",
	};
	uint64_t ns = 42;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (clock_parse_duration(scan_str(bad[i]), &ns))
			fail_msg("'%s' was taken for %ju ns", bad[i], (uintmax_t)ns);
	assert_int_equal(ns, 42);
}

RUN_TESTS(TEST(test_scan_u64__refuses_overflow_and_leaves_result_alone),
          TEST(test_scan_u64__reads_the_largest_number),
          TEST(test_scan_fixed__cuts_digits_and_pads_with_zeros),
          TEST(test_scan_typed__needs_no_digit_before_the_point),
          TEST(test_scan_fixed__refuses_a_point_without_digits),
          TEST(test_scan_line__returns_a_last_line_without_newline),
          TEST(test_scan_hex__refuses_seventeen_digits),
          TEST(test_clock_parse_duration__reads_numbers_with_units),
          TEST(test_clock_parse_duration__reads_what_slurm_writes),
          TEST(test_clock_parse_duration__refuses_the_rest))
