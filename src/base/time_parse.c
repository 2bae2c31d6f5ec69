/* SPDX-License-Identifier: MIT */
#include "base/time_parse.h"

#include <string.h>
#include <time.h>

#include "base/clock.h"

#define YEAR_MIN 1970
#define YEAR_MAX 2499

/* A day and a time of day, as written. */
struct written {
	struct tm tm; /* year and month as written: not counted from 1900 and 0 */
	uint64_t ns;
	bool has_zone;
	int64_t zone_s; /* east of UTC */
};

static bool scan_digits(struct scan *s, unsigned n, int *ret)
{
	int value = 0;

	for (unsigned i = 0; i < n; i++) {
		if (scan_left(s) == 0 || *s->p < '0' || *s->p > '9')
			return false;
		value = value * 10 + (*s->p++ - '0');
	}
	*ret = value;
	return true;
}

static bool is_next(const struct scan *s, char c)
{
	return scan_left(s) > 0 && *s->p == c;
}

static int days_in_month(int year, int month)
{
	static const int days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	bool leap = (year % 4 == 0 && year % 100 != 0) || year % 400 == 0;

	return days[month - 1] + (month == 2 && leap);
}

/* 2026-11-15 */
static bool scan_date(struct scan *s, struct written *w)
{
	return scan_digits(s, 4, &w->tm.tm_year) && scan_lit(s, "-") &&
	       scan_digits(s, 2, &w->tm.tm_mon) && scan_lit(s, "-") &&
	       scan_digits(s, 2, &w->tm.tm_mday) && w->tm.tm_year >= YEAR_MIN &&
	       w->tm.tm_year <= YEAR_MAX && w->tm.tm_mon >= 1 && w->tm.tm_mon <= 12 &&
	       w->tm.tm_mday >= 1 && w->tm.tm_mday <= days_in_month(w->tm.tm_year, w->tm.tm_mon);
}

/* .250; digits beyond nanoseconds are skipped */
static bool scan_fraction(struct scan *s, uint64_t *ret_ns)
{
	uint64_t ns = 0, unit = NS_PER_S / 10;
	int digit;

	if (!scan_digits(s, 1, &digit))
		return false;
	do {
		ns += (uint64_t)digit * unit;
		unit /= 10;
	} while (scan_digits(s, 1, &digit));
	*ret_ns = ns;
	return true;
}

/* 14:00, 14:00:30, 14:00:30.25 */
static bool scan_clock(struct scan *s, struct written *w)
{
	if (!scan_digits(s, 2, &w->tm.tm_hour) || !scan_lit(s, ":") ||
	    !scan_digits(s, 2, &w->tm.tm_min) || w->tm.tm_hour > 23 || w->tm.tm_min > 59)
		return false;
	if (!is_next(s, ':'))
		return true;
	s->p++;
	if (!scan_digits(s, 2, &w->tm.tm_sec) || w->tm.tm_sec > 60)
		return false;
	if (!is_next(s, '.'))
		return true;
	s->p++;
	return scan_fraction(s, &w->ns);
}

/* Z, +01, +0100, -05:30, or nothing */
static bool scan_zone(struct scan *s, struct written *w)
{
	int hours, minutes = 0, sign;

	if (scan_at_end(s))
		return true;
	w->has_zone = true;
	if (scan_eq(s, "Z") || scan_eq(s, "z")) {
		s->p = s->end;
		return true;
	}
	if (!is_next(s, '+') && !is_next(s, '-'))
		return false;
	sign = *s->p++ == '-' ? -1 : 1;
	if (!scan_digits(s, 2, &hours))
		return false;
	if ((scan_lit(s, ":") || !scan_at_end(s)) && !scan_digits(s, 2, &minutes))
		return false;
	w->zone_s = (int64_t)sign * (hours * 3600 + minutes * 60);
	return hours <= 14 && minutes <= 59 && scan_at_end(s);
}

static bool to_ns(const struct written *w, uint64_t *ret_ns)
{
	struct tm tm = w->tm;
	int64_t seconds;

	tm.tm_year -= 1900;
	tm.tm_mon -= 1;
	tm.tm_isdst = -1;
	seconds = w->has_zone ? timegm(&tm) - w->zone_s : mktime(&tm);
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
	if (!is_next(&s, 'T') && !is_next(&s, 't') && !is_next(&s, ' '))
		return false;
	s.p++;
	return scan_clock(&s, &w) && scan_zone(&s, &w) && to_ns(&w, ret_ns);
}

/* Midnight of the local day `days_ago` days before now. */
static bool local_day(uint64_t now_ns, int days_ago, struct written *ret)
{
	time_t now = (time_t)(now_ns / NS_PER_S);
	struct tm tm;

	if (!localtime_r(&now, &tm))
		return false;
	ret->tm = (struct tm){ .tm_year = tm.tm_year + 1900,
		               .tm_mon = tm.tm_mon + 1,
		               .tm_mday = tm.tm_mday - days_ago };
	return true;
}

/* [today|yesterday] [14:00] */
static bool parse_day(struct scan s, uint64_t now_ns, uint64_t *ret_ns)
{
	struct written w = { 0 };
	bool is_yesterday = scan_lit(&s, "yesterday"),
	     is_named = is_yesterday || scan_lit(&s, "today");

	if (!local_day(now_ns, is_yesterday, &w))
		return false;
	if (is_named && scan_at_end(&s))
		return to_ns(&w, ret_ns);
	if (is_named && !scan_lit(&s, " "))
		return false;
	return scan_clock(&s, &w) && scan_at_end(&s) && to_ns(&w, ret_ns);
}

static bool unit_ns(const struct scan *word, uint64_t *ret_ns)
{
	static const struct {
		const char *one, *many;
		uint64_t seconds;
	} units[] = {
		{ "second", "seconds", 1 },
		{ "sec", "secs", 1 },
		{ "minute", "minutes", 60 },
		{ "min", "mins", 60 },
		{ "hour", "hours", 3600 },
		{ "day", "days", 86400 },
		{ "week", "weeks", 604800 },
		{ "w", "w", 604800 },
		{ "s", "s", 1 },
		{ "m", "m", 60 },
		{ "h", "h", 3600 },
		{ "d", "d", 86400 },
	};

	for (size_t i = 0; i < ARRAY_LEN(units); i++)
		if (scan_eq(word, units[i].one) || scan_eq(word, units[i].many)) {
			*ret_ns = units[i].seconds * NS_PER_S;
			return true;
		}
	return false;
}

/* 2h, 1.5h, 2 hours; the unit is required */
static bool parse_span(struct scan s, uint64_t *ret_ns)
{
	uint64_t micros, unit, ns;

	if (scan_left(&s) == 0 || *s.p < '0' || *s.p > '9' || !scan_fixed(&s, 6, &micros))
		return false;
	scan_blanks(&s);
	if (!unit_ns(&s, &unit) || __builtin_mul_overflow(micros, unit / 1000000, &ns))
		return false;
	*ret_ns = ns;
	return true;
}

/* 2h ago; the "ago" may be left out */
static bool parse_ago(struct scan s, uint64_t now_ns, uint64_t *ret_ns)
{
	static const char ago[] = " ago";
	uint64_t ns;

	if (scan_left(&s) > strlen(ago) && memcmp(s.end - strlen(ago), ago, strlen(ago)) == 0)
		s.end -= strlen(ago);
	if (!parse_span(s, &ns) || ns > now_ns)
		return false;
	*ret_ns = now_ns - ns;
	return true;
}

static bool parse_unix(struct scan s, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!scan_lit(&s, "@") || scan_left(&s) == 0 || *s.p < '0' || *s.p > '9' ||
	    !scan_fixed(&s, 9, &ns) || !scan_at_end(&s) || ns / NS_PER_S > UINT64_C(16725225600))
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
