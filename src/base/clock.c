/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

#include "base/timeline.h"

/* The kinds of clocks of CPU time, as the kernel's posix-timers.h numbers them. */
#define CPU_CLOCK_KINDS 3
#define CPU_CLOCK_TICKS 0
#define CPU_CLOCK_SCHEDULED 2

static uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_ns(void)
{
	return timeline_now_ns();
}

uint64_t clock_mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ns(void)
{
	return now_ns(CLOCK_BOOTTIME);
}

uint64_t clock_boot_at(uint64_t wall_ns)
{
	uint64_t now_wall_ns = clock_wall_ns(), now_ns = clock_boot_ns();

	return now_ns - MIN(now_ns, now_wall_ns - MIN(now_wall_ns, wall_ns));
}

uint64_t clock_process_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

static uint64_t cpu_clock_ns(pid_t pid, clockid_t kind)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 ||
	    clock_gettime((id & ~CPU_CLOCK_KINDS) | kind, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_cpu_of_ns(pid_t pid)
{
	return cpu_clock_ns(pid, CPU_CLOCK_SCHEDULED);
}

uint64_t clock_ticks_of_ns(pid_t pid)
{
	return cpu_clock_ns(pid, CPU_CLOCK_TICKS);
}

uint64_t clock_timeval_ns(struct timeval tv)
{
	return (uint64_t)tv.tv_sec * NS_PER_S + (uint64_t)tv.tv_usec * NS_PER_US;
}

void clock_format_utc(uint64_t wall_ns, char *to, size_t cap)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	struct tm tm;
	size_t n;

	gmtime_r(&seconds, &tm);
	n = strftime(to, cap, "%Y-%m-%dT%H:%M:%S", &tm);
	if (n)
		snprintf(to + n, cap - n, ".%03uZ", (unsigned)(wall_ns % NS_PER_S / NS_PER_MS));
}

/* The letters at the cursor, which may be none. */
static struct scan scan_letters(struct scan *s)
{
	const char *start = s->p;

	while (s->p < s->end && *s->p >= 'a' && *s->p <= 'z')
		s->p++;
	return scan_mem(start, (size_t)(s->p - start));
}

/* 90, 1.5s, 1h30m: each unit once, the largest first; a number alone is seconds. */
static bool parse_units(struct scan text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{ "d", 86400 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "m", 60 * NS_PER_S },
		{ "s", NS_PER_S },         { "ms", NS_PER_MS },
	};
	uint64_t total = 0, micros, ns;
	size_t from = 0;

	do {
		struct scan suffix;
		size_t i = from;

		if (!scan_typed(&text, 6, &micros))
			return false;
		suffix = scan_letters(&text);
		if (from == 0 && scan_at_end(&suffix) && scan_at_end(&text))
			suffix = scan_str("s");
		while (i < ARRAY_LEN(units) && !scan_eq(&suffix, units[i].suffix))
			i++;
		if (i == ARRAY_LEN(units) ||
		    __builtin_mul_overflow(micros, units[i].ns / 1000000, &ns) ||
		    __builtin_add_overflow(total, ns, &total))
			return false;
		from = i + 1;
	} while (!scan_at_end(&text));
	*ret_ns = total;
	return true;
}

/* As Slurm writes it: 90:00 (minutes and seconds), 1:30:00, 1-02, 1-02:30, 1-02:30:00 (days first). */
static bool parse_clock(struct scan text, uint64_t *ret_ns)
{
	static const uint64_t per[] = { 24, 60, 60 }; /* hours a day, … */
	uint64_t days = 0, part[3] = { 0 }, total;
	struct scan rest = text;
	bool has_days = scan_u64(&rest, &days) && scan_lit(&rest, "-");
	size_t n = 0, first;

	if (has_days)
		text = rest;
	do
		if (n == ARRAY_LEN(part) || !scan_at_digit(&text) || !scan_u64(&text, &part[n++]))
			return false;
	while (scan_lit(&text, ":"));
	if (!scan_at_end(&text) || (!has_days && n < 2))
		return false;
	first = has_days ? 0 : ARRAY_LEN(part) - n; /* without days the last part is seconds */
	total = has_days ? days : 0;
	for (size_t i = 0; i < ARRAY_LEN(part); i++) {
		uint64_t value = i >= first && i - first < n ? part[i - first] : 0;

		if (value >= per[i] && (has_days || i > first))
			return false;
		if (__builtin_mul_overflow(total, per[i], &total) ||
		    __builtin_add_overflow(total, value, &total))
			return false;
	}
	return !__builtin_mul_overflow(total, NS_PER_S, ret_ns);
}

bool clock_parse_duration(struct scan text, uint64_t *ret_ns)
{
	uint64_t ns;

	if (!parse_units(text, &ns) && !parse_clock(text, &ns))
		return false;
	*ret_ns = ns;
	return true;
}
