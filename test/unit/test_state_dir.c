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

/* A place that no user can write to, not even root. */
#define CLOSED "/dev/null"

static void assert_chooses(struct state_dir_env env, const char *path, bool is_fallback)
{
	struct state_dir chosen = { 0 };
	struct err err;

	assert_int_equal(state_dir_choose(&env, &chosen, &err), 0);
	assert_string_equal(chosen.path, path);
	assert_int_equal(chosen.is_fallback, is_fallback);
	assert_int_equal(chosen.why.code != 0, is_fallback);
}

static void test_state_dir__falls_back_in_the_documented_order(void **state)
{
	char root[SCRATCH_DIR_MAX], own[64];
	cleanup(freep) char *usual = NULL, *runtime = NULL, *tmp = NULL;

	assert_true(scratch_dir(root)); /* for its owner only */
	usual = xasprintf("%s/.local/state/proctor", root);
	runtime = xasprintf("%s/proctor/state", root);
	tmp = xasprintf("%s/proctor-4711", root);
	snprintf(own, sizeof own, "/var/tmp/proctor-4711");
	assert_chooses((struct state_dir_env){ .xdg_state_home = CLOSED, .home = root }, usual,
	               true);
	assert_chooses((struct state_dir_env){ .home = root, .xdg_runtime_dir = root }, usual,
	               false);
	assert_chooses(
		(struct state_dir_env){ .home = CLOSED, .xdg_runtime_dir = root, .tmpdir = root },
		runtime, true);
	assert_chooses((struct state_dir_env){ .home = CLOSED, .tmpdir = root, .uid = 4711 }, tmp,
	               true);
	assert_chooses((struct state_dir_env){ .tmpdir = "relative", .uid = 4711 }, own, true);
	assert_chooses(
		(struct state_dir_env){ .xdg_runtime_dir = "/", .tmpdir = root, .uid = 4711 }, tmp,
		true); /* not for us alone */
	rmdir(root);
}

static void test_state_dir__stays_in_a_directory_that_was_named(void **state)
{
	char root[SCRATCH_DIR_MAX];

	assert_true(scratch_dir(root));
	assert_chooses((struct state_dir_env){ .option = CLOSED "/x", .tmpdir = root }, CLOSED "/x",
	               false);
	assert_chooses((struct state_dir_env){ .ours = CLOSED "/x", .tmpdir = root }, CLOSED "/x",
	               false);
	assert_chooses((struct state_dir_env){ .systemd = CLOSED "/x", .tmpdir = root },
	               CLOSED "/x", false);
	rmdir(root);
}

static void test_state_dir__avoids_traps_where_all_users_may_write(void **state)
{
	char root[SCRATCH_DIR_MAX];
	cleanup(freep) char *dir = NULL, *target = NULL;
	struct state_dir_env env = { .home = CLOSED, .uid = 4711 };
	struct state_dir chosen = { .is_fallback = true, .is_shared_place = true };
	struct err err;

	assert_true(scratch_dir(root));
	env.tmpdir = root;
	dir = xasprintf("%s/proctor-4711", root);
	target = xasprintf("%s/target", root);
	assert_int_equal(mkdir(target, 0700), 0);
	assert_int_equal(symlink(target, dir), 0);
	assert_chooses(env, "/var/tmp/proctor-4711", true);
	snprintf(chosen.path, sizeof chosen.path, "%s", dir); /* it appeared after the choice */
	assert_int_equal(state_dir_prepare(&chosen, false, &err), -ELOOP);
	assert_int_equal(unlink(dir), 0);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_chooses(env, dir, true);
	assert_int_equal(chmod(dir, 0755), 0); /* others may read it */
	assert_chooses(env, "/var/tmp/proctor-4711", true);
	assert_int_equal(chmod(dir, 0700), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(dir, 65534, 65534), 0);
		assert_chooses(env, "/var/tmp/proctor-4711", true);
	}
	rmdir(dir);
	assert_int_equal(chmod(root, 0777), 0); /* others may replace what is in it */
	assert_chooses(env, "/var/tmp/proctor-4711", true);
	assert_int_equal(chmod(root, 01777), 0);
	assert_chooses(env, dir, true);
	rmdir(target);
	rmdir(root);
}

static struct state_dir at(const char *path)
{
	struct state_dir dir = { 0 };

	snprintf(dir.path, sizeof dir.path, "%s", path);
	return dir;
}

static void test_state_dir__is_created_for_its_owner_only(void **state)
{
	char root[SCRATCH_DIR_MAX], *dir, *file;
	struct stat st;
	struct err err;

	assert_true(scratch_dir(root));
	dir = xasprintf("%s/a/b", root);
	file = xasprintf("%s/a/file", root);
	assert_int_equal(state_dir_prepare(&(const struct state_dir[]){ at(dir) }[0], false, &err),
	                 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0700);
	assert_int_equal(state_dir_prepare(&(const struct state_dir[]){ at(dir) }[0], true, &err),
	                 0); /* what exists keeps its mode */
	assert_int_equal(rmdir(dir), 0);
	assert_int_equal(state_dir_prepare(&(const struct state_dir[]){ at(dir) }[0], true, &err),
	                 0);
	assert_int_equal(stat(dir, &st), 0);
	assert_int_equal(st.st_mode & 07777, 0750);

	close(open(file, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_true(state_dir_prepare(&(const struct state_dir[]){ at(file) }[0], false, &err) < 0);
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
          TEST(test_state_dir__falls_back_in_the_documented_order),
          TEST(test_state_dir__stays_in_a_directory_that_was_named),
          TEST(test_state_dir__avoids_traps_where_all_users_may_write),
          TEST(test_state_dir__is_created_for_its_owner_only))
