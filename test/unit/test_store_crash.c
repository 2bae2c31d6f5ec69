/* SPDX-License-Identifier: MIT */
/* Writers that are killed, that write at the same time, and that find no room. */
#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <time.h>

#include "base/io.h"
#include "store_kit.h"

#define KILLS 50

static void assert_sound(const char *dir)
{
	assert_int_equal(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check"),
	                 1);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM sample_base WHERE proc NOT IN"
	                              " (SELECT id FROM process)"),
	                 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshot WHERE kf NOT IN"
	                              " (SELECT id FROM keyframe)"),
	                 0);
}

/* In a child: nothing here may use cmocka's jumps. */
static struct store *child_open(const char *dir, bool no_guard)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = { .path = path, .interval_ns = NS_PER_S, .no_guard = no_guard };
	const char *notice = NULL;
	struct store *st = NULL;
	struct err err = { 0 };

	if (store_open(&o, &st, &notice, &err) < 0 || notice) {
		fprintf(stderr, "child: %s\n", notice ? notice : err.msg);
		_exit(3);
	}
	free(path);
	return st;
}

/* Puts until it is killed, and reports the id of each snapshot that was stored. */
static void write_and_report(const char *dir, uint64_t seed, int to)
{
	struct err err = { 0 };
	struct world w;
	struct store *st;

	world_init(&w, seed);
	w.wall_ns += seed * 1000 * NS_PER_S;
	w.churn = 10;
	st = child_open(dir, false);
	for (;;) {
		int64_t id;

		world_tick(&w);
		if (store_put(st, &w.snap, &err) < 0)
			_exit(4);
		id = world_last_id(st);
		if (io_write_all(to, &id, sizeof id) < 0)
			_exit(5);
	}
}

static void test_store__loses_nothing_when_a_writer_is_killed(void **state)
{
	char *dir = world_dir();
	struct world w;
	int64_t stored = 0;

	(void)state;
	world_init(&w, 49);
	store_close(world_open(&w, dir));
	for (int i = 0; i < KILLS; i++) {
		struct timespec pause = { .tv_nsec = (long)((5 + i * 37 % 90) * (long)NS_PER_MS) };
		int pipe_fds[2], status;
		pid_t pid;

		assert_int_equal(pipe2(pipe_fds, O_CLOEXEC), 0);
		pid = fork();
		if (!pid)
			write_and_report(dir, 50 + (uint64_t)i, pipe_fds[1]);
		close(pipe_fds[1]);
		/* On a busy machine all others may be killed before they have stored anything. */
		if (i == 0)
			assert_int_equal(read(pipe_fds[0], &stored, sizeof stored), sizeof stored);
		nanosleep(&pause, NULL);
		kill(pid, SIGKILL);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
		while (read(pipe_fds[0], &stored, sizeof stored) == sizeof stored)
			continue;
		close(pipe_fds[0]);
		if (stored && i % 5 == 0) {
			assert_true(ask_int(dir, "SELECT max(id) FROM snapshots") >= stored);
			assert_sound(dir);
		}
	}
	store_close(world_open(&w, dir)); /* buries the dead */
	assert_sound(dir);
	assert_true(ask_int(dir, "SELECT max(id) FROM snapshots") >= stored);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM keyframe WHERE last IS NULL"), 0);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process WHERE first IS NOT NULL"
	                              " AND last IS NULL"),
	                 0);
	world_rmdir(dir);
}

static void write_some(const char *dir, uint64_t seed, int n)
{
	struct err err = { 0 };
	struct world w;
	struct store *st;

	world_init(&w, seed);
	st = child_open(dir, false);
	for (int i = 0; i < n; i++) {
		world_tick(&w);
		if (AT_LAST(store_put(st, &w.snap, &err)) < 0) {
			fprintf(stderr, "child: %s\n", err.msg);
			_exit(4);
		}
	}
	store_close(st);
	_exit(0);
}

static void test_store__takes_several_writers_at_once(void **state)
{
	char *dir = world_dir();
	pid_t pids[3];

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		pids[i] = fork();
		if (!pids[i])
			write_some(dir, 60 + i, 300);
	}
	for (size_t i = 0; i < ARRAY_LEN(pids); i++) {
		int status;

		assert_int_equal(waitpid(pids[i], &status, 0), pids[i]);
		assert_int_equal(status, 0);
	}
	assert_sound(dir);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots"), 900);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM recorder WHERE ended IS NOT NULL"), 3);
	/* What each snapshot has of its processes is what the view finds. */
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM snapshots s WHERE child_count <>"
	                              " (SELECT count(*) FROM process_metrics pm"
	                              " WHERE pm.snapshot_id = s.id)"),
	                 0);
	world_rmdir(dir);
}

static void test_store__marks_a_job_lost_whose_recorder_died(void **state)
{
	char *dir = world_dir();
	struct world w;
	int status;
	pid_t pid = fork();

	(void)state;
	world_init(&w, 70);
	world_add_job(&w, "doomed");
	if (!pid) {
		struct store *st = child_open(dir, false);
		struct err err = { 0 };

		world_tick(&w);
		_exit(store_put_job(st, &w.jobs.at[0], NULL, &err) < 0 ||
		      store_put(st, &w.snap, &err) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	assert_int_equal(
		ask_int(dir, "SELECT status = 'running' FROM jobs WHERE job_id = 'doomed'"), 1);
	store_close(world_open(&w, dir));
	assert_int_equal(ask_int(dir, "SELECT status = 'lost' FROM jobs WHERE job_id = 'doomed'"),
	                 1);
	world_done(&w);
	world_rmdir(dir);
}

/* One process of the job, as it is read at a tick. */
static int put_member(struct world *w, struct store *st, uint64_t rss_bytes, uint64_t mark_bytes)
{
	struct err err = { 0 };
	struct proc_snap *p;

	world_tick(w);
	w->churn = 0;
	p = &w->snap.procs.at[0];
	p->job = 0;
	readings_set(&p->s.r, PROC_RSS, rss_bytes);
	readings_set(&p->s.r, PROC_PEAK_RSS, mark_bytes);
	return store_put(st, &w->snap, &err);
}

/* The kernel's mark is read on a budget: it may be older than the largest sample. */
static void test_store__keeps_the_largest_sample_of_a_process_whose_recorder_died(void **state)
{
	char *dir = world_dir();
	struct world w;
	int status;
	pid_t pid = fork();

	(void)state;
	if (!pid) {
		struct store *st = child_open(dir, false);

		world_init(&w, 71);
		w.churn = 50; /* all are born at the first tick, and stay */
		world_add_job(&w, "doomed");
		_exit(put_member(&w, st, 5 << 20, 6 << 20) < 0 ||
		      put_member(&w, st, 100 << 20, 6 << 20) < 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	world_init(&w, 71);
	store_close(world_open(&w, dir));
	assert_int_equal(ask_int(dir, "SELECT max(peak_rss_kib) FROM process"), 100 << 10);
	assert_int_equal(ask_int(dir, "SELECT count(*) FROM process WHERE peak_rss_kib"), 1);
	world_done(&w);
	world_rmdir(dir);
}

static bool fill(const char *path, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	char block[4096] = "x";
	ssize_t n = 1;

	for (size_t i = 0; n > 0 && i < bytes / sizeof block; i++)
		n = write(fd, block, sizeof block);
	close(fd);
	return n < 0 && errno == ENOSPC;
}

#define CHECK(condition)                                                                           \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			fprintf(stderr, "child: line %d: %s\n", __LINE__, err.msg);                \
			_exit(1);                                                                  \
		}                                                                                  \
	} while (0)

/* In a mount namespace of its own, on a disk of 2 MiB. */
static void live_without_room(const char *dir)
{
	char *ballast = xasprintf("%s/ballast", dir), *path = xasprintf("%s/proctor.db", dir);
	struct store_options guarded = { .path = path, .interval_ns = NS_PER_S };
	struct err err = { 0 };
	const char *notice = NULL;
	int64_t before;
	struct world w;
	struct store *st;
	int r = 0;

	CHECK(unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0);
	CHECK(mount("none", dir, "tmpfs", 0, "size=2m") == 0);
	world_init(&w, 80);
	w.churn = 20;
	st = child_open(dir, true);
	CHECK(!fill(ballast, 400 << 10)); /* to be given back */
	for (int i = 0; r == 0 && i < 100000; i++) {
		world_tick(&w);
		r = store_put(st, &w.snap, &err);
	}
	CHECK(r == -ENOSPC);
	before = world_last_id(st);
	for (int i = 0; i < 5; i++) { /* it stays so, and the handle stays good */
		world_tick(&w);
		CHECK(store_put(st, &w.snap, &err) == -ENOSPC);
	}
	CHECK(unlink(ballast) == 0);
	CHECK(store_put_gap(st,
	                    &(struct store_gap){ .from_ns = w.wall_ns - 6 * NS_PER_S,
	                                         .to_ns = w.wall_ns,
	                                         .snapshots = 6,
	                                         .events = 7,
	                                         .reason = "the disk was full" },
	                    &err) == 0);
	CHECK(store_put_gap(st, &(struct store_gap){ .events = 1, .reason = "too fast" }, &err) ==
	      0);
	for (int i = 0; i < 5; i++) {
		world_tick(&w);
		CHECK(store_put(st, &w.snap, &err) == 0);
	}
	CHECK(world_last_id(st) == before + 5);
	store_close(st);
	CHECK(ask_int(dir, "SELECT integrity_check = 'ok' FROM pragma_integrity_check") == 1);
	CHECK(ask_int(dir, "SELECT count(*) FROM recorder_events WHERE event_type = 'gap'"
	                   " AND count = 6000000000") == 1);
	CHECK(ask_int(dir, "SELECT count(*) FROM recorder_events WHERE event_type = 'loss'"
	                   " AND count = 7") == 1);
	CHECK(ask_int(dir, "SELECT count(*) FROM recorder_events WHERE event_type = 'gap'"
	                   " AND details = '1 event was not stored: too fast'") == 1);
	CHECK(ask_int(dir, "SELECT count(*) FROM snapshots s WHERE child_count <> (SELECT count(*)"
	                   " FROM process_metrics pm WHERE pm.snapshot_id = s.id)") == 0);
	/* The guard stops before the last byte. */
	CHECK(mount(NULL, dir, NULL, MS_REMOUNT, "size=4m") == 0);
	st = NULL;
	CHECK(store_open(&guarded, &st, &notice, &err) == 0);
	CHECK(fill(ballast, 4 << 20));
	world_tick(&w);
	CHECK(store_put(st, &w.snap, &err) == -ENOSPC && strstr(err.msg, "almost full"));
	_exit(0);
}

static void test_store_put__rolls_back_when_the_disk_is_full_and_recovers(void **state)
{
	char *dir = world_dir();
	int status;
	pid_t pid;

	(void)state;
	if (geteuid() != 0)
		skip();
	pid = fork();
	if (!pid)
		live_without_room(dir);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
	world_rmdir(dir);
}

RUN_TESTS(TEST(test_store__loses_nothing_when_a_writer_is_killed),
          TEST(test_store__takes_several_writers_at_once),
          TEST(test_store__marks_a_job_lost_whose_recorder_died),
          TEST(test_store__keeps_the_largest_sample_of_a_process_whose_recorder_died),
          TEST(test_store_put__rolls_back_when_the_disk_is_full_and_recovers))
