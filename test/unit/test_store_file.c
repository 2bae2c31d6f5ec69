/* SPDX-License-Identifier: MIT */
/* What may be wrong with the file: damaged, not ours, newer, taken away; and which users may open it. */
#include <dirent.h>
#include <errno.h>
#include <sqlite3.h>
#include <sys/sendfile.h>
#include <sys/wait.h>

#include "base/io.h"
#include "sqlite/db_file.h"
#include "store/store_handle.h"
#include "store_kit.h"

static int try_open(const char *dir, bool is_owner, struct store **ret, const char **ret_notice,
                    struct err *err)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = { .path = path, .interval_ns = NS_PER_S, .is_owner = is_owner };
	int r = store_open(&o, ret, ret_notice, err);

	free(path);
	return r;
}

static void make_store(const char *dir, int snapshots)
{
	struct world w;
	struct store *st;

	world_init(&w, 41);
	world_add_job(&w, "j");
	st = world_open(&w, dir);
	for (int i = 0; i < snapshots; i++)
		world_put(&w, st);
	store_close(st);
	world_done(&w);
}

static void copy_file(const char *from, const char *to)
{
	int in = open(from, O_RDONLY | O_CLOEXEC);
	int out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
	struct stat st;

	assert_true(in >= 0 && out >= 0 && fstat(in, &st) == 0);
	assert_int_equal(sendfile(out, in, NULL, (size_t)st.st_size), st.st_size);
	close(in);
	close(out);
}

static size_t count_files(const char *dir, const char *part)
{
	DIR *d = opendir(dir);
	struct dirent *entry;
	size_t n = 0;

	assert_non_null(d);
	while ((entry = readdir(d)))
		n += strstr(entry->d_name, part) != NULL;
	closedir(d);
	return n;
}

static void edit(const char *dir, off_t at, const void *bytes, size_t n)
{
	char *path = xasprintf("%s/proctor.db", dir);
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(pwrite(fd, bytes, n, at), n);
	close(fd);
	free(path);
}

static void test_store_open__sets_a_damaged_file_aside_and_goes_on(void **state)
{
	static const struct {
		off_t cut; /* to this size, unless -1 */
		off_t at;
		size_t n;
	} damages[] = {
		{ -1, 0, 4 },   { -1, 16, 8 },    { 50, 0, 0 },
		{ 5000, 0, 0 }, { -1, 100, 200 }, { -1, 0, 20000 },
	};
	char junk[20000];

	(void)state;
	memset(junk, 0x5a, sizeof junk);
	for (size_t i = 0; i < ARRAY_LEN(damages); i++) {
		char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
		const char *notice = NULL;
		struct store *st = NULL;
		struct err err = { 0 };
		struct world w;

		make_store(dir, 5);
		if (damages[i].cut >= 0)
			assert_int_equal(truncate(path, damages[i].cut), 0);
		if (damages[i].n)
			edit(dir, damages[i].at, junk, damages[i].n);
		if (try_open(dir, false, &st, &notice, &err) < 0)
			fail_msg("%zu: %s", i, err.msg);
		if (!notice)
			fail_msg("%zu: not noticed", i);
		assert_non_null(strstr(notice, "proctor.db.corrupt-"));
		assert_true(count_files(dir, "corrupt-") >= 1);
		world_init(&w, 42);
		world_put(&w, st);
		store_close(st);
		assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 1);
		assert_int_equal(ask_int(dir,
		                         "SELECT count(*) FROM recorder_events WHERE"
		                         " event_type = 'recorder' AND details LIKE '%set aside%'"),
		                 1);
		world_done(&w);
		free(path);
		world_rmdir(dir);
	}
}

/* Whatever is damaged, and whenever it shows: recording goes on, and nothing is deleted. */
static void test_store__survives_random_damage(void **state)
{
	char *sound = world_dir(), *sound_path = xasprintf("%s/proctor.db", sound);
	uint64_t seed = 7;
	size_t set_aside = 0;

	(void)state;
	make_store(sound, 70);
	for (int round = 0; round < 60; round++) {
		char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
		const char *notice = NULL;
		struct store *st = NULL;
		struct err err = { 0 };
		struct world w;
		struct stat size;
		off_t at;
		int r;

		copy_file(sound_path, path);
		assert_int_equal(stat(path, &size), 0);
		for (int i = 0; i <= round % 3 * 10; i++) {
			seed = seed * 6364136223846793005u + 1442695040888963407u;
			at = 100 + (off_t)((seed >> 20) % (uint64_t)(size.st_size - 100));
			edit(dir, at, &(char){ (char)(seed >> 50) }, 1);
		}
		r = try_open(dir, false, &st, &notice, &err);
		if (r < 0)
			fail_msg("round %d: %s", round, err.msg);
		world_init(&w, 43);
		for (int i = 0; i < 3; i++)
			world_put(&w, st);
		set_aside += notice || store_take_notice(st);
		store_close(st);
		world_done(&w);
		free(path);
		world_rmdir(dir);
	}
	assert_true(set_aside > 5);
	free(sound_path);
	world_rmdir(sound);
}

static void test_store_put__goes_on_when_damage_shows_later(void **state)
{
	char *dir = world_dir(), junk[4096];
	struct world w;
	struct store *st;
	const char *notice;

	(void)state;
	memset(junk, 0xff, sizeof junk);
	world_init(&w, 44);
	st = world_open(&w, dir);
	for (int i = 0; i < 200; i++)
		world_put(&w, st);
	store_close(st);
	st = world_open(&w, dir);
	world_put(&w, st);
	for (off_t page = 2; page < 60; page++) /* all but the first, while it is open */
		edit(dir, page * 4096, junk, sizeof junk);
	for (int i = 0; i < 100; i++)
		world_put(&w, st);
	notice = store_take_notice(st);
	assert_non_null(notice);
	assert_non_null(strstr(notice, "set aside"));
	assert_null(store_take_notice(st));
	store_close(st);
	assert_true(count_files(dir, "corrupt-") >= 1);
	assert_int_equal(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	world_done(&w);
	world_rmdir(dir);
}

static void assert_refused(const char *dir, const char *word)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct buf before = { 0 }, after = { 0 };
	const char *notice = NULL;
	struct store *st = NULL;
	struct err err = { 0 };

	assert_int_equal(load_file(AT_FDCWD, path, &before, &err), 0);
	assert_int_equal(try_open(dir, false, &st, &notice, &err), -EINVAL);
	assert_non_null(strstr(err.msg, word));
	assert_int_equal(load_file(AT_FDCWD, path, &after, &err), 0);
	assert_int_equal(before.len, after.len);
	assert_memory_equal(before.at, after.at, before.len);
	assert_int_equal(count_files(dir, "-wal") + count_files(dir, "-shm"), 0);
	buf_done(&before);
	buf_done(&after);
	free(path);
}

static void test_store_open__leaves_files_of_others_alone(void **state)
{
	char *dir = world_dir();

	(void)state;
	run_sql(dir, "CREATE TABLE notes(a); INSERT INTO notes VALUES('precious')");
	assert_refused(dir, "another program");
	run_sql(dir, "PRAGMA application_id=77; PRAGMA journal_mode=WAL");
	assert_refused(dir, "another program");
	world_rmdir(dir);
}

static void test_store_open__takes_an_empty_file_or_database(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	struct world w;
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);

	(void)state;
	assert_true(fd >= 0);
	close(fd);
	world_init(&w, 45);
	store_close(world_open(&w, dir));
	assert_int_equal(unlink(path), 0);
	run_sql(dir, "PRAGMA journal_mode=WAL"); /* a database without a table */
	store_close(world_open(&w, dir));
	assert_int_equal(ask_int(dir, "PRAGMA user_version"), SCHEMA_VERSION);
	free(path);
	world_rmdir(dir);
}

/* Columns of metrics and the views follow the program, in old stores too. */
static void test_store_open__brings_columns_and_views_up_to_date(void **state)
{
	char *dir = world_dir();
	struct world w;

	(void)state;
	make_store(dir, 3);
	run_sql(dir,
	        "DROP VIEW process_metrics; CREATE VIEW process_metrics AS SELECT 1 AS old;"
	        "DROP VIEW host_metrics; ALTER TABLE host DROP COLUMN procs_running; DELETE FROM sqlite_stat1;"
	        "DROP VIEW snapshots");
	world_init(&w, 46);
	store_close(world_open(&w, dir));
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 3);
	assert_true(ask_int(dir, "SELECT count(*) FROM process_metrics WHERE rss_mb > 0") > 3);
	assert_int_equal(ask_int(dir, "SELECT count(procs_running) FROM host_metrics"), 0);
	assert_true(ask_int(dir, "SELECT count(*) FROM sqlite_stat1") > 3);
	world_rmdir(dir);
}

static void test_store_open__refuses_a_symlink_and_a_directory(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	const char *notice;
	struct store *st = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(symlink("/etc/passwd", path), 0);
	assert_int_equal(try_open(dir, false, &st, &notice, &err), -EINVAL);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(try_open(dir, false, &st, &notice, &err), -EINVAL);
	assert_true(try_open("/nonexistent", false, &st, &notice, &err) < 0);
	free(path);
	world_rmdir(dir);
}

static void test_store_put__notices_that_the_file_was_taken_away(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir),
	     *moved = xasprintf("%s/moved", dir);
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 47);
	st = world_open(&w, dir);
	world_put(&w, st);
	assert_int_equal(unlink(path), 0);
	world_put(&w, st);
	assert_non_null(store_take_notice(st));
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 1);
	assert_int_equal(rename(path, moved), 0);
	world_put(&w, st);
	world_put(&w, st);
	assert_non_null(strstr(store_take_notice(st), "moved, removed or replaced"));
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 2);
	store_close(st);
	world_done(&w);
	free(path);
	free(moved);
	world_rmdir(dir);
}

static void test_store_open__lets_only_one_daemon_own_it(void **state)
{
	char *dir = world_dir(), pid[32];
	const char *notice;
	struct store *first = NULL, *second = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(try_open(dir, true, &first, &notice, &err), 0);
	assert_int_equal(try_open(dir, true, &second, &notice, &err), -EBUSY);
	snprintf(pid, sizeof pid, "pid %d", getpid());
	assert_non_null(strstr(err.msg, pid));
	assert_int_equal(try_open(dir, false, &second, &notice, &err), 0); /* a `run` beside it */
	store_close(second);
	store_close(first);
	assert_int_equal(try_open(dir, true, &second, &notice, &err), 0);
	store_close(second);
	world_rmdir(dir);
}

static void test_store_put__stops_when_another_daemon_has_taken_the_lock(void **state)
{
	static const char *const removed[] = { "owner.lock", "proctor.db" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(removed); i++) {
		char *dir = world_dir(), *path = xasprintf("%s/%s", dir, removed[i]);
		char *lock = xasprintf("%s/owner.lock", dir);
		struct store *first = NULL, *second = NULL;
		const char *notice;
		struct err err = { 0 };
		struct world w;

		world_init(&w, 49);
		assert_int_equal(try_open(dir, true, &first, &notice, &err), 0);
		world_put(&w, first);
		assert_int_equal(store_put(first, &w.snap, &err), 0);
		/* Nobody has taken it: we hold the new one. */
		assert_int_equal(unlink(path), 0);
		(void)unlink(lock);
		assert_int_equal(store_put(first, &w.snap, &err), 0);
		assert_int_equal(try_open(dir, true, &second, &notice, &err), -EBUSY);
		assert_int_equal(unlink(lock), 0);
		assert_int_equal(try_open(dir, true, &second, &notice, &err), 0);
		for (int k = 0; k < 3; k++)
			assert_int_equal(store_put(first, &w.snap, &err), -EBUSY);
		store_close(second);
		assert_int_equal(store_put(first, &w.snap, &err), 0);
		store_close(first);
		world_done(&w);
		free(path);
		free(lock);
		world_rmdir(dir);
	}
}

static void test_store_open__writes_through_no_hard_link(void **state)
{
	static const char *const names[] = { "proctor.db", "proctor.db-wal", "proctor.db-shm",
		                             "write.lock", "owner.lock" };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(names); i++) {
		char *dir = world_dir(), *path = xasprintf("%s/%s", dir, names[i]);
		char *victim = xasprintf("%s/victim", dir);
		struct store *st = NULL;
		const char *notice;
		struct err err = { 0 };
		struct stat after;

		int fd = open(victim, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

		assert_true(fd >= 0 && close(fd) == 0 && link(victim, path) == 0);
		assert_int_equal(try_open(dir, true, &st, &notice, &err), -EINVAL);
		assert_non_null(strstr(err.msg, "more than one hard link"));
		assert_int_equal(stat(victim, &after), 0);
		assert_int_equal(after.st_size, 0);
		free(path);
		free(victim);
		world_rmdir(dir);
	}
}

/* Damages a page of a table that this writer neither reads nor writes. */
static void damage_unread_page(const char *dir)
{
	long long page = ask_int(dir, "SELECT rootpage FROM sqlite_schema WHERE name = 'pattern'");
	char junk[4096];

	memset(junk, 0xff, sizeof junk);
	edit(dir, (off_t)(page - 1) * 4096, junk, sizeof junk);
}

static void test_store__sets_aside_what_only_a_reader_found_damaged(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/proctor.db", dir);
	const struct store_retention keep = { NS_PER_S, NS_PER_S, NS_PER_S };
	cleanup(db_closep) sqlite3 *db = NULL;
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	struct err err = { 0 };
	struct store *st;
	struct world w;
	bool more;

	(void)state;
	make_store(dir, 20);
	world_init(&w, 50);
	damage_unread_page(dir);
	st = world_open(&w, dir);
	world_put(&w, st);
	assert_null(store_take_notice(st)); /* it never reads there */
	assert_int_equal(db_file_open_to_read(path, &db, &err), 0);
	assert_int_equal(db_prepare(db, "SELECT * FROM pattern", &stmt, &err), 0);
	assert_int_equal(db_step(stmt, &err), -EUCLEAN);
	assert_int_equal(count_files(dir, ".suspect"), 1);
	assert_int_equal(store_retain_step(st, &keep, w.wall_ns, w.boot_ns, &more, &err), 0);
	assert_non_null(strstr(store_take_notice(st), "set aside"));
	assert_int_equal(count_files(dir, ".suspect"), 0);
	world_put(&w, st);
	store_close(st);
	world_done(&w);
	free(path);
	world_rmdir(dir);
}

static void test_store_put__does_not_wait_for_ever_for_a_stopped_writer(void **state)
{
	char *dir = world_dir(), *path = xasprintf("%s/write.lock", dir);
	struct db_lock lock = { -1 };
	struct err err = { 0 };
	uint64_t from;
	struct world w;
	struct store *st;

	(void)state;
	world_init(&w, 48);
	st = world_open(&w, dir);
	world_put(&w, st);
	assert_int_equal(db_lock_open(&lock, path, &err), 0);
	assert_int_equal(db_lock_take(&lock, DB_LOCK_WRITING, 0), 0);
	from = clock_mono_ns();
	world_tick(&w);
	assert_int_equal(store_put(st, &w.snap, &err), -EBUSY);
	assert_true(clock_mono_ns() - from < 20 * NS_PER_S);
	db_lock_close(&lock);
	world_put(&w, st);
	store_close(st);
	world_done(&w);
	free(path);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_store_open__sets_a_damaged_file_aside_and_goes_on),
          TEST(test_store__survives_random_damage),
          TEST(test_store_put__goes_on_when_damage_shows_later),
          TEST(test_store_open__leaves_files_of_others_alone),
          TEST(test_store_open__takes_an_empty_file_or_database),
          TEST(test_store_open__brings_columns_and_views_up_to_date),
          TEST(test_store_open__refuses_a_symlink_and_a_directory),
          TEST(test_store_put__notices_that_the_file_was_taken_away),
          TEST(test_store_open__lets_only_one_daemon_own_it),
          TEST(test_store_put__stops_when_another_daemon_has_taken_the_lock),
          TEST(test_store_open__writes_through_no_hard_link),
          TEST(test_store__sets_aside_what_only_a_reader_found_damaged),
          TEST(test_store_put__does_not_wait_for_ever_for_a_stopped_writer))
