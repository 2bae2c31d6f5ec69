/* SPDX-License-Identifier: MIT */
#include "job/git_commit.h"

#include <ftw.h>
#include <sys/stat.h>

#include "check.h"

#define MAIN "0f6c9a63ddd5f1d8fb4a3ef2a1d8a4b2c9a3e9d1"
#define OTHER "d670460b4b4aece5915caf5c68d12f560a9fe3e4"
#define SHA256 "6fdf91a8b1f0d9c1f3b0f6f4d8b9a7c5e3d1b2a4968778695a4b3c2d1e0f1029"

struct place {
	char dir[SCRATCH_DIR_MAX];
	int fd;
};

static void put(const struct place *p, const char *path, const char *text)
{
	cleanup(freep) char *full = xasprintf("%s/%s", p->dir, path);
	cleanup(freep) char *dir = xstrndup(full, (size_t)(strrchr(full, '/') - full));
	cleanup(closep) int fd = -1;
	struct err err;

	assert_int_equal(io_mkdir_all(dir, 0700, &err), 0);
	fd = open(full, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	assert_true(fd >= 0);
	assert_int_equal(io_write_all(fd, text, strlen(text)), 0);
}

static int set_up(void **state)
{
	struct place *p = xcalloc(1, sizeof *p);

	*state = p;
	if (!scratch_dir(p->dir))
		return -1;
	p->fd = open(p->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);
	put(p, "tree/.git/HEAD", "ref: refs/heads/main\n");
	put(p, "tree/deep/below/file", "");
	return 0;
}

static int remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static int tear_down(void **state)
{
	struct place *p = *state;

	close(p->fd);
	nftw(p->dir, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	free(p);
	return 0;
}

static const char *commit_of(const struct place *p, const char *path)
{
	static char commit[GIT_COMMIT_LEN];
	cleanup(closep) int fd = openat(p->fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	return git_commit_read(fd, commit) ? commit : "";
}

static void test_git_commit__is_that_of_the_branch_from_any_directory_below(void **state)
{
	put(*state, "tree/.git/refs/heads/main", MAIN "\n");
	assert_string_equal(commit_of(*state, "tree"), MAIN);
	assert_string_equal(commit_of(*state, "tree/deep/below"), MAIN);
	put(*state, "tree/.git/refs/heads/main", SHA256 "\n");
	assert_string_equal(commit_of(*state, "tree"), SHA256);
}

static void test_git_commit__is_read_from_a_detached_head(void **state)
{
	put(*state, "tree/.git/HEAD", OTHER "\n");
	assert_string_equal(commit_of(*state, "tree"), OTHER);
}

static void test_git_commit__is_read_from_packed_refs_unless_there_is_a_newer_ref(void **state)
{
	put(*state, "tree/.git/packed-refs",
	    "# pack-refs with: peeled fully-peeled sorted \n" OTHER " refs/heads/main2\n" MAIN
	    " refs/heads/main\n^" OTHER "\n");
	assert_string_equal(commit_of(*state, "tree"), MAIN);
	put(*state, "tree/.git/refs/heads/main", OTHER "\n");
	assert_string_equal(commit_of(*state, "tree"), OTHER);
}

static void test_git_commit__of_a_linked_work_tree_is_its_own(void **state)
{
	put(*state, "tree/.git/refs/heads/main", MAIN "\n");
	put(*state, "tree/.git/refs/heads/topic", OTHER "\n");
	put(*state, "tree/.git/worktrees/linked/HEAD", "ref: refs/heads/topic\n");
	put(*state, "tree/.git/worktrees/linked/commondir", "../..\n");
	put(*state, "linked/.git", "gitdir: ../tree/.git/worktrees/linked\n");
	assert_string_equal(commit_of(*state, "linked"), OTHER);
}

static void test_git_commit__is_absent_where_there_is_none(void **state)
{
	static const char *const heads[] = { "",
		                             "ref: refs/heads/none\n",
		                             "ref: ../../../etc/passwd\n",
		                             "ref: refs/../../x\n",
		                             MAIN "0\n",
		                             "0f6c9a6\n",
		                             "ref: refs/heads/main\n" };
	struct place *p = *state;

	put(p, "tree/.git/refs/heads/main", "ref: refs/heads/main\n"); /* a loop */
	put(p, "x", MAIN "\n");
	for (size_t i = 0; i < ARRAY_LEN(heads); i++) {
		put(p, "tree/.git/HEAD", heads[i]);
		assert_string_equal(commit_of(p, "tree"), "");
	}
	assert_string_equal(commit_of(p, "tree/.git"), "");
}

static void test_git_commit__does_not_wait_for_a_pipe(void **state)
{
	struct place *p = *state;

	assert_int_equal(unlinkat(p->fd, "tree/.git/HEAD", 0), 0);
	assert_int_equal(mkfifoat(p->fd, "tree/.git/HEAD", 0600), 0);
	assert_string_equal(commit_of(p, "tree"), "");
}

static void test_git_commit__of_the_working_directory_is_found_in_time_or_not_at_all(void **state)
{
	struct place *p = *state;
	cleanup(freep) char *tree = xasprintf("%s/tree", p->dir);
	char commit[GIT_COMMIT_LEN] = "unchanged";

	assert_int_equal(chdir(tree), 0);
	assert_false(git_commit_find(10 * NS_PER_S, commit));
	assert_string_equal(commit, "unchanged");
	put(p, "tree/.git/refs/heads/main", MAIN "\n");
	assert_true(git_commit_find(10 * NS_PER_S, commit));
	assert_string_equal(commit, MAIN);
	(void)git_commit_find(
		0, commit); /* whichever comes first: nothing is used after it was freed */
	assert_int_equal(chdir("/"), 0);
}

#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

RUN_TESTS(T(test_git_commit__is_that_of_the_branch_from_any_directory_below),
          T(test_git_commit__is_read_from_a_detached_head),
          T(test_git_commit__is_read_from_packed_refs_unless_there_is_a_newer_ref),
          T(test_git_commit__of_a_linked_work_tree_is_its_own),
          T(test_git_commit__is_absent_where_there_is_none),
          T(test_git_commit__does_not_wait_for_a_pipe),
          T(test_git_commit__of_the_working_directory_is_found_in_time_or_not_at_all))
