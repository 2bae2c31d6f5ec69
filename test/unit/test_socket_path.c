/* SPDX-License-Identifier: MIT */
#include "config/socket_path.h"

#include <errno.h>
#include <string.h>

#include "check.h"

static void assert_own(const struct socket_path_env *env, const char *want)
{
	char path[CONFIG_PATH_MAX];
	struct err err;

	assert_int_equal(socket_path_own(env, path, &err), 0);
	assert_string_equal(path, want);
}

static void test_socket_path_own__is_chosen_in_the_documented_order(void **state)
{
	struct socket_path_env env = { .option = "/a/x.sock",
		                       .ours = "/b/x.sock",
		                       .systemd = "/run/one:/run/two",
		                       .xdg_runtime_dir = "/run/user/7" };

	(void)state;
	assert_own(&env, "/a/x.sock");
	env.option = NULL;
	assert_own(&env, "/b/x.sock");
	env.ours = "";
	assert_own(&env, "/run/one/daemon.sock");
	env.systemd = NULL;
	assert_own(&env, "/run/user/7/proctor/daemon.sock");
	env.is_root = true;
	assert_own(&env, "/run/proctor/daemon.sock");
}

static void test_socket_path_own__names_the_remedy_if_there_is_no_place(void **state)
{
	struct socket_path_env env = { .xdg_runtime_dir = "relative" };
	char path[CONFIG_PATH_MAX] = "";
	struct err err;

	(void)state;
	assert_int_equal(socket_path_own(&env, path, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "--socket"));
	env.option = "relative.sock";
	assert_int_equal(socket_path_own(&env, path, &err), -EINVAL);
	assert_non_null(strstr(err.msg, "relative.sock"));
	assert_string_equal(path, "");
}

static void test_socket_path_find__tries_the_users_own_before_the_machines(void **state)
{
	struct socket_path_env env = { .xdg_runtime_dir = "/run/user/7" };
	char path[CONFIG_PATH_MAX];

	(void)state;
	assert_true(socket_path_find(&env, 0, path));
	assert_string_equal(path, "/run/user/7/proctor/daemon.sock");
	assert_true(socket_path_find(&env, 1, path));
	assert_string_equal(path, "/run/proctor/daemon.sock");
	assert_false(socket_path_find(&env, 2, path));
	env.is_root = true;
	assert_true(socket_path_find(&env, 0, path));
	assert_string_equal(path, "/run/proctor/daemon.sock");
	assert_false(socket_path_find(&env, 1, path));
	env.ours = "/x/y.sock"; /* and no other */
	assert_true(socket_path_find(&env, 0, path));
	assert_string_equal(path, "/x/y.sock");
	assert_false(socket_path_find(&env, 1, path));
}

RUN_TESTS(TEST(test_socket_path_own__is_chosen_in_the_documented_order),
          TEST(test_socket_path_own__names_the_remedy_if_there_is_no_place),
          TEST(test_socket_path_find__tries_the_users_own_before_the_machines))
