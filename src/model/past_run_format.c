/* SPDX-License-Identifier: MIT */
#include "model/past_run_format.h"

#include <errno.h>
#include <stdio.h>

#include "base/opts.h"
#include "base/time_parse.h"

bool past_run_format_scaled(struct scan s, double scale, uint64_t *ret)
{
	double v;

	if (!scan_double(&s, &v) || !scan_at_end(&s) || !(v >= 0) || v * scale > 9e18)
		return false;
	*ret = (uint64_t)(v * scale + 0.5);
	return true;
}

bool past_run_format_bytes(struct scan s, uint64_t *ret)
{
	char text[32];
	size_t n = 0;

	for (; s.p < s.end && n < sizeof text - 1; s.p++)
		if (*s.p != ' ')
			text[n++] = *s.p;
	return scan_at_end(&s) && opts_parse_size(scan_mem(text, n), ret);
}

/* Only an instant: what is relative to now would change with each reading. */
bool past_run_format_instant(struct scan s, uint64_t *ret_ns)
{
	if (past_run_format_scaled(s, 1e9, ret_ns))
		return true;
	return scan_left(&s) >= 10 && s.p[4] == '-' && time_parse(s, 0, ret_ns);
}

int past_run_format_state(const struct run_state *states, struct scan s,
                         char ret[static RUN_OUTCOME_MAX], struct err *err)
{
	struct scan word;

	if (!scan_word(&s, &word)) /* "CANCELLED by 1000" */
		return 0;
	for (; states->word; states++) {
		if (!scan_eq(&word, states->word))
			continue;
		if (!states->outcome)
			return err_set(err, EBADMSG, "%s", states->why);
		snprintf(ret, RUN_OUTCOME_MAX, "%s", states->outcome);
		return 0;
	}
	snprintf(ret, RUN_OUTCOME_MAX, "failed");
	return 0;
}
