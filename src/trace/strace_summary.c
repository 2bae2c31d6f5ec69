/* SPDX-License-Identifier: MIT */
#include "trace/strace_summary.h"

#include <math.h>
#include <string.h>

static bool is_name(struct scan word)
{
	for (; word.p < word.end; word.p++)
		if (!(*word.p >= 'a' && *word.p <= 'z') && !(*word.p >= '0' && *word.p <= '9') &&
		    *word.p != '_')
			return false;
	return true;
}

/*     seconds     calls syscall             errors
 * ----------- --------- ---------------- ---------
 *    0.001147       101 openat                  43
 *    0.000555        66 close
 * ----------- --------- ---------------- ---------
 *    0.001702       167 total                   43 */
static bool parse_row(struct scan line, struct syscall_record *ret)
{
	struct syscall_record r = { 0 };
	struct scan name;
	size_t n;

	scan_blanks(&line);
	if (!scan_fixed(&line, 9, &r.ns) || !scan_u64(&line, &r.count))
		return false;
	scan_blanks(&line);
	if (!scan_word(&line, &name) || !is_name(name) || scan_eq(&name, "total"))
		return false;
	(void)scan_u64(&line, &r.errors); /* left blank if there are none */
	n = MIN(scan_left(&name), sizeof r.name - 1);
	memcpy(r.name, name.p, n);
	*ret = r;
	return true;
}

size_t strace_summary_parse(struct scan text, struct syscall_record *ret, size_t n)
{
	double all_ns = 0;
	struct scan line;
	size_t len = 0;

	while (len < n && scan_line(&text, &line))
		len += parse_row(line, &ret[len]);
	for (size_t i = 0; i < len; i++)
		all_ns += (double)ret[i].ns;
	for (size_t i = 0; i < len; i++)
		ret[i].time_ratio = all_ns > 0 ? (double)ret[i].ns / all_ns : NAN;
	return len;
}
