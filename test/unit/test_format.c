/* SPDX-License-Identifier: MIT */
#include "view/format.h"

#include <math.h>

#include "base/clock.h"
#include "base/defs.h"
#include <time.h>

#include "check.h"

static void test_format_bytes__shows_three_figures_and_a_unit(void **state)
{
	static const struct {
		uint64_t bytes;
		const char *text, *shorter;
	} rows[] = {
		{ 0, "0 B", "0" },
		{ 999, "999 B", "999" },
		{ 1000, "1.0 KiB", "1.0K" },
		{ 1024, "1.0 KiB", "1.0K" },
		{ UINT64_C(6549825126), "6.1 GiB", "6.1G" },
		{ UINT64_C(412) << 20, "412 MiB", "412M" },
		{ (UINT64_C(1) << 30) - 1, "1.0 GiB", "1.0G" },
		{ UINT64_C(100) << 10, "100 KiB", "100K" },
		{ 102297, "99.9 KiB", "99.9K" },
		{ UINT64_MAX, "16.0 EiB", "16.0E" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(format_bytes(rows[i].bytes).at, rows[i].text);
		assert_string_equal(format_bytes_short(rows[i].bytes).at, rows[i].shorter);
	}
}

static void test_format_bytes_of__shows_a_unit_once(void **state)
{
	assert_string_equal(format_bytes_of(UINT64_C(2) << 30, UINT64_C(8) << 30).at,
	                    "2.0 of 8.0 GiB");
	assert_string_equal(format_bytes_of(90 << 10, UINT64_C(8) << 30).at, "90.0 KiB of 8.0 GiB");
	assert_string_equal(format_bytes_of(0, 0).at, "0 of 0 B");
}

static void test_format_rate__an_unknown_rate_is_a_dash_and_zero_is_zero(void **state)
{
	assert_string_equal(format_rate_short(NAN).at, "-");
	assert_string_equal(format_rate_short(INFINITY).at, "-");
	assert_string_equal(format_rate_short(0).at, "0");
	assert_string_equal(format_rate_short(8.0 * (1 << 20)).at, "8.0M");
}

static void test_format_duration__shows_the_two_largest_units(void **state)
{
	static const struct {
		uint64_t ns;
		const char *text, *shorter;
	} rows[] = {
		{ 0, "0s", "0s" },
		{ 1200 * NS_PER_US, "1.2ms", "0s" },
		{ 36550 * NS_PER_US, "36.5ms", "0s" },
		{ 36550 * NS_PER_US + 900, "36.5ms", "0s" }, /* stored as the one before */
		{ 400 * NS_PER_MS, "400ms", "0s" },
		{ 9949 * NS_PER_MS, "9.9s", "9s" },
		{ 9950 * NS_PER_MS, "10s", "9s" },
		{ 48 * NS_PER_S, "48s", "48s" },
		{ 59999 * NS_PER_MS, "1m 00s", "59s" },
		{ 761 * NS_PER_S, "12m 41s", "12m41s" },
		{ 11100 * NS_PER_S, "3h 05m", "3h05m" },
		{ (2 * 86400 + 4 * 3600) * NS_PER_S, "2d 4h", "2d04h" },
		{ 400 * 86400 * NS_PER_S, "400d", "400d" },
		{ UINT64_MAX, "213503d", "213503d" },
	};

	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(format_duration(rows[i].ns).at, rows[i].text);
		assert_string_equal(format_duration_short(rows[i].ns).at, rows[i].shorter);
	}
}

static void test_format_percent__makes_percents_of_ratios(void **state)
{
	assert_string_equal(format_percent(0).at, "0.0 %");
	assert_string_equal(format_percent(0.0004).at, "<0.1 %"); /* not nothing */
	assert_string_equal(format_percent(0.003).at, "0.3 %");
	assert_string_equal(format_percent(0.0994).at, "9.9 %");
	assert_string_equal(format_percent(0.0996).at, "10 %");
	assert_string_equal(format_percent(0.62).at, "62 %");
	assert_string_equal(format_percent(4.12).at, "412 %");
	assert_string_equal(format_percent(-1e-9).at, "0.0 %");
	assert_string_equal(format_percent(NAN).at, "-");
	assert_string_equal(format_percent_bare(0.0345).at, "3.5");
	assert_string_equal(format_percent_bare(0.9994).at, "99.9");
	assert_string_equal(format_percent_bare(0.9996).at, "100");
	assert_string_equal(format_percent_bare(NAN).at, "-");
}

static void test_format_energy__shows_three_figures(void **state)
{
	assert_string_equal(format_energy(0).at, "0.000 Wh");
	assert_string_equal(format_energy(0.0001).at, "<0.001 Wh");
	assert_string_equal(format_energy(0.0343).at, "0.034 Wh");
	assert_string_equal(format_energy(9.994).at, "9.99 Wh");
	assert_string_equal(format_energy(9.996).at, "10.0 Wh");
	assert_string_equal(format_energy(52.84).at, "52.8 Wh");
	assert_string_equal(format_energy(999.4).at, "999 Wh");
	assert_string_equal(format_energy(1234).at, "1.23 kWh");
	assert_string_equal(format_energy(NAN).at, "-");
}

static void test_format_count__groups_thousands(void **state)
{
	assert_string_equal(format_count(0).at, "0");
	assert_string_equal(format_count(999).at, "999");
	assert_string_equal(format_count(1000).at, "1,000");
	assert_string_equal(format_count(1234567).at, "1,234,567");
	assert_string_equal(format_count(UINT64_MAX).at, "18,446,744,073,709,551,615");
}

static void test_format_milli__and_time(void **state)
{
	setenv("TZ", "UTC", 1);
	assert_string_equal(format_milli(3412, 2).at, "3.41");
	assert_string_equal(format_milli(2000, 1).at, "2.0");
	assert_string_equal(format_time(UINT64_C(1700000000) * NS_PER_S).at, "2023-11-14 22:13:20");
}

static void test_format_when__names_the_days_near_by(void **state)
{
	/* 2025-03-30 12:00 in Berlin; the night before, the clock went forward. */
	uint64_t now = UINT64_C(1743328800) * NS_PER_S, hour = 3600 * NS_PER_S;

	setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1);
	tzset();
	assert_string_equal(format_when(now - hour, now).at, "11:00 today");
	assert_string_equal(format_when(now - 11 * hour, now).at, "00:00 today");
	assert_string_equal(format_when(now - 12 * hour, now).at, "23:00 yesterday");
	assert_string_equal(format_when(now - 36 * hour, now).at, "2025-03-28 23:00");
	assert_string_equal(format_clock(now).at, "12:00:00");
	setenv("TZ", "UTC", 1);
	tzset();
}

static void test_format_offset__has_the_decimals_that_matter(void **state)
{
	assert_string_equal(format_offset(0).at, "+0.000s");
	assert_string_equal(format_offset(12500 * NS_PER_MS).at, "+12.500s");
	assert_string_equal(format_offset(560400 * NS_PER_MS).at, "+9m20.4s");
	assert_string_equal(format_offset(7384 * NS_PER_S).at, "+2h03m04s");
}

RUN_TESTS(TEST(test_format_bytes__shows_three_figures_and_a_unit),
          TEST(test_format_bytes_of__shows_a_unit_once),
          TEST(test_format_rate__an_unknown_rate_is_a_dash_and_zero_is_zero),
          TEST(test_format_duration__shows_the_two_largest_units),
          TEST(test_format_percent__makes_percents_of_ratios),
          TEST(test_format_energy__shows_three_figures),
          TEST(test_format_count__groups_thousands), TEST(test_format_milli__and_time),
          TEST(test_format_when__names_the_days_near_by),
          TEST(test_format_offset__has_the_decimals_that_matter))
