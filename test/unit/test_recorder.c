/* SPDX-License-Identifier: MIT */
/* The recorder's thread with a real store; a lock that the test holds makes the disk slow. */
#include "engine/recorder.h"

#include <errno.h>
#include <poll.h>
#include <sys/eventfd.h>

#include "check.h"
#include "sqlite/db_lock.h"
#include "store_kit.h"

#define PATIENCE_NS (30 * NS_PER_S)

struct fixture {
	char *dir, *db_path, *jsonl_path;
	struct snapshot_pool *pool;
	struct recorder *recorder;
	struct db_lock lock;
	uint64_t seq;
};

static int setup(void **state)
{
	struct fixture *fx = xcalloc(1, sizeof *fx);

	fx->dir = world_dir();
	fx->db_path = xasprintf("%s/proctor.db", fx->dir);
	fx->jsonl_path = xasprintf("%s/monitor.jsonl", fx->dir);
	fx->pool = snapshot_pool_new();
	fx->lock.fd = -1;
	*state = fx;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *fx = *state;

	db_lock_close(&fx->lock);
	if (fx->recorder)
		recorder_close(fx->recorder, NULL);
	snapshot_pool_free(fx->pool);
	free(fx->db_path);
	free(fx->jsonl_path);
	world_rmdir(fx->dir);
	free(fx);
	return 0;
}

static void open_recorder(struct fixture *fx, struct recorder_options options)
{
	struct err err;

	if (!options.opens_later)
		options.store.path = fx->db_path;
	options.retention_after_ns = 3600 * NS_PER_S;
	assert_int_equal(recorder_open(&options, &fx->recorder, &err), 0);
}

static void hold_lock(struct fixture *fx)
{
	cleanup(freep) char *path = xasprintf("%s/write.lock", fx->dir);
	struct err err;

	assert_int_equal(db_lock_open(&fx->lock, path, &err), 0);
	assert_int_equal(db_lock_take(&fx->lock, DB_LOCK_WRITING, NS_PER_S), 0);
}

static struct snapshot *begin_snapshot(struct fixture *fx)
{
	struct snapshot *snap = snapshot_pool_take(fx->pool);

	snapshot_reset(snap);
	snap->seq = ++fx->seq;
	snap->wall_ns = (UINT64_C(1790000000) + fx->seq) * NS_PER_S;
	snap->boot_ns = (5000 + fx->seq) * NS_PER_S;
	return snap;
}

static void push(struct fixture *fx, struct snapshot *take_snap)
{
	const struct snapshot *frozen = snapshot_freeze(take_snap);

	recorder_push(fx->recorder, frozen);
	snapshot_unref(frozen);
}

static void push_end(struct fixture *fx)
{
	struct snapshot *snap = begin_snapshot(fx);
	struct job *job = world_push(&snap->jobs);

	snprintf(job->id, sizeof job->id, "ended");
	snprintf(job->type, sizeof job->type, "type");
	job->started_ns = snap->wall_ns - NS_PER_S;
	job->ended_ns = snap->wall_ns;
	job->status = JOB_FAILED;
	job->ends_now = true;
	snap->events_only = true;
	push(fx, snap);
}

static struct recorder_status status_of(struct fixture *fx)
{
	struct recorder_status status;

	recorder_status(fx->recorder, &status);
	return status;
}

/* Whether the latest snapshot was stored. */
static bool is_stored(struct fixture *fx)
{
	return recorder_await(fx->recorder, recorder_pushed(fx->recorder), false, PATIENCE_NS) ==
	       STORED_YES;
}

static void test_recorder__stores_what_is_pushed(void **state)
{
	struct fixture *fx = *state;

	open_recorder(fx, (struct recorder_options){ .store.is_owner = true });
	push(fx, begin_snapshot(fx));
	push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	assert_int_equal(status_of(fx).stored, 2);
	assert_true(status_of(fx).sizes.wal > 0);
	assert_true(status_of(fx).sizes.store > status_of(fx).sizes.wal);
	assert_int_equal(status_of(fx).sizes.jsonl, 0);
	assert_int_equal(status_of(fx).lost, 0);
	assert_int_equal(ask_int(fx->dir, "SELECT count(*) FROM snapshots"), 2);
}

static void test_recorder__writes_a_line_for_a_tick_and_none_for_a_flush(void **state)
{
	struct fixture *fx = *state;
	struct snapshot *flush = begin_snapshot(fx);
	cleanup(buf_done) struct buf text = { 0 };
	size_t lines = 0;
	struct err err;

	open_recorder(fx, (struct recorder_options){ .jsonl_path = fx->jsonl_path,
	                                             .jsonl_max_bytes = 1 << 20 });
	flush->events_only = true;
	push(fx, flush);
	push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	assert_int_equal(load_file(AT_FDCWD, fx->jsonl_path, &text, &err), 0);
	for (size_t i = 0; i < text.len; i++)
		lines += text.at[i] == '\n';
	assert_int_equal(lines, 1);
}

static void test_recorder__counts_what_a_store_that_cannot_be_opened_does_not_take(void **state)
{
	struct fixture *fx = *state;

	open_recorder(fx, (struct recorder_options){ .opens_later = true,
	                                             .store.path = "/proc/no/proctor.db" });
	push(fx, begin_snapshot(fx));
	assert_false(is_stored(fx));
	assert_int_equal(status_of(fx).lost, 1);
	assert_non_null(strstr(status_of(fx).reason, "/proc/no"));
}

/* One is being written, four may wait, and the rest pushes out the oldest. */
static void test_recorder__drops_the_oldest_when_the_disk_is_slow_and_stores_a_gap(void **state)
{
	struct fixture *fx = *state;
	struct recorder_status status;

	open_recorder(fx, (struct recorder_options){ 0 });
	push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	hold_lock(fx);
	for (int i = 0; i < 12; i++)
		push(fx, begin_snapshot(fx));
	assert_false(recorder_has_room(fx->recorder));
	status = status_of(fx);
	assert_true(status.lost >= 7 && status.waiting <= 4);
	assert_string_equal(status.reason, "the disk was too slow");
	db_lock_close(&fx->lock);
	(void)is_stored(fx);
	push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	status = status_of(fx);
	assert_int_equal(status.stored + status.lost, 14);
	assert_int_equal(ask_int(fx->dir, "SELECT sum(details + 0) FROM recorder_events "
	                                  "WHERE event_type = 'gap'"),
	                 status.lost);
}

static void test_recorder__may_wait_for_the_disk_before_it_drops_anything(void **state)
{
	struct fixture *fx = *state;

	open_recorder(fx, (struct recorder_options){ .waits_for_disk = true });
	for (int i = 0; i < 100; i++)
		push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	assert_int_equal(status_of(fx).stored, 100);
}

static void test_recorder__reports_an_end_after_it_was_stored(void **state)
{
	struct fixture *fx = *state;
	cleanup(closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	struct pollfd ready = { .fd = fd, .events = POLLIN };
	const struct snapshot *snap;
	bool stored;

	open_recorder(fx, (struct recorder_options){ 0 });
	recorder_keep_outcomes(fx->recorder, fd);
	push(fx, begin_snapshot(fx)); /* nothing ends in it */
	assert_true(is_stored(fx));
	assert_null(recorder_next_outcome(fx->recorder, &stored));
	hold_lock(fx);
	push_end(fx);
	assert_int_equal(poll(&ready, 1, 300), 0);
	assert_null(recorder_next_outcome(fx->recorder, &stored));
	db_lock_close(&fx->lock);
	assert_int_equal(poll(&ready, 1, 30000), 1);
	snap = recorder_next_outcome(fx->recorder, &stored);
	assert_non_null(snap);
	assert_true(stored);
	assert_string_equal(snap->jobs.at[0].id, "ended");
	assert_int_equal(ask_int(fx->dir, "SELECT count(*) FROM jobs WHERE status = 'failed'"), 1);
	snapshot_unref(snap);
	assert_null(recorder_next_outcome(fx->recorder, &stored));
}

static void test_recorder__reports_an_end_that_could_not_be_stored(void **state)
{
	struct fixture *fx = *state;
	const struct snapshot *snap;
	bool stored = true;

	open_recorder(fx, (struct recorder_options){ .opens_later = true });
	recorder_keep_outcomes(fx->recorder, -1);
	push_end(fx);
	(void)is_stored(fx);
	snap = recorder_next_outcome(fx->recorder, &stored);
	assert_non_null(snap);
	assert_false(stored);
	snapshot_unref(snap);
}

/* That others follow all the time changes nothing. */
static void test_recorder_await__is_about_one_snapshot(void **state)
{
	struct fixture *fx = *state;
	uint64_t first;

	open_recorder(fx, (struct recorder_options){ 0 });
	assert_true(is_stored(fx));
	hold_lock(fx);
	push(fx, begin_snapshot(fx));
	first = recorder_pushed(fx->recorder);
	assert_int_equal(recorder_await(fx->recorder, first, false, 0), STORED_UNKNOWN);
	db_lock_close(&fx->lock);
	fx->lock.fd = -1;
	for (int i = 0; i < 3; i++)
		push(fx, begin_snapshot(fx));
	assert_int_equal(recorder_await(fx->recorder, first, false, PATIENCE_NS), STORED_YES);
	assert_true(is_stored(fx));
	hold_lock(fx);
	push(fx, begin_snapshot(fx));
	first = recorder_pushed(fx->recorder);
	assert_int_equal(recorder_await(fx->recorder, first, false, PATIENCE_NS), STORED_NO);
	assert_int_equal(recorder_await(fx->recorder, first - 1, false, 0), STORED_YES);
}

static void push_job(struct fixture *fx, bool ends_now)
{
	struct snapshot *snap = begin_snapshot(fx);
	struct job *job = world_push(&snap->jobs);

	snprintf(job->id, sizeof job->id, "ended");
	snprintf(job->type, sizeof job->type, "type");
	job->handle = 1;
	job->started_ns = snap->wall_ns - NS_PER_S;
	job->ended_ns = snap->wall_ns;
	job->status = JOB_FAILED;
	job->ends_now = ends_now;
	push(fx, snap);
}

/* The next ones show the job, too. */
static void test_recorder__an_end_in_a_dropped_snapshot_is_stored_with_a_later_one(void **state)
{
	struct fixture *fx = *state;
	const struct snapshot *snap;
	uint64_t number, outcomes = 0;
	bool stored;

	open_recorder(fx, (struct recorder_options){ 0 });
	recorder_keep_outcomes(fx->recorder, -1);
	push(fx, begin_snapshot(fx));
	assert_true(is_stored(fx));
	hold_lock(fx);
	push_job(fx, true);
	push_job(fx, true);
	number = recorder_pushed(fx->recorder);
	for (int i = 0; i < 6; i++)
		push_job(fx, false);
	assert_int_equal(recorder_await(fx->recorder, number, true, 0), STORED_UNKNOWN);
	db_lock_close(&fx->lock);
	fx->lock.fd = -1;
	assert_true(is_stored(fx));
	assert_int_equal(recorder_await(fx->recorder, number, true, 0), STORED_YES);
	while ((snap = recorder_next_outcome(fx->recorder, &stored))) {
		assert_true(snap->jobs.at[0].ends_now && stored);
		outcomes++;
		snapshot_unref(snap);
	}
	assert_int_equal(outcomes, 2);
	assert_true(status_of(fx).lost > 0);
}

static void test_recorder_claim_job_id__takes_an_id_that_nobody_else_gets(void **state)
{
	struct fixture *fx = *state;
	const struct store_options options = { .path = fx->db_path, .is_brief = true };
	char first[JOB_ID_MAX] = "build", other[JOB_ID_MAX] = "build", again[JOB_ID_MAX] = "build";
	const char *notice;
	struct store *run;
	bool changed;
	struct err err = { 0 };

	open_recorder(fx, (struct recorder_options){ 0 });
	assert_int_equal(recorder_claim_job_id(fx->recorder, 7, first, PATIENCE_NS, &err), 0);
	assert_string_equal(first, "build");
	assert_int_equal(store_open(&options, &run, &notice, &err), 0);
	assert_int_equal(store_claim_job_id(run, 7, other, &changed, &err), 0);
	assert_string_equal(other, "build.2");
	store_close(run);
	assert_int_equal(recorder_claim_job_id(fx->recorder, 7, again, PATIENCE_NS, &err), 0);
	assert_string_equal(again, "build"); /* no job has begun with it */
	memcpy(again, other, sizeof again);
	assert_int_equal(recorder_claim_job_id(fx->recorder, 7, again, PATIENCE_NS, &err), 0);
	assert_string_equal(again, "build.2.2");
}

static void test_recorder_claim_job_id__does_not_wait_longer_than_it_is_asked_to(void **state)
{
	struct fixture *fx = *state;
	char id[JOB_ID_MAX] = "build";
	struct err err = { 0 };

	open_recorder(fx, (struct recorder_options){ 0 });
	hold_lock(fx);
	assert_int_equal(recorder_claim_job_id(fx->recorder, 7, id, NS_PER_MS, &err), -EBUSY);
	assert_int_equal(recorder_claim_job_id(fx->recorder, 7, id, PATIENCE_NS, &err), -EBUSY);
	assert_string_equal(id, "build");
}

/* What nobody collected is released with it. */
static void test_recorder_close__stores_what_waits(void **state)
{
	struct fixture *fx = *state;
	struct recorder_status status;

	open_recorder(fx, (struct recorder_options){ 0 });
	recorder_keep_outcomes(fx->recorder, -1);
	push(fx, begin_snapshot(fx));
	push_end(fx);
	recorder_close(TAKE_PTR(fx->recorder), &status);
	assert_int_equal(status.stored, 1);
	assert_true(status.has_end);
	assert_int_equal(ask_int(fx->dir, "SELECT count(*) FROM jobs"), 1);
}

#define RECORDER_TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

RUN_TESTS(RECORDER_TEST(test_recorder__stores_what_is_pushed),
          RECORDER_TEST(test_recorder__writes_a_line_for_a_tick_and_none_for_a_flush),
          RECORDER_TEST(test_recorder__counts_what_a_store_that_cannot_be_opened_does_not_take),
          RECORDER_TEST(test_recorder__drops_the_oldest_when_the_disk_is_slow_and_stores_a_gap),
          RECORDER_TEST(test_recorder__may_wait_for_the_disk_before_it_drops_anything),
          RECORDER_TEST(test_recorder__reports_an_end_after_it_was_stored),
          RECORDER_TEST(test_recorder__reports_an_end_that_could_not_be_stored),
          RECORDER_TEST(test_recorder_await__is_about_one_snapshot),
          RECORDER_TEST(test_recorder__an_end_in_a_dropped_snapshot_is_stored_with_a_later_one),
          RECORDER_TEST(test_recorder_claim_job_id__takes_an_id_that_nobody_else_gets),
          RECORDER_TEST(test_recorder_claim_job_id__does_not_wait_longer_than_it_is_asked_to),
          RECORDER_TEST(test_recorder_close__stores_what_waits))
