/* SPDX-License-Identifier: MIT */
#include "store/jsonl.h"

#include <errno.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include "base/io.h"
#include "store_kit.h"

static char *load(const char *dir, const char *name)
{
	char *path = xasprintf("%s/%s", dir, name);
	struct buf text = { 0 };
	struct err err;

	if (load_file(AT_FDCWD, path, &text, &err) < 0)
		buf_puts(&text, "(none)");
	free(path);
	return buf_take(&text);
}

static void assert_file(const char *dir, const char *name, const char *content)
{
	char *text = load(dir, name);

	assert_string_equal(text, content);
	free(text);
}

static struct jsonl *open_log(const char *dir, uint64_t max_bytes)
{
	char *path = xasprintf("%s/m.jsonl", dir);
	struct jsonl *j = NULL;
	struct err err = { 0 };

	if (jsonl_open(path, max_bytes, &j, &err) < 0)
		fail_msg("%s", err.msg);
	free(path);
	return j;
}

static void put(struct jsonl *j, const char *line)
{
	struct err err = { 0 };

	if (jsonl_put(j, line, strlen(line), &err) < 0)
		fail_msg("%s", err.msg);
}

static void test_jsonl_put__rotates_by_size_to_1_and_2(void **state)
{
	char *dir = world_dir();
	struct jsonl *j = open_log(dir, 10);

	(void)state;
	put(j, "aaaa");
	put(j, "bbbb");
	put(j, "cccc");
	assert_file(dir, "m.jsonl", "cccc\n");
	assert_file(dir, "m.jsonl.1", "aaaa\nbbbb\n");
	assert_file(dir, "m.jsonl.2", "(none)");
	put(j, "dddd");
	put(j, "a line that is longer than the whole file may be");
	put(j, "e");
	assert_file(dir, "m.jsonl", "e\n");
	assert_file(dir, "m.jsonl.1", "a line that is longer than the whole file may be\n");
	assert_file(dir, "m.jsonl.2", "cccc\ndddd\n");
	jsonl_close(j);
	world_rmdir(dir);
}

static void test_jsonl_put__notices_what_others_do_to_the_file(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/m.jsonl", dir),
	     *moved = xasprintf("%s/old", dir);
	struct jsonl *j = open_log(dir, 1000);

	(void)state;
	put(j, "1");
	assert_int_equal(rename(path, moved), 0); /* logrotate */
	put(j, "2");
	assert_file(dir, "old", "1\n");
	assert_file(dir, "m.jsonl", "2\n");
	assert_int_equal(truncate(path, 0), 0); /* logrotate's copytruncate */
	put(j, "3");
	assert_file(dir, "m.jsonl", "3\n");
	assert_int_equal(unlink(path), 0);
	put(j, "4");
	assert_file(dir, "m.jsonl", "4\n");
	jsonl_close(j);
	free(path);
	free(moved);
	world_rmdir(dir);
}

static void test_jsonl_open__cuts_off_a_torn_line(void **state)
{
	static const char *const texts[][2] = {
		{ "one\ntwo\nhal", "one\ntwo\n" },
		{ "hal", "" },
		{ "one\n", "one\n" },
		{ "", "" },
	};
	char *dir = world_dir(), *path = xasprintf("%s/m.jsonl", dir);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
		int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

		assert_int_equal(io_write_all(fd, texts[i][0], strlen(texts[i][0])), 0);
		close(fd);
		jsonl_close(open_log(dir, 1000));
		assert_file(dir, "m.jsonl", texts[i][1]);
	}
	free(path);
	world_rmdir(dir);
}

/* A file size limit lets the kernel write a part of a line, as a full disk does. */
static void test_jsonl_put__undoes_a_short_write(void **state)
{
	char *dir = world_dir();
	struct rlimit before, small;
	struct jsonl *j = open_log(dir, 1000);
	struct err err = { 0 };

	(void)state;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){ 8, before.rlim_max };
	put(j, "12345");
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	assert_int_equal(jsonl_put(j, "67890", 5, &err), -ENOSPC);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	assert_file(dir, "m.jsonl", "12345\n");
	put(j, "67890");
	assert_file(dir, "m.jsonl", "12345\n67890\n");
	jsonl_close(j);
	world_rmdir(dir);
}

static void test_jsonl_open__refuses_what_is_not_a_file_of_ours(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/m.jsonl", dir);
	struct jsonl *j = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(jsonl_open(path, 1000, &j, &err), -ELOOP);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkfifo(path, 0600), 0);
	assert_int_equal(jsonl_open(path, 1000, &j, &err), -EINVAL);
	free(path);
	world_rmdir(dir);
}

static void write_many(const char *dir, char writer, int n)
{
	struct jsonl *j = open_log(dir, 3000);
	char line[100];

	for (int i = 0; i < n; i++) {
		snprintf(line, sizeof line, "%c%05d", writer, i);
		put(j, line);
	}
	jsonl_close(j);
}

static void test_jsonl_put__lets_two_processes_share_a_file(void **state)
{
	char *dir = world_dir(), *text, *line, *rest;
	int seen[2] = { -1, -1 }, status;
	pid_t pid = fork();

	(void)state;
	write_many(dir, pid ? 'a' : 'b', 2000);
	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	text = load(dir, "m.jsonl.1");
	for (line = text; *line; line = rest + 1) {
		int writer = *line == 'b';
		int n = (int)strtol(line + 1, &rest, 10);

		assert_true(*line == 'a' || *line == 'b');
		assert_int_equal(*rest, '\n');
		assert_true(n > seen[writer] && (seen[writer] < 0 || n == seen[writer] + 1));
		seen[writer] = n;
	}
	free(text);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_jsonl_put__rotates_by_size_to_1_and_2),
          TEST(test_jsonl_put__notices_what_others_do_to_the_file),
          TEST(test_jsonl_open__cuts_off_a_torn_line), TEST(test_jsonl_put__undoes_a_short_write),
          TEST(test_jsonl_open__refuses_what_is_not_a_file_of_ours),
          TEST(test_jsonl_put__lets_two_processes_share_a_file))
