/* SPDX-License-Identifier: MIT */
#include "view/format.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/text.h"

static const struct fmt unknown = { "-" };

struct fmt format_bytes(uint64_t bytes)
{
	struct fmt f;

	static_assert(sizeof f.at >= TEXT_BYTES_MAX, "an amount of bytes fits");
	text_put_bytes((double)bytes, f.at);
	return f;
}

struct fmt format_bytes_of(uint64_t part, uint64_t whole)
{
	struct fmt a = format_bytes(part), b = format_bytes(whole), f;
	const char *a_unit = strchr(a.at, ' '), *b_unit = strchr(b.at, ' ');
	int a_len = (int)strlen(a.at);

	if (a_unit && b_unit && strcmp(a_unit, b_unit) == 0) /* the unit is written once */
		a_len = (int)(a_unit - a.at);
	snprintf(f.at, sizeof f.at, "%.*s of %.12s", MIN(a_len, 12), a.at, b.at);
	return f;
}

static struct fmt scaled_short(double bytes)
{
	unsigned unit = text_byte_unit(bytes);
	char amount[TEXT_BYTES_MAX];
	struct fmt f;

	text_put_bytes_in(bytes, unit, amount);
	snprintf(f.at, sizeof f.at, "%s%.1s", amount, unit ? text_byte_unit_name(unit) : "");
	return f;
}

struct fmt format_bytes_short(uint64_t bytes)
{
	return scaled_short((double)bytes);
}

struct fmt format_memory_option(uint64_t bytes)
{
	unsigned long long mib = (bytes + (1 << 20) - 1) >> 20;
	struct fmt f;

	snprintf(f.at, sizeof f.at, "%llu%c", mib % 1024 ? mib : mib / 1024, mib % 1024 ? 'M' : 'G');
	return f;
}

struct fmt format_rate_short(double bytes_per_s)
{
	return isfinite(bytes_per_s) ? scaled_short(bytes_per_s) : unknown;
}

/* A time in its two largest units; the second has two digits where the columns must stand
 * still. */
static struct fmt two_units(uint64_t s, const char *gap)
{
	struct fmt f;
	uint64_t m = s / 60, h = m / 60, d = h / 24;

	if (d >= 100)
		snprintf(f.at, sizeof f.at, "%jud", (uintmax_t)d);
	else if (d)
		snprintf(f.at, sizeof f.at, *gap ? "%jud%s%juh" : "%jud%s%02juh", (uintmax_t)d, gap,
		         (uintmax_t)(h % 24));
	else if (h)
		snprintf(f.at, sizeof f.at, "%juh%s%02jum", (uintmax_t)h, gap, (uintmax_t)(m % 60));
	else if (m)
		snprintf(f.at, sizeof f.at, "%jum%s%02jus", (uintmax_t)m, gap, (uintmax_t)(s % 60));
	else
		snprintf(f.at, sizeof f.at, "%jus", (uintmax_t)s);
	return f;
}

struct fmt format_duration(uint64_t ns)
{
	struct fmt f;

	ns = ns / NS_PER_US * NS_PER_US; /* as it is stored, so that both are rounded alike */
	if (ns == 0 || ns >= 10 * NS_PER_S - NS_PER_S / 20)
		return two_units(ns / NS_PER_S + (ns % NS_PER_S >= NS_PER_S / 2), " ");
	if (ns < 100 * NS_PER_MS - NS_PER_MS / 20)
		snprintf(f.at, sizeof f.at, "%.1fms", (double)ns / 1e6);
	else if (ns < NS_PER_S - NS_PER_MS / 2)
		snprintf(f.at, sizeof f.at, "%.0fms", (double)ns / 1e6);
	else
		snprintf(f.at, sizeof f.at, "%.1fs", (double)ns / 1e9);
	return f;
}

struct fmt format_duration_short(uint64_t ns)
{
	return two_units(ns / NS_PER_S, "");
}

struct fmt format_percent_bare(double ratio)
{
	struct fmt f;
	double percent = ratio * 100;

	if (!isfinite(percent))
		return unknown;
	if (percent > 0 && percent < 0.05)
		return (struct fmt){ "<0.1" };
	if (fabs(percent) < 0.05)
		percent = 0; /* no "-0.0" */
	snprintf(f.at, sizeof f.at, percent >= 99.95 ? "%.0f" : "%.1f", percent);
	return f;
}

struct fmt format_percent(double ratio)
{
	struct fmt bare = format_percent_bare(ratio), f;

	if (!isfinite(ratio))
		return unknown;
	if (ratio * 100 >= 9.95)
		snprintf(f.at, sizeof f.at, "%.0f %%", ratio * 100);
	else
		snprintf(f.at, sizeof f.at, "%.8s %%", bare.at);
	return f;
}

struct fmt format_energy(double wh)
{
	bool is_large = wh >= 999.5;
	double shown = is_large ? wh / 1000 : wh;
	int decimals = shown >= 99.95 ? 0 : shown >= 9.995 ? 1 : shown >= 0.9995 ? 2 : 3;
	struct fmt f;

	if (!isfinite(wh))
		return unknown;
	if (wh > 0 && wh < 0.0005)
		snprintf(f.at, sizeof f.at, "<0.001 Wh");
	else
		snprintf(f.at, sizeof f.at, "%.*f %s", decimals, shown, is_large ? "kWh" : "Wh");
	return f;
}

struct fmt format_count(uint64_t n)
{
	struct fmt f;
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof digits, "%ju", (uintmax_t)n), out = 0;

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			f.at[out++] = ',';
		f.at[out++] = digits[i];
	}
	f.at[out] = '\0';
	return f;
}

void format_put_count(struct buf *to, uint64_t n, const char *what)
{
	if (n)
		buf_printf(to, "%s%s %s", to->len ? ", " : "", format_count(n).at, what);
}

struct fmt format_milli(uint64_t milli, unsigned decimals)
{
	struct fmt f;

	snprintf(f.at, sizeof f.at, "%.*f", (int)decimals, (double)milli / 1000);
	return f;
}

struct fmt format_time(uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct fmt f = unknown;
	struct tm tm;

	if (localtime_r(&seconds, &tm))
		strftime(f.at, sizeof f.at, "%Y-%m-%d %H:%M:%S", &tm);
	return f;
}

struct fmt format_clock(uint64_t wall_ns)
{
	struct fmt f = format_time(wall_ns);
	const char *clock = strchr(f.at, ' ');

	if (clock)
		memmove(f.at, clock + 1, strlen(clock));
	return f;
}

static bool is_same_day(const struct tm *a, const struct tm *b)
{
	return a->tm_year == b->tm_year && a->tm_yday == b->tm_yday;
}

struct fmt format_when(uint64_t wall_ns, uint64_t now_ns)
{
	time_t then = (time_t)(wall_ns / NS_PER_S), now = (time_t)(now_ns / NS_PER_S), day_before;
	struct fmt f = unknown;
	struct tm tm, today, yesterday;

	if (!localtime_r(&then, &tm) || !localtime_r(&now, &today))
		return f;
	yesterday = today;
	yesterday.tm_mday--;
	yesterday.tm_hour = 12; /* the hour that no change of the clock takes away */
	day_before = mktime(&yesterday);
	localtime_r(&day_before, &yesterday);
	if (is_same_day(&tm, &today))
		strftime(f.at, sizeof f.at, "%H:%M today", &tm);
	else if (is_same_day(&tm, &yesterday))
		strftime(f.at, sizeof f.at, "%H:%M yesterday", &tm);
	else
		strftime(f.at, sizeof f.at, "%Y-%m-%d %H:%M", &tm);
	return f;
}

struct fmt format_offset(uint64_t ns)
{
	struct fmt f;
	uint64_t ms = ns / NS_PER_MS, s = ms / 1000, m = s / 60, h = m / 60;

	if (h)
		snprintf(f.at, sizeof f.at, "+%juh%02jum%02jus", (uintmax_t)h, (uintmax_t)(m % 60),
		         (uintmax_t)(s % 60));
	else if (m)
		snprintf(f.at, sizeof f.at, "+%jum%02ju.%jus", (uintmax_t)m, (uintmax_t)(s % 60),
		         (uintmax_t)(ms % 1000 / 100));
	else
		snprintf(f.at, sizeof f.at, "+%ju.%03jus", (uintmax_t)s, (uintmax_t)(ms % 1000));
	return f;
}

struct fmt format_bar(double ratio, bool unicode)
{
	static const char *const cells[][2] = { { ".", "#" }, { "░", "█" } };
	struct fmt f;
	size_t len = 0;

	for (int i = 0; i < 10; i++)
		len += (size_t)snprintf(f.at + len, sizeof f.at - len, "%s",
		                        cells[unicode][i < lround(ratio * 10)]);
	return f;
}
