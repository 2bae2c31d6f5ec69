/* SPDX-License-Identifier: MIT */
/* hwfile_put.c - the lines we write ourselves; hwfile.c reads them back to the same sums. */
#include <time.h>

#include "base/clock.h"
#include "store/hwfile.h"

void hwfile_put_time(struct buf *to, uint64_t wall_ns)
{
	time_t seconds = (time_t)(wall_ns / NS_PER_S);
	char text[40];
	struct tm tm;

	localtime_r(&seconds, &tm);
	strftime(text, sizeof text, "%Y/%m/%d %H:%M:%S", &tm);
	buf_printf(to, "%s.%03u", text, (unsigned)(wall_ns % NS_PER_S / NS_PER_MS));
}

void hwfile_put_cpu(struct buf *to, uint64_t wall_ns, uint64_t usr_tenths, uint64_t idle_tenths)
{
	hwfile_put_time(to, wall_ns);
	buf_printf(to, ",%llu.%llu,%llu.%llu\n", (unsigned long long)usr_tenths / 10,
	           (unsigned long long)usr_tenths % 10, (unsigned long long)idle_tenths / 10,
	           (unsigned long long)idle_tenths % 10);
}
