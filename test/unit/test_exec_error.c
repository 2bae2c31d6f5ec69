/* SPDX-License-Identifier: MIT */
#include "job/launch/exec_error.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/io.h"
#include "check.h"

static int setup(void **state)
{
	char *dir = xcalloc(1, SCRATCH_DIR_MAX);

	*state = dir;
	return scratch_dir(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int teardown(void **state)
{
	unlink("train.sh");
	if (chdir("/") < 0 || rmdir(*state) < 0)
		return -1;
	free(*state);
	return 0;
}

static void put_script(const char *text, mode_t mode)
{
	int fd = open("train.sh", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
	assert_int_equal(fchmod(fd, mode), 0);
	close(fd);
}

static void check_words(const char *name, int code, const char *words)
{
	struct err err = { 0 };

	exec_error_describe(name, code, &err);
	assert_string_equal(err.msg, words);
	assert_int_equal(err.code, code);
}

static void test_exec_error__reports_not_found_as_shells_do(void **state)
{
	(void)state;
	check_words("train.sh", ENOENT, "train.sh: command not found");
	check_words("./train.sh", ENOENT, "./train.sh: no such file or directory");
	check_words("", ENOENT, "'': command not found");
}

static void test_exec_error__is_not_found_where_only_a_directory_cannot_be_searched(void **state)
{
	(void)state;
	put_script("#!/bin/sh\n", 0644);
	setenv("PATH", "/nonexistent", 1);
	assert_int_equal(exec_error_code("train.sh", EACCES), ENOENT);
	assert_int_equal(exec_error_code("./train.sh", EACCES), EACCES);
	setenv("PATH", "/nonexistent::/usr/bin", 1);
	assert_int_equal(exec_error_code("train.sh", EACCES), EACCES);
	assert_int_equal(exec_error_code("train.sh", ELOOP), ELOOP);
}

static void test_exec_error__points_to_the_file_that_lies_here(void **state)
{
	(void)state;
	put_script("#!/bin/sh\n", 0755);
	check_words("train.sh", ENOENT,
	            "train.sh: command not found; there is one here: ./train.sh");
	put_script("#!/bin/sh\n", 0644);
	check_words("train.sh", ENOENT,
	            "train.sh: command not found; ./train.sh is not executable: chmod +x it");
}

static void test_exec_error__names_the_interpreter_that_is_missing(void **state)
{
	(void)state;
	put_script("#! /usr/bin/pyhton -u\n", 0755);
	check_words("./train.sh", ENOENT,
	            "./train.sh: its interpreter '/usr/bin/pyhton' was not found");
	put_script("#!/bin/sh\r\n", 0755);
	check_words("./train.sh", ENOENT,
	            "./train.sh: its interpreter '/bin/sh\r' was not found (lines end in CR LF)");
	put_script("\177ELF", 0755);
	check_words("./train.sh", ENOENT, "./train.sh: the loader it asks for was not found");
}

static void test_exec_error__explains_why_it_is_denied(void **state)
{
	(void)state;
	put_script("#!/bin/sh\n", 0644);
	check_words("./train.sh", EACCES,
	            "./train.sh: permission denied; it is not executable: chmod +x it");
	check_words("./", EACCES, "./: is a directory");
	check_words("other", EACCES, "other: permission denied");
	check_words("./train.sh", E2BIG, "./train.sh: Argument list too long");
}

#define FILE_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(FILE_TEST(test_exec_error__reports_not_found_as_shells_do),
          FILE_TEST(test_exec_error__is_not_found_where_only_a_directory_cannot_be_searched),
          FILE_TEST(test_exec_error__points_to_the_file_that_lies_here),
          FILE_TEST(test_exec_error__names_the_interpreter_that_is_missing),
          FILE_TEST(test_exec_error__explains_why_it_is_denied))
