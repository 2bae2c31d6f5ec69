/* SPDX-License-Identifier: MIT */
#include "config/state_dir.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "check.h"

static void assert_resolves(struct state_dir_env env, const char *path)
{
	char ret[CONFIG_PATH_MAX];
	struct err err;

	assert_int_equal(state_dir_resolve(&env, ret, &err), 0);
	assert_string_equal(ret, path);
}

static void test_state_dir__is_chosen_in_the_documented_order(void **state)
{
	struct state_dir_env env = {
		.option = "/option",
		.ours = "/ours",
		.systemd = "/systemd:/second",
		.xdg_state_home = "/xdg",
		.home = "/home/ana",
		.cwd = "/cwd",
	};

	assert_resolves(env, "/option");
	env.option = NULL;
	assert_resolves(env, "/ours");
	env.ours = "";
	assert_resolves(env, "/systemd");
	env.systemd = NULL;
	assert_resolves(env, "/xdg/proctor");
	env.xdg_state_home = "relative";
	assert_resolves(env, "/home/ana/.local/state/proctor");
	env.is_root = true;
	assert_resolves(env, "/var/lib/proctor");
}

static void test_state_dir__makes_given_paths_absolute(void **state)
{
	assert_resolves((struct state_dir_env){ .option = "here", .cwd = "/cwd" }, "/cwd/here");
	assert_resolves((struct state_dir_env){ .option = "here/", .cwd = "/" }, "/here");
	assert_resolves((struct state_dir_env){ .ours = "../up//", .cwd = "/a" }, "/a/../up");
}

static void test_state_dir__names_the_remedy_if_there_is_no_place(void **state)
{
	char ret[CONFIG_PATH_MAX];
	struct err err;

	assert_int_equal(state_dir_resolve(&(struct state_dir_env){ .home = "" }, ret, &err),
	                 -ENOENT);
	assert_non_null(strstr(err.msg, "--state-dir DIR or PROCTOR_STATE_DIR"));
}

static void test_state_dir__refuses_a_path_that_is_too_long(void **state)
{
	char *longest = xmalloc(CONFIG_PATH_MAX + 1), ret[CONFIG_PATH_MAX];
	struct err err;

	memset(longest, 'a', CONFIG_PATH_MAX);
	longest[0] = '/';
	longest[CONFIG_PATH_MAX] = '\0';
	assert_int_equal(state_dir_resolve(&(struct state_dir_env){ .option = longest }, ret, &err),
	                 -ENAMETOOLONG);
	assert_int_equal(
		state_dir_resolve(&(struct state_dir_env){ .option = longest + 1, .cwd = "/c" },
	                          ret, &err),
		-ENAMETOOLONG);
	assert_int_equal(
		state_dir_resolve(&(struct state_dir_env){ .systemd = longest }, ret, &err),
		-ENAMETOOLONG);
	assert_int_equal(state_dir_resolve(&(struct state_dir_env){ .home = longest }, ret, &err),
	                 -ENAMETOOLONG);
	free(longest);
}

static void test_state_dir__is_created_for_its_owner_only(void **state)
{
	char root[SCRATCH_DIR_MAX], *dir, *file;
	struct stat st;
	struct err err;

	assert_true(scratch_dir(root));
	dir = xasprintf("%s/a/b", root);
	file = xasprintf("%s/a/file", root);
	assert_int_equal(state_dir_prepare(dir, false, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(state_dir_prepare(dir, true, &err), 0); /* what exists keeps its mode */
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(state_dir_prepare(dir, true, &err), 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);

	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_true(state_dir_prepare(file, false, &err) < 0);
	assert_non_null(strstr(err.msg, file));
	assert_non_null(strstr(err.msg, "--state-dir"));
	unlink(file);
	rmdir(dir);
	free(dir);
	free(file);
	dir = xasprintf("%s/a", root);
	rmdir(dir);
	rmdir(root);
	free(dir);
}

RUN_TESTS(TEST(test_state_dir__is_chosen_in_the_documented_order),
          TEST(test_state_dir__makes_given_paths_absolute),
          TEST(test_state_dir__names_the_remedy_if_there_is_no_place),
          TEST(test_state_dir__refuses_a_path_that_is_too_long),
          TEST(test_state_dir__is_created_for_its_owner_only))
