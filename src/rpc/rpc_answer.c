/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_answer.h"

#include <math.h>

#include "base/clock.h"

#define SECONDS_MAX 1e10

const char *rpc_answer_text(const json_t *answer, const char *name)
{
	return json_string_value(json_object_get(answer, name));
}

double rpc_answer_number(const json_t *answer, const char *name)
{
	const json_t *value = json_object_get(answer, name);

	return json_is_number(value) ? json_number_value(value) : (double)NAN;
}

uint64_t rpc_answer_u64(const json_t *answer, const char *name)
{
	json_int_t n = json_integer_value(json_object_get(answer, name));

	return n > 0 ? (uint64_t)n : 0;
}

uint64_t rpc_answer_ns(const json_t *answer, const char *name)
{
	double seconds = rpc_answer_number(answer, name);

	return seconds > 0 && seconds < SECONDS_MAX ? (uint64_t)(seconds * (double)NS_PER_S) : 0;
}

bool rpc_answer_is(const json_t *answer, const char *name)
{
	return json_is_true(json_object_get(answer, name));
}
