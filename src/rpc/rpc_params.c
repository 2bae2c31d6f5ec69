/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_params.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/clock.h"
#include "rpc/rpc_message.h"

#define SECONDS_MAX 1e9
#define TIME_MAX 1.8e10 /* the limit of 64-bit nanoseconds */

static const json_t *find(const json_t *params, const char *name)
{
	const json_t *value = json_object_get(params, name);

	return json_is_null(value) ? NULL : value;
}

bool rpc_params_has(const json_t *params, const char *name)
{
	return find(params, name) != NULL;
}

int rpc_params_u64(const json_t *params, const char *name, uint64_t min, uint64_t max,
                   uint64_t *ret, struct err *err)
{
	const json_t *value = find(params, name);
	json_int_t number = json_integer_value(value);

	if (!value)
		return 0;
	if (!json_is_integer(value) || number < 0 || (uint64_t)number < min ||
	    (uint64_t)number > max)
		return err_set(err, EINVAL,
		               "%s must be a whole number from %" PRIu64 " to %" PRIu64, name, min,
		               max);
	*ret = (uint64_t)number;
	return 0;
}

int rpc_params_text(const json_t *params, const char *name, size_t max, const char **ret,
                    struct err *err)
{
	const json_t *value = find(params, name);

	if (!value)
		return 0;
	if (!json_is_string(value) || json_string_length(value) == 0 ||
	    json_string_length(value) > max)
		return err_set(err, EINVAL, "%s must be a string of 1 to %zu bytes", name, max);
	*ret = json_string_value(value);
	return 0;
}

int rpc_params_bool(const json_t *params, const char *name, bool *ret, struct err *err)
{
	const json_t *value = find(params, name);

	if (value && !json_is_boolean(value))
		return err_set(err, EINVAL, "%s must be true or false", name);
	if (value)
		*ret = json_is_true(value);
	return 0;
}

static int seconds_up_to(const json_t *params, const char *name, double max, uint64_t *ret_ns,
                         struct err *err)
{
	const json_t *value = find(params, name);
	double seconds = json_number_value(value);

	if (!value)
		return 0;
	if (!json_is_number(value) || !(seconds >= 0 && seconds <= max))
		return err_set(err, EINVAL, "%s must be a number of seconds from 0 to %.0f", name,
		               max);
	*ret_ns = (uint64_t)llround(seconds * (double)NS_PER_S);
	return 0;
}

int rpc_params_seconds(const json_t *params, const char *name, uint64_t *ret_ns, struct err *err)
{
	return seconds_up_to(params, name, SECONDS_MAX, ret_ns, err);
}

int rpc_params_time(const json_t *params, const char *name, uint64_t *ret_ns, struct err *err)
{
	return seconds_up_to(params, name, TIME_MAX, ret_ns, err);
}

int rpc_params_object_text(const json_t *params, const char *name, size_t max, char **ret,
                           struct err *err)
{
	const json_t *value = find(params, name);
	struct buf text = { .max = max };
	struct json j = { .out = &text };

	if (!value)
		return 0;
	if (!json_is_object(value))
		return err_set(err, EINVAL, "%s must be an object", name);
	rpc_message_put_value(&j, value);
	if (text.full) {
		buf_done(&text);
		return err_set(err, EINVAL, "%s must not be longer than %zu bytes", name, max);
	}
	*ret = buf_take(&text);
	return 0;
}
