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

static void test_clock_parse_duration__accepts_units_and_refuses_the_rest(void **state)
{
	static const struct {
		const char *text;
		uint64_t ns;
	} good[] = { { "2", 2 * NS_PER_S },        { "0.05", 50 * NS_PER_MS },
		     { "250ms", 250 * NS_PER_MS }, { "1.5m", 90 * NS_PER_S },
		     { "2h", 7200 * NS_PER_S },    { "7d", 7 * 86400 * NS_PER_S } };
	static const char *const bad[] = { "", "x", "-1", "1w", "1 h", "1e3", "99999999999999d" };
	uint64_t ns;

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(good); i++) {
		assert_true(clock_parse_duration(scan_str(good[i].text), &ns));
		assert_true(ns == good[i].ns);
	}
	ns = 42;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		assert_false(clock_parse_duration(scan_str(bad[i]), &ns));
	assert_int_equal(ns, 42);
}

RUN_TESTS(TEST(test_scan_u64__refuses_overflow_and_leaves_result_alone),
          TEST(test_scan_u64__reads_the_largest_number),
          TEST(test_scan_fixed__cuts_digits_and_pads_with_zeros),
          TEST(test_scan_typed__needs_no_digit_before_the_point),
          TEST(test_scan_fixed__refuses_a_point_without_digits),
          TEST(test_scan_line__returns_a_last_line_without_newline),
          TEST(test_scan_hex__refuses_seventeen_digits),
          TEST(test_clock_parse_duration__accepts_units_and_refuses_the_rest))
