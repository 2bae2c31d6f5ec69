/* SPDX-License-Identifier: MIT */
/* db_check.h - cmocka with the headers it forgets to include, and the shortest main. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

/* Most tests need no state. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#define RUN_TESTS(...)                                                                             \
	int main(void)                                                                             \
	{                                                                                          \
		const struct CMUnitTest tests[] = { __VA_ARGS__ };                                 \
		return cmocka_run_group_tests(tests, NULL, NULL);                                  \
	}
#define TEST(name) cmocka_unit_test(name)
