/* SPDX-License-Identifier: MIT */
#include "base/time_parse.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

#define YEAR_MIN 1970
#define YEAR_MAX 2499
#define UNIX_MAX_S UINT64_C(16725225600) /* 2500-01-01 */

/* A day and a time of day, as written. */
struct written {
	int year, month, day, hour, minute, second;
	uint64_t ns;
	bool has_zone;
	int zone_s; /* east of UTC */
};

/* Exactly n digits. */
static bool scan_digits(struct scan *s, unsigned n, int *ret)
{
	int value = 0;

	for (; n && scan_at_digit(s); n--)
		value = value * 10 + (*s->p++ - '0');
	*ret = value;
	return n == 0;
}

/* 2026-11-15 */
static bool scan_date(struct scan *s, struct written *w)
{
	struct tm tm;

	if (!scan_digits(s, 4, &w->year) || !scan_lit(s, "-") || !scan_digits(s, 2, &w->month) ||
	    !scan_lit(s, "-") || !scan_digits(s, 2, &w->day) || w->year < YEAR_MIN ||
	    w->year > YEAR_MAX)
		return false;
	tm = (struct tm){ .tm_year = w->year - 1900, .tm_mon = w->month - 1, .tm_mday = w->day };
	timegm(&tm); /* a day that does not exist becomes another one */
	return tm.tm_mon == w->month - 1 && tm.tm_mday == w->day;
}

/* 14:00, 14:00:30, 14:00:30.25 */
static bool scan_clock(struct scan *s, struct written *w)
{
	if (!scan_digits(s, 2, &w->hour) || !scan_lit(s, ":") || !scan_digits(s, 2, &w->minute))
		return false;
	if (scan_lit(s, ":")) {
		if (!scan_digits(s, 2, &w->second))
			return false;
		if (s->p < s->end && *s->p == '.' && !scan_typed(s, 9, &w->ns))
			return false;
	}
	return w->hour <= 23 && w->minute <= 59 && w->second <= 60;
}

/* Z, +01, +0100, -05:30, or nothing */
static bool scan_zone(struct scan *s, struct written *w)
{
	int hours, minutes = 0, sign;

	if (scan_at_end(s))
		return true;
	w->has_zone = true;
	if (scan_lit(s, "Z") || scan_lit(s, "z"))
		return scan_at_end(s);
	sign = scan_lit(s, "+") ? 1 : scan_lit(s, "-") ? -1 : 0;
	if (!sign || !scan_digits(s, 2, &hours))
		return false;
	if ((scan_lit(s, ":") || !scan_at_end(s)) && !scan_digits(s, 2, &minutes))
		return false;
	w->zone_s = sign * (hours * 3600 + minutes * 60);
	return hours <= 14 && minutes <= 59 && scan_at_end(s);
}

static bool to_ns(const struct written *w, uint64_t *ret_ns)
{
	struct tm tm = { .tm_year = w->year - 1900,
		         .tm_mon = w->month - 1,
		         .tm_mday = w->day,
		         .tm_hour = w->hour,
		         .tm_min = w->minute,
		         .tm_sec = w->second,
		         .tm_isdst = -1 };
	int64_t seconds = w->has_zone ? timegm(&tm) - w->zone_s : mktime(&tm);

	if (seconds < 0)
		return false;
	*ret_ns = (uint64_t)seconds * NS_PER_S + w->ns;
	return true;
}

static bool parse_iso(struct scan s, uint64_t *ret_ns)
{
	struct written w = { 0 };

	if (!scan_date(&s, &w))
		return false;
	if (scan_at_end(&s))
		return to_ns(&w, ret_ns);
	return (scan_lit(&s, "T") || scan_lit(&s, "t") || scan_lit(&s, " ")) &&
	       scan_clock(&s, &w) && scan_zone(&s, &w) && to_ns(&w, ret_ns);
}

/* [today|yesterday] [14:00] */
static bool parse_day(struct scan s, uint64_t now_ns, uint64_t *ret_ns)
{
	bool is_yesterday = scan_lit(&s, "yesterday"),
	     is_named = is_yesterday || scan_lit(&s, "today");
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct written w;
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return false;
	w = (struct written){ .year = tm.tm_year + 1900,
		              .month = tm.tm_mon + 1,
		              .day = tm.tm_mday - is_yesterday };
	if (is_named && scan_at_end(&s))
		return to_ns(&w, ret_ns);
	return (!is_named || scan_lit(&s, " ")) && scan_clock(&s, &w) && scan_at_end(&s) &&
	       to_ns(&w, ret_ns);
}

static bool scan_unit(struct scan word, uint64_t *ret_ns)
{
	static const struct {
		const char *name, *letter;
		uint64_t seconds;
	} units[] = {
		{ "second", "s", 1 },    { "sec", "s", 1 },     { "minute", "m", 60 },
		{ "min", "m", 60 },      { "hour", "h", 3600 }, { "day", "d", 86400 },
		{ "week", "w", 604800 },
	};

	if (scan_left(&word) > 3 && word.end[-1] == 's')
		word.end--; /* a plural */
	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (scan_eq(&word, units[i].name) || scan_eq(&word, units[i].letter)) {
			*ret_ns = units[i].seconds * NS_PER_S;
			return true;
		}
	return false;
}

/* One unit, which may be a word: 2 hours, 1.5 days, 2w. */
static bool parse_named(struct scan s, uint64_t *ret_ns)
{
	uint64_t micros, unit;

	if (!scan_at_digit(&s) || !scan_fixed(&s, 6, &micros))
		return false;
	scan_blanks(&s);
	return scan_unit(s, &unit) && !__builtin_mul_overflow(micros, unit / 1000000, ret_ns);
}

/* 2h ago, 1h30m ago, 2 hours ago; the "ago" may be left out, the unit not */
static bool parse_ago(struct scan s, uint64_t now_ns, uint64_t *ret_ns)
{
	static const char ago[] = " ago";
	uint64_t ns;

	if (scan_left(&s) > strlen(ago) && memcmp(s.end - strlen(ago), ago, strlen(ago)) == 0)
		s.end -= strlen(ago);
	if (!scan_at_digit(&s) || s.end[-1] < 'a' || s.end[-1] > 'z' ||
	    (!clock_parse_duration(s, &ns) && !parse_named(s, &ns)) || ns > now_ns)
		return false;
	*ret_ns = now_ns - ns;
	return true;
}

static bool parse_unix(struct scan s, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!scan_lit(&s, "@") || !scan_at_digit(&s) || !scan_fixed(&s, 9, &ns) ||
	    !scan_at_end(&s) || ns / NS_PER_S > UNIX_MAX_S)
		return false;
	*ret_ns = ns;
	return true;
}

bool time_parse(struct scan text, uint64_t now_ns, uint64_t *ret_ns)
{
	if (scan_eq(&text, "now")) {
		*ret_ns = now_ns;
		return true;
	}
	return parse_unix(text, ret_ns) || parse_iso(text, ret_ns) ||
	       parse_day(text, now_ns, ret_ns) || parse_ago(text, now_ns, ret_ns);
}
