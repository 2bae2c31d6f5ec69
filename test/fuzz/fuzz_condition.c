/* SPDX-License-Identifier: MIT */
/* Conditions of `diff --fail-if`: a refused one leaves the result alone and is explained; an accepted one has a
 * known figure and a limit, and means the same when it is read again from its own text. */
#include <string.h>

#include "fuzz.h"
#include "report/diff_condition.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct diff_condition c = { .figure = 4242 }, again;
	struct diff_pair pair = { { 10, QUALITY_EXACT }, { 12, QUALITY_AT_LEAST } };
	struct err err = { 0 };

	if (diff_condition_parse(scan_mem((const char *)data, size), &c, &err) < 0) {
		FUZZ_CHECK(c.figure == 4242 && err.code && err.msg[0]);
		return 0;
	}
	FUZZ_CHECK(c.figure >= DIFF_TIME && c.figure < JOB_FIGURE_COUNT && diff_condition_name(&c));
	FUZZ_CHECK(c.factor == 0 || (c.factor > 0 && c.factor < 1e6 && !c.value));
	FUZZ_CHECK(c.text.p >= (const char *)data && c.text.end <= (const char *)data + size);
	FUZZ_CHECK(diff_condition_parse(c.text, &again, &err) == 0);
	FUZZ_CHECK(again.figure == c.figure && again.factor == c.factor && again.value == c.value);
	FUZZ_CHECK(diff_condition_check(&c, pair) <= DIFF_UNDECIDED);
	return 0;
}
