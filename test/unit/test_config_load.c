/* SPDX-License-Identifier: MIT */
#include "config/config_load.h"

#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/io.h"
#include "check.h"

struct tree {
	char root[SCRATCH_DIR_MAX];
	struct config config;
	struct config_files files;
	struct config_problems problems;
};

static int setup(void **state)
{
	struct tree *t = calloc(1, sizeof *t);

	*state = t;
	return scratch_dir(t->root) ? 0 : -1;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *walk)
{
	(void)st, (void)type, (void)walk;
	return remove(path);
}

static int teardown(void **state)
{
	struct tree *t = *state;

	nftw(t->root, remove_one, 8, FTW_DEPTH | FTW_PHYS);
	config_files_done(&t->files);
	ini_problems_done(&t->problems);
	free(t);
	return 0;
}

static void put(const struct tree *t, const char *path, const char *text)
{
	char *full = xasprintf("%s%s", t->root, path), *slash = strrchr(full, '/');
	struct err err;
	FILE *f;

	*slash = '\0';
	assert_int_equal(io_mkdir_all(full, 0755, &err), 0);
	*slash = '/';
	f = fopen(full, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
	free(full);
}

static void load(struct tree *t, struct config_env env)
{
	env.root = t->root;
	config_load(&env, &t->config, &t->files, &t->problems);
}

static void test_config_load__uses_the_defaults_without_files(void **state)
{
	struct tree *t = *state;

	load(t, (struct config_env){ 0 });
	assert_int_equal(t->files.list.len, 0);
	assert_int_equal(t->problems.list.len, 0);
	assert_int_equal(t->config.profiler.interval_ns, 5000000000);
}

static void test_config_load__reads_vendor_machine_and_user_in_this_order(void **state)
{
	struct tree *t = *state;
	char *home = xasprintf("%s/home", t->root);

	put(t, "/usr/lib/proctor/conf.d/90-vendor.conf",
	    "[limits]\nmax_processes = 1\n[profiler]\njsonl_max_bytes = 2M\n");
	put(t, "/etc/proctor/proctor.conf", "[limits]\nmax_processes = 2\n");
	put(t, "/etc/proctor/conf.d/20-b.conf", "[limits]\nmax_processes = 4\n");
	put(t, "/etc/proctor/conf.d/10-a.conf", "[limits]\nmax_processes = 3\n");
	put(t, "/etc/proctor/conf.d/readme.txt", "not a configuration");
	put(t, "/etc/proctor/conf.d/.hidden.conf", "not a configuration");
	load(t, (struct config_env){ .home = home });
	assert_int_equal(t->problems.list.len, 0);
	assert_int_equal(t->files.list.len, 4);
	assert_int_equal(t->config.limits.max_processes, 4);
	assert_int_equal(t->config.profiler.jsonl_max_bytes, 2 << 20);

	put(t, "/home/.config/proctor/proctor.conf", "[limits]\nmax_processes = 5\n");
	load(t, (struct config_env){ .home = home, .xdg_config_home = "relative/is/ignored" });
	assert_int_equal(t->config.limits.max_processes, 5);
	load(t, (struct config_env){ .home = home, .is_root = true });
	assert_int_equal(t->config.limits.max_processes, 4);
	free(home);
}

static void test_config_load__replaces_etc_by_the_configuration_directory(void **state)
{
	struct tree *t = *state;
	char *dirs = xasprintf("relative:%s/one:%s/two", t->root, t->root);

	put(t, "/etc/proctor/proctor.conf", "[limits]\nmax_processes = 2\n");
	put(t, "/one/proctor.conf", "[limits]\nmax_processes = 7\n");
	put(t, "/two/conf.d/x.conf", "[correlation]\nmin_sample_size = 8\n");
	load(t, (struct config_env){ .configuration_dir = dirs });
	assert_int_equal(t->files.list.len, 2);
	assert_int_equal(t->config.limits.max_processes, 7);
	assert_int_equal(t->config.correlation.min_sample_size, 8);
	free(dirs);
}

static void test_config_load__reads_only_a_named_file_which_must_exist(void **state)
{
	struct tree *t = *state;
	char *file = xasprintf("%s/mine", t->root), *missing = xasprintf("%s/missing", t->root);

	put(t, "/etc/proctor/proctor.conf", "[limits]\nmax_processes = 2\n");
	put(t, "/mine", "[correlation]\nmin_sample_size = 8\n");
	load(t, (struct config_env){ .file = file });
	assert_int_equal(t->problems.list.len, 0);
	assert_int_equal(t->files.list.len, 1);
	assert_int_equal(t->config.limits.max_processes, 0);
	assert_int_equal(t->config.correlation.min_sample_size, 8);
	load(t, (struct config_env){ .file = missing });
	assert_int_equal(t->problems.list.len, 1);
	assert_non_null(
		strstr(t->problems.list.at[0].text, "/missing: open: No such file or directory"));
	free(file);
	free(missing);
}

static void test_config_load__reports_the_problems_of_all_files(void **state)
{
	struct tree *t = *state;

	put(t, "/etc/proctor/proctor.conf", "[limits]\nmax_processes = none\n");
	put(t, "/etc/proctor/conf.d/a.conf", "[limits]\nmax_processs = 1\n");
	load(t, (struct config_env){ 0 });
	assert_int_equal(t->problems.list.len, 2);
	assert_non_null(strstr(t->problems.list.at[0].text,
	                       "/etc/proctor/proctor.conf:2: [limits] max_processes: 'none'"));
	assert_non_null(strstr(t->problems.list.at[1].text,
	                       "/etc/proctor/conf.d/a.conf:2: [limits] max_processs: unknown"));
}

static void test_config_load__refuses_files_that_are_not_regular(void **state)
{
	struct tree *t = *state;
	char *fifo = xasprintf("%s/etc/proctor/conf.d/a.conf", t->root);

	put(t, "/etc/proctor/conf.d/b.conf", "");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	load(t, (struct config_env){ 0 });
	assert_int_equal(t->problems.list.len, 1);
	assert_non_null(strstr(t->problems.list.at[0].text, "a.conf: not a regular file"));
	free(fifo);
}

static void test_config_load__refuses_a_file_that_is_too_large(void **state)
{
	struct tree *t = *state;
	char *big = calloc(1, CONFIG_FILE_MAX + 2);

	memset(big, '\n', CONFIG_FILE_MAX);
	put(t, "/etc/proctor/proctor.conf", big);
	load(t, (struct config_env){ 0 });
	assert_int_equal(t->problems.list.len, 0);
	big[CONFIG_FILE_MAX] = '\n';
	put(t, "/etc/proctor/proctor.conf", big);
	load(t, (struct config_env){ 0 });
	assert_int_equal(t->problems.list.len, 1);
	assert_non_null(strstr(t->problems.list.at[0].text, "larger than 1048576 bytes"));
	free(big);
}

#define TREE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)
RUN_TESTS(TREE_TEST(test_config_load__uses_the_defaults_without_files),
          TREE_TEST(test_config_load__reads_vendor_machine_and_user_in_this_order),
          TREE_TEST(test_config_load__replaces_etc_by_the_configuration_directory),
          TREE_TEST(test_config_load__reads_only_a_named_file_which_must_exist),
          TREE_TEST(test_config_load__reports_the_problems_of_all_files),
          TREE_TEST(test_config_load__refuses_files_that_are_not_regular),
          TREE_TEST(test_config_load__refuses_a_file_that_is_too_large))
