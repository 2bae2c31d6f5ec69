/* SPDX-License-Identifier: MIT */
#include "base/time_parse.h"

#include <time.h>

#include "base/clock.h"
#include "check.h"

/* 2025-11-15 14:03:07 UTC, a Saturday; in Berlin it is 15:03:07. */
#define NOW_S UINT64_C(1763215387)

static uint64_t parsed(const char *text)
{
	uint64_t ns = 42;

	if (!time_parse(scan_str(text), NOW_S * NS_PER_S, &ns)) {
		assert_int_equal(ns, 42);
		return 0;
	}
	return ns;
}

static void use_zone(const char *zone)
{
	setenv("TZ", zone, 1);
	tzset();
}

struct expected {
	const char *text;
	uint64_t s;
};

static void check_all(const struct expected *all, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (parsed(all[i].text) != all[i].s * NS_PER_S)
			fail_msg("'%s': %ju", all[i].text, (uintmax_t)parsed(all[i].text));
}

static void test_time_parse__counts_back_from_now(void **state)
{
	static const struct expected all[] = {
		{ "now", NOW_S },
		{ "2h ago", NOW_S - 7200 },
		{ "2h", NOW_S - 7200 },
		{ "1.5h ago", NOW_S - 5400 },
		{ "1h30m ago", NOW_S - 5400 },
		{ "2 h ago", NOW_S - 7200 },
		{ "90s ago", NOW_S - 90 },
		{ "3 days ago", NOW_S - 259200 },
		{ "1 week ago", NOW_S - 604800 },
		{ "10 min ago", NOW_S - 600 },
	};

	check_all(all, ARRAY_LEN(all));
}

static void test_time_parse__takes_days_and_clock_times_as_local(void **state)
{
	static const struct expected all[] = {
		{ "today", 1763161200 },
		{ "today 14:00", 1763161200 + 14 * 3600 },
		{ "14:00", 1763161200 + 14 * 3600 },
		{ "14:00:30", 1763161200 + 14 * 3600 + 30 },
		{ "yesterday", 1763161200 - 86400 },
		{ "yesterday 14:00", 1763161200 - 86400 + 14 * 3600 },
		{ "2025-11-15", 1763161200 },
		{ "2025-07-01 12:00", 1751364000 }, /* summer time */
	};

	use_zone("CET-1CEST,M3.5.0,M10.5.0/3");
	check_all(all, ARRAY_LEN(all));
	use_zone("UTC");
}

static void test_time_parse__reads_iso_8601(void **state)
{
	static const struct expected all[] = {
		{ "2025-11-15T14:03:07Z", NOW_S },
		{ "2025-11-15t14:03:07z", NOW_S },
		{ "2025-11-15 15:03:07+01:00", NOW_S },
		{ "2025-11-15T08:33:07-0530", NOW_S },
		{ "2025-11-15T15:03:07+01", NOW_S },
		{ "2024-02-29T00:00:00Z", 1709164800 },
		{ "@1763215387", NOW_S },
	};

	use_zone("UTC");
	check_all(all, ARRAY_LEN(all));
	assert_int_equal(parsed("2025-11-15T14:03:07.25Z"), NOW_S * NS_PER_S + NS_PER_S / 4);
	assert_int_equal(parsed("@0.5"), NS_PER_S / 2);
	/* The night when the month begins. */
	assert_int_equal(parsed("2025-11-01 00:30"), UINT64_C(1761957000) * NS_PER_S);
}

static void test_time_parse__refuses_other_text(void **state)
{
	static const char *const bad[] = {
		"",
		" ",
		"2",
		"ago",
		" ago",
		"2h  agoo",
		"-2h",
		"tomorrow",
		"yesterday14:00",
		"yesterday ",
		"24:00",
		"14:60",
		"1:00",
		"14:00Z",
		"1:30:00 ago",
		"1h30 ago",
		"2025-13-01",
		"2025-02-29",
		"2025-1-1",
		"1969-12-31",
		"2500-01-01",
		"2025-11-15T",
		"2025-11-15Z",
		"2025-11-15T14:00+15:00",
		"2025-11-15T14:00+01:",
		"2025-11-15T14:00:00.Z",
		"@",
		"@-1",
		"@99999999999999999999",
		"@ 5",
		"1000000 weeks ago",
		"18446744073709551615d ago",
		"now now",
	};

	use_zone("UTC");
	for (size_t i = 0; i < ARRAY_LEN(bad); i++)
		if (parsed(bad[i]))
			fail_msg("'%s' was taken for %ju", bad[i], (uintmax_t)parsed(bad[i]));
}

RUN_TESTS(TEST(test_time_parse__counts_back_from_now),
          TEST(test_time_parse__takes_days_and_clock_times_as_local),
          TEST(test_time_parse__reads_iso_8601), TEST(test_time_parse__refuses_other_text))
