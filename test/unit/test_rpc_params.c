/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_params.h"

#include <errno.h>

#include "check.h"

static void test_params__leave_the_result_alone_when_absent_or_null(void **state)
{
	json_t *p = json_loads("{\"n\":null}", 0, NULL);
	const char *text = "kept";
	uint64_t n = 5;
	struct err err;

	assert_int_equal(rpc_params_u64(p, "n", 1, 9, &n, &err), 0);
	assert_int_equal(rpc_params_u64(NULL, "n", 1, 9, &n, &err), 0);
	assert_int_equal(rpc_params_text(p, "n", 9, &text, &err), 0);
	assert_int_equal(n, 5);
	assert_string_equal(text, "kept");
	assert_false(rpc_params_has(p, "n"));
	json_decref(p);
}

static void test_params__refuse_what_is_out_of_bounds_and_name_it(void **state)
{
	json_t *p = json_loads(
		"{\"neg\":-1,\"big\":10,\"real\":1.5,\"text\":\"3\",\"empty\":\"\",\"list\":[]}", 0,
		NULL);
	static const char *const wrong[] = { "neg", "big", "real", "text", "list" };
	uint64_t n = 5, ns = 5;
	const char *text = NULL;
	char *object = NULL;
	struct err err = { 0 };

	for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
		assert_int_equal(rpc_params_u64(p, wrong[i], 1, 9, &n, &err), -EINVAL);
		assert_memory_equal(err.msg, wrong[i], strlen(wrong[i]));
	}
	assert_int_equal(rpc_params_text(p, "empty", 9, &text, &err), -EINVAL);
	assert_int_equal(rpc_params_text(p, "big", 9, &text, &err), -EINVAL);
	assert_int_equal(rpc_params_seconds(p, "neg", &ns, &err), -EINVAL);
	assert_int_equal(rpc_params_seconds(p, "text", &ns, &err), -EINVAL);
	assert_int_equal(rpc_params_object_text(p, "list", 100, &object, &err), -EINVAL);
	assert_int_equal(n, 5);
	assert_null(object);
	json_decref(p);
}

static void test_params_seconds__are_nanoseconds_inside(void **state)
{
	json_t *p = json_loads("{\"a\":0.25,\"b\":3}", 0, NULL);
	uint64_t ns = 0;
	struct err err;

	assert_int_equal(rpc_params_seconds(p, "a", &ns, &err), 0);
	assert_int_equal(ns, 250000000);
	assert_int_equal(rpc_params_seconds(p, "b", &ns, &err), 0);
	assert_int_equal(ns, 3000000000);
	json_decref(p);
}

static void test_params_object_text__writes_numbers_as_short_as_they_were(void **state)
{
	json_t *p = json_loads(
		"{\"data\": {\"loss\": 0.1, \"on\": true, \"l\": [1, null, \"x\\n\"],"
		" \"o\": {}, \"big\": 1e300}}",
		0, NULL);
	char *text = NULL;
	struct err err;

	assert_int_equal(rpc_params_object_text(p, "data", 200, &text, &err), 0);
	assert_string_equal(
		text, "{\"loss\":0.1,\"on\":true,\"l\":[1,null,\"x\\n\"],\"o\":{},\"big\":1e+300}");
	free(text);
	text = NULL;
	assert_int_equal(rpc_params_object_text(p, "data", 20, &text, &err), -EINVAL);
	assert_null(text);
	json_decref(p);
}

RUN_TESTS(TEST(test_params__leave_the_result_alone_when_absent_or_null),
          TEST(test_params__refuse_what_is_out_of_bounds_and_name_it),
          TEST(test_params_seconds__are_nanoseconds_inside),
          TEST(test_params_object_text__writes_numbers_as_short_as_they_were))
