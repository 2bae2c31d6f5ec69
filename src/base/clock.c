/* SPDX-License-Identifier: MIT */
#include "base/clock.h"

#include <stdio.h>
#include <time.h>

static uint64_t now_ns(clockid_t id)
{
	struct timespec ts;

	clock_gettime(id, &ts);
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
}

uint64_t clock_wall_ns(void)
{
	return now_ns(CLOCK_REALTIME);
}

uint64_t clock_mono_ns(void)
{
	return now_ns(CLOCK_MONOTONIC);
}

uint64_t clock_boot_ns(void)
{
	return now_ns(CLOCK_BOOTTIME);
}

uint64_t clock_process_cpu_ns(void)
{
	return now_ns(CLOCK_PROCESS_CPUTIME_ID);
}

uint64_t clock_thread_cpu_ns(void)
{
	return now_ns(CLOCK_THREAD_CPUTIME_ID);
}

uint64_t clock_cpu_of_ns(pid_t pid)
{
	struct timespec ts;
	clockid_t id;

	if (clock_getcpuclockid(pid, &id) != 0 || clock_gettime(id, &ts) < 0)
		return 0;
	return (uint64_t)ts.tv_sec * NS_PER_S + (uint64_t)ts.tv_nsec;
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

bool clock_parse_duration(struct scan text, uint64_t *ret_ns)
{
	static const struct {
		const char *suffix;
		uint64_t ns;
	} units[] = {
		{ "", NS_PER_S },       { "s", NS_PER_S },        { "ms", NS_PER_MS },
		{ "m", 60 * NS_PER_S }, { "h", 3600 * NS_PER_S }, { "d", 86400 * NS_PER_S },
	};
	uint64_t micros, ns;

	if (!scan_typed(&text, 6, &micros))
		return false;
	for (size_t i = 0; i < ARRAY_LEN(units); i++) {
		if (!scan_eq(&text, units[i].suffix))
			continue;
		if (__builtin_mul_overflow(micros, units[i].ns / 1000000, &ns))
			return false;
		*ret_ns = ns;
		return true;
	}
	return false;
}
