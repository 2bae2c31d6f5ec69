/* SPDX-License-Identifier: MIT */
#include "kernel/user_namespace.h"
#include "check.h"

#define ROOTLESS "         0       1000          1\n         1     100000      65536\n"

static void test_user_namespace_outer__finds_the_user_outside(void **state)
{
	(void)state;
	assert_int_equal(user_namespace_outer(scan_str(ROOTLESS), 0), 1000);
	assert_int_equal(user_namespace_outer(scan_str(ROOTLESS), 1), 100000);
	assert_int_equal(user_namespace_outer(scan_str(ROOTLESS), 65536), 165535);
}

static void test_user_namespace_outer__leaves_unmapped_users_alone(void **state)
{
	(void)state;
	assert_int_equal(user_namespace_outer(scan_str(ROOTLESS), 65537), 65537);
	assert_int_equal(user_namespace_outer(scan_str("0 0 4294967295\n"), 1234), 1234);
	assert_int_equal(user_namespace_outer(scan_str(""), 7), 7);
	assert_int_equal(user_namespace_outer(scan_str("nothing\n0 5\n"), 7), 7);
}

RUN_TESTS(TEST(test_user_namespace_outer__finds_the_user_outside),
          TEST(test_user_namespace_outer__leaves_unmapped_users_alone))
