/* SPDX-License-Identifier: MIT */
#include "engine/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/io.h"
#include "base/thread.h"
#include "kernel/kernel_file.h"
#include "model/snapshot_json.h"
#include "store/jsonl.h"

/* Snapshots that may wait for the disk. Those of one job are small, and its first ones come fast,
 * while the store is perhaps still being made. */
#define QUEUE_MAX 16
#define QUEUE_OF_ALL 4
#define PATIENCE_NS (2 * NS_PER_S)
#define RETENTION_EVERY_NS (3600 * NS_PER_S)
#define RETENTION_REST_NS                                                                          \
	(50 * NS_PER_MS) /* between two steps: the writer is free for snapshots meanwhile */

struct outcome {
	const struct snapshot *snap;
	bool is_known; /* false: it was dropped, and what shows the same jobs waits */
	bool is_stored;
};

/* An id that a job asks for. */
struct job_id_request {
	bool is_waiting; /* until it is claimed, or could not be */
	uint32_t uid;
	char id[JOB_ID_MAX];
	struct err err; /* .code 0: it was claimed */
};

struct recorder {
	struct recorder_options options;
	struct store *store;
	struct jsonl *jsonl;
	struct buf line;
	pthread_t thread;

	/* Used by the recorder's thread only. */
	struct store_gap gap;            /* none is open while it has neither of both */
	uint64_t retention_due_ns;       /* monotonic */
	bool line_failed, folder_failed; /* the last one was refused */
	bool is_stored,
		are_ends_stored; /* the last one; are_ends_stored: what ended in it, at least */

	pthread_mutex_t lock;
	pthread_cond_t wake;  /* there is work */
	pthread_cond_t drawn; /* … and there is room for more */
	const struct snapshot *queue[QUEUE_MAX];
	size_t queue_len;
	/* Snapshots are numbered as they are pushed, from 1 on: the latest that was pushed, is being stored,
	 * was stored, as far as its ends go, or refused. */
	uint64_t pushed, current, stored, ends_stored, refused;
	uint64_t losses, losses_overcome; /* snapshots that were lost, and by the last success */
	bool is_closing;
	bool wants_row, has_row; /* wants_row: until it is committed, or could not be */
	struct recorder_place place;
	struct job_id_request claim;
	struct store_retention retention;
	struct store_gap dropped; /* dropped because the writer is behind */
	VEC(struct outcome) outcomes;
	struct patterns patterns; /* to be stored */
	bool keeps_outcomes;
	int outcome_fd;
	struct recorder_status status;
};

static bool is_gap(const struct store_gap *gap)
{
	return gap->snapshots || gap->events;
}

static void widen_gap(struct store_gap *gap, uint64_t from_ns, uint64_t snapshots, uint64_t events)
{
	if (!is_gap(gap))
		gap->from_ns = from_ns;
	gap->snapshots += snapshots;
	gap->events += events;
}

static uint64_t count_events(const struct snapshot *snap)
{
	uint64_t n = 0;

	vec_each(&snap->events, e)
		n += snapshot_scope_has_event(&snapshot_scope_ours, snap, e);
	return n;
}

/* With the lock held. */
static void note_loss(struct recorder *r, const struct snapshot *snap)
{
	r->losses++;
	r->status.lost += !snap->events_only;
	r->status.events_lost += count_events(snap);
}

/* Ticks are evenly spaced, so the disk is at fault if one is dropped, or after waiting for it. */
static const char *why_dropped(const struct recorder *r)
{
	return r->dropped.snapshots || r->options.waits_for_disk
	               ? "the disk was too slow"
	               : "events came faster than they could be written";
}

/* With the lock held. */
static void add_outcome(struct recorder *r, const struct snapshot *snap, bool is_known,
                        bool is_stored)
{
	if (r->keeps_outcomes && snapshot_has_end(snap))
		*vec_push(&r->outcomes, SIZE_MAX) = (struct outcome){ snapshot_ref(snap), is_known,
			                                              is_stored };
}

/* A job is shown for a while after its end. */
static bool shows_ends_of(const struct snapshot *snap, const struct snapshot *dropped)
{
	vec_each(&dropped->jobs, job)
		if (job->ends_now && snapshot_find_job(snap, job->handle) < 0)
			return false;
	return true;
}

/* With the lock held. It also settles what becomes of those that were dropped before it. */
static void keep_outcome(struct recorder *r, const struct snapshot *snap, bool is_stored)
{
	vec_each(&r->outcomes, o) {
		if (!o->is_known)
			o->is_stored = is_stored && shows_ends_of(snap, o->snap);
		o->is_known = true;
	}
	add_outcome(r, snap, true, is_stored);
	if (r->outcomes.len && r->outcome_fd >= 0)
		(void)!eventfd_write(r->outcome_fd, 1);
}

void recorder_keep_outcomes(struct recorder *r, int event_fd)
{
	pthread_mutex_lock(&r->lock);
	r->keeps_outcomes = true;
	r->outcome_fd = event_fd;
	pthread_mutex_unlock(&r->lock);
}

const struct snapshot *recorder_next_outcome(struct recorder *r, bool *ret_is_stored)
{
	struct outcome first = { 0 };

	pthread_mutex_lock(&r->lock);
	if (r->outcomes.len && r->outcomes.at[0].is_known) {
		first = r->outcomes.at[0];
		memmove(r->outcomes.at, r->outcomes.at + 1, --r->outcomes.len * sizeof first);
	}
	pthread_mutex_unlock(&r->lock);
	*ret_is_stored = first.is_stored;
	return first.snap;
}

/* The oldest one goes: when the disk is this slow, the newest is worth more. Its events are lost with
 * it, and counted. */
static void drop_oldest(struct recorder *r)
{
	const struct snapshot *oldest = r->queue[0];

	memmove(r->queue, r->queue + 1, (QUEUE_MAX - 1) * sizeof *r->queue);
	r->queue_len--;
	widen_gap(&r->dropped, oldest->wall_ns, !oldest->events_only, count_events(oldest));
	note_loss(r, oldest);
	snprintf(r->status.reason, sizeof r->status.reason, "%s", why_dropped(r));
	add_outcome(r, oldest, false, false);
	snapshot_unref(oldest);
}

static struct timespec at_mono(uint64_t ns)
{
	return (struct timespec){ .tv_sec = (time_t)(ns / NS_PER_S),
		                  .tv_nsec = (long)(ns % NS_PER_S) };
}

static bool is_full(const struct recorder *r)
{
	return r->queue_len >= (r->options.waits_for_disk ? QUEUE_MAX : QUEUE_OF_ALL);
}

/* With the lock held. Meanwhile events gather in the kernel's buffers. */
static void wait_for_room(struct recorder *r)
{
	struct timespec end = at_mono(clock_mono_ns() + PATIENCE_NS);

	while (is_full(r))
		if (pthread_cond_timedwait(&r->drawn, &r->lock, &end) == ETIMEDOUT)
			return;
}

void recorder_push(void *self, const struct snapshot *snap)
{
	struct recorder *r = self;

	pthread_mutex_lock(&r->lock);
	if (r->options.waits_for_disk)
		wait_for_room(r);
	if (is_full(r))
		drop_oldest(r);
	r->queue[r->queue_len++] = snapshot_ref(snap);
	r->pushed++;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
}

bool recorder_has_room(void *self)
{
	struct recorder *r = self;
	bool has_room;

	pthread_mutex_lock(&r->lock);
	/* One place is for the next tick. One that waits for the disk waits when there is none. */
	has_room = r->options.waits_for_disk || r->queue_len + 1 < QUEUE_OF_ALL;
	pthread_mutex_unlock(&r->lock);
	return has_room;
}

uint64_t recorder_pushed(struct recorder *r)
{
	uint64_t number;

	pthread_mutex_lock(&r->lock);
	number = r->pushed;
	pthread_mutex_unlock(&r->lock);
	return number;
}

/* With the lock held. One that was dropped is followed by one that shows the same jobs. */
static enum stored outcome_of(const struct recorder *r, uint64_t number, bool have_ended)
{
	if (r->stored >= number || (have_ended && r->ends_stored >= number))
		return STORED_YES;
	return r->refused >= number ? STORED_NO : STORED_UNKNOWN;
}

enum stored recorder_await(struct recorder *r, uint64_t number, bool have_ended,
                           uint64_t patience_ns)
{
	struct timespec end = at_mono(clock_mono_ns() + patience_ns);
	enum stored stored;

	pthread_mutex_lock(&r->lock);
	while ((stored = outcome_of(r, number, have_ended)) == STORED_UNKNOWN)
		if (pthread_cond_timedwait(&r->drawn, &r->lock, &end) == ETIMEDOUT)
			break;
	pthread_mutex_unlock(&r->lock);
	return stored;
}

void recorder_retain(struct recorder *r, const struct store_retention *retention)
{
	pthread_mutex_lock(&r->lock);
	r->retention = *retention;
	pthread_mutex_unlock(&r->lock);
}

uint64_t recorder_losses_overcome(struct recorder *r)
{
	uint64_t n;

	pthread_mutex_lock(&r->lock);
	n = r->losses_overcome;
	pthread_mutex_unlock(&r->lock);
	return n;
}

static struct store_retention retention_now(struct recorder *r)
{
	struct store_retention now;

	pthread_mutex_lock(&r->lock);
	now = r->retention;
	pthread_mutex_unlock(&r->lock);
	return now;
}

void recorder_status(struct recorder *r, struct recorder_status *ret)
{
	pthread_mutex_lock(&r->lock);
	*ret = r->status;
	ret->waiting = r->queue_len;
	pthread_mutex_unlock(&r->lock);
}

static void set_notice(struct recorder *r, const char *text)
{
	pthread_mutex_lock(&r->lock);
	snprintf(r->status.notice, sizeof r->status.notice, "%s", text);
	r->status.notice_seq++;
	pthread_mutex_unlock(&r->lock);
}

/* Dropped snapshots are part of the gap. */
static void take_dropped(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	if (is_gap(&r->dropped))
		widen_gap(&r->gap, r->dropped.from_ns, r->dropped.snapshots, r->dropped.events);
	r->dropped = (struct store_gap){ 0 };
	pthread_mutex_unlock(&r->lock);
}

/* The refused row may also be the gap of a snapshot that was stored. */
static void set_result(struct recorder *r, const struct snapshot *snap, bool is_stored, int result,
                       const struct err *err)
{
	pthread_mutex_lock(&r->lock);
	r->status.is_storing = result == 0;
	if (result < 0)
		snprintf(r->status.reason, sizeof r->status.reason, "%s", err->msg);
	if (is_stored)
		r->status.stored += !snap->events_only;
	else
		note_loss(r, snap);
	pthread_mutex_unlock(&r->lock);
}

/* The lines are a second copy: a failure is reported once, and the database goes on. */
static void append_line(struct recorder *r, const struct snapshot *snap)
{
	struct json j = { .out = &r->line };
	struct err err = { 0 };
	bool failed;

	if (!r->jsonl)
		return;
	buf_relax(&r->line);
	snapshot_json_line(&j, snap, &snapshot_scope_ours, r->options.jsonl_processes);
	failed = jsonl_put(r->jsonl, r->line.at, r->line.len, &err) < 0;
	if (failed && !r->line_failed)
		set_notice(r, err.msg);
	r->line_failed = failed;
}

/* The gap begins with the first snapshot that was lost and ends with the first that was stored
 * again. */
static int close_gap(struct recorder *r, const struct snapshot *snap, struct err *err)
{
	struct recorder_status status;

	if (!is_gap(&r->gap))
		return 0;
	recorder_status(r, &status);
	r->gap.to_ns = snap->wall_ns;
	r->gap.reason = status.reason;
	if (store_put_gap(r->store, &r->gap, err) < 0)
		return -err->code;
	r->gap = (struct store_gap){ 0 };
	return 0;
}

/* Its end is for us to store. */
static bool has_ended(const struct job *job)
{
	return !job->is_stored_by_other && job->status != JOB_RUNNING;
}

static bool has_ends(const struct snapshot *snap)
{
	vec_each(&snap->jobs, job)
		if (has_ended(job))
			return true;
	return false;
}

/* There was no room for all that happened up to the end: for the rows of the jobs there may be. */
static bool store_ends(struct recorder *r, const struct snapshot *snap)
{
	bool are_stored = true;
	struct err err;

	vec_each(&snap->jobs, job)
		if (has_ended(job) && store_put_job(r->store, job, &r->gap, &err) < 0)
			are_stored = false;
	if (are_stored)
		(void)!close_gap(r, snap, &err);
	return are_stored;
}

static void set_outcome(struct recorder *r, const struct snapshot *snap, bool is_stored)
{
	r->are_ends_stored = is_stored;
	pthread_mutex_lock(&r->lock);
	r->status.left_out = store_left_out(r->store);
	if (has_ends(snap)) {
		r->status.has_end = is_stored;
		r->status.is_side = is_stored && store_is_side(r->store);
	}
	keep_outcome(r, snap, is_stored);
	pthread_mutex_unlock(&r->lock);
}

static void set_folder_failed(struct recorder *r, const char *why)
{
	set_notice(r, why);
	pthread_mutex_lock(&r->lock);
	r->status.folder_failed = true;
	pthread_mutex_unlock(&r->lock);
}

static void write_folder(struct recorder *r, const struct snapshot *snap)
{
	struct err err = { 0 };
	bool failed;

	if (!r->options.folder)
		return;
	failed = runfolder_put(r->options.folder, snap, &err) < 0;
	if (failed && !r->folder_failed)
		set_folder_failed(r, err.msg);
	r->folder_failed = failed;
}

static void count_lost(struct recorder *r, const struct snapshot *snap)
{
	pthread_mutex_lock(&r->lock);
	note_loss(r, snap);
	keep_outcome(r, snap, false);
	pthread_mutex_unlock(&r->lock);
}

static void store_snapshot(struct recorder *r, const struct snapshot *snap)
{
	struct err err = { 0 };
	const char *notice;
	int result;

	r->is_stored = r->are_ends_stored = false;
	take_dropped(r);
	write_folder(r, snap);
	if (!r->store) { /* it could not be opened, which was reported */
		count_lost(r, snap);
		return;
	}
	result = store_put(r->store, snap, &err);
	r->is_stored = result == 0;
	if (r->is_stored)
		result = close_gap(r, snap, &err);
	else
		widen_gap(&r->gap, snap->wall_ns, !snap->events_only, count_events(snap));
	set_result(r, snap, r->is_stored, result, &err);
	set_outcome(r, snap, r->is_stored || (has_ends(snap) && store_ends(r, snap)));
	if (!snap->events_only)
		append_line(r, snap);
	notice = store_take_notice(r->store);
	if (notice)
		set_notice(r, notice);
}

/* The loop's thread, which reports them, never waits for a file system. */
static void measure(struct recorder *r)
{
	struct store_sizes sizes;

	if (!r->options.store.is_owner)
		return;
	sizes = store_sizes_measure(r->options.store.path, r->options.jsonl_path);
	pthread_mutex_lock(&r->lock);
	r->status.sizes = sizes;
	pthread_mutex_unlock(&r->lock);
}

/* Events do not count, neither those of a flush nor those in a tick. */
static void store_and_count(struct recorder *r, const struct snapshot *snap)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	uint64_t events_ns = r->store ? store_events_cpu_ns(r->store) : 0;

	store_snapshot(r, snap);
	if (snap->events_only)
		return;
	measure(r);
	events_ns = r->store ? store_events_cpu_ns(r->store) - events_ns : 0;
	pthread_mutex_lock(&r->lock);
	r->status.tick_cpu_ns += clock_thread_cpu_ns() - begin_ns - events_ns;
	r->status.ticks++;
	pthread_mutex_unlock(&r->lock);
}

/* One step when it is due. A failure is not reported: the next snapshot meets the same disk. */
static void step_retention(struct recorder *r)
{
	struct store_retention keep = retention_now(r);
	struct err err;
	bool more = false;

	if (clock_mono_ns() < r->retention_due_ns)
		return;
	if (r->store &&
	    store_retain_step(r->store, &keep, clock_wall_ns(), clock_boot_ns(), &more, &err) < 0)
		more = false;
	r->retention_due_ns = clock_mono_ns() + (more ? RETENTION_REST_NS : RETENTION_EVERY_NS);
}

/* The start of a job, which was committed a moment ago; a disk that refuses will do so at its end, too. */
static void sync_starts(struct recorder *r)
{
	uint64_t due_ns = r->store ? store_sync_due_ns(r->store) : 0;
	struct err err;

	if (due_ns && clock_mono_ns() >= due_ns)
		(void)!store_sync(r->store, &err);
}

static uint64_t next_due_ns(const struct recorder *r)
{
	uint64_t sync_ns = r->store ? store_sync_due_ns(r->store) : 0;

	return sync_ns ? MIN(sync_ns, r->retention_due_ns) : r->retention_due_ns;
}

/* False when it is time to end; *ret is the next snapshot to store, or NULL when something else is due. */
static bool wait_for_work(struct recorder *r, const struct snapshot **ret)
{
	struct timespec due = at_mono(next_due_ns(r));
	bool is_over;

	*ret = NULL;
	pthread_mutex_lock(&r->lock);
	while (!r->queue_len && !r->is_closing && !r->wants_row && !r->claim.is_waiting &&
	       !r->patterns.list.len)
		if (pthread_cond_timedwait(&r->wake, &r->lock, &due) == ETIMEDOUT)
			break;
	is_over = r->is_closing && !r->queue_len;
	if (r->queue_len) {
		*ret = r->queue[0];
		r->current = r->pushed - r->queue_len + 1;
		memmove(r->queue, r->queue + 1, (QUEUE_MAX - 1) * sizeof *r->queue);
		r->queue_len--;
		pthread_cond_broadcast(&r->drawn);
	}
	pthread_mutex_unlock(&r->lock);
	return !is_over;
}

static int open_store(struct recorder *r, struct err *err)
{
	const char *notice = NULL;

	if (store_open(&r->options.store, &r->store, &notice, err) < 0)
		return -err->code;
	if (notice)
		set_notice(r, notice);
	return 0;
}

static void open_store_late(struct recorder *r)
{
	struct err err;

	if (!r->options.store.path) /* the host wants none */
		return;
	if (open_store(r, &err) == 0)
		return;
	pthread_mutex_lock(&r->lock);
	r->status.is_storing = false;
	snprintf(r->status.reason, sizeof r->status.reason, "%s", err.msg);
	pthread_mutex_unlock(&r->lock);
}

/* The row of this recorder, with its boot, if that was asked for. */
static void introduce(struct recorder *r)
{
	cleanup(closep) int root_fd = -1;
	struct stat st = { 0 };
	char boot_id[37];
	struct err err;
	bool is_wanted, has_row;

	pthread_mutex_lock(&r->lock);
	is_wanted = r->wants_row;
	pthread_mutex_unlock(&r->lock);
	if (!is_wanted)
		return;
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	has_row = r->store && kernel_file_boot_id(root_fd, boot_id) &&
	          store_introduce(r->store, boot_id, &err) == 0 &&
	          stat(store_path(r->store), &st) == 0;
	pthread_mutex_lock(&r->lock);
	r->wants_row = false;
	r->has_row = has_row;
	r->place = (struct recorder_place){ st.st_dev, st.st_ino };
	pthread_cond_broadcast(&r->drawn);
	pthread_mutex_unlock(&r->lock);
}

void recorder_put_patterns(struct recorder *r, struct patterns *take_found)
{
	pthread_mutex_lock(&r->lock);
	vec_done(&r->patterns.list);
	r->patterns = *take_found;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	*take_found = (struct patterns){ 0 };
}

static void store_patterns(struct recorder *r)
{
	struct patterns found;
	struct err err;

	pthread_mutex_lock(&r->lock);
	found = r->patterns;
	r->patterns = (struct patterns){ 0 };
	pthread_mutex_unlock(&r->lock);
	if (found.list.len && r->store)
		(void)!store_update_patterns(r->store, found.list.at, found.list.len, &err);
	vec_done(&found.list);
}

bool recorder_introduce(struct recorder *r, uint64_t patience_ns, struct recorder_place *ret)
{
	struct timespec end = at_mono(clock_mono_ns() + patience_ns);
	bool has_row;

	pthread_mutex_lock(&r->lock);
	r->wants_row = !r->has_row;
	pthread_cond_signal(&r->wake);
	while (r->wants_row)
		if (pthread_cond_timedwait(&r->drawn, &r->lock, &end) == ETIMEDOUT)
			break;
	has_row = r->has_row;
	if (has_row)
		*ret = r->place;
	pthread_mutex_unlock(&r->lock);
	return has_row;
}

int recorder_claim_job_id(struct recorder *r, uint32_t uid, char id[JOB_ID_MAX],
                          uint64_t patience_ns, struct err *err)
{
	struct timespec end = at_mono(clock_mono_ns() + patience_ns);
	int result = 0;

	pthread_mutex_lock(&r->lock);
	if (!r->claim.is_waiting) {
		r->claim = (struct job_id_request){ .is_waiting = true, .uid = uid };
		snprintf(r->claim.id, sizeof r->claim.id, "%s", id);
		pthread_cond_signal(&r->wake);
		while (r->claim.is_waiting)
			if (pthread_cond_timedwait(&r->drawn, &r->lock, &end) == ETIMEDOUT)
				break;
	}
	if (r->claim.is_waiting)
		result = err_set(err, EBUSY, "the disk is too slow");
	else if (r->claim.err.code)
		result = err_set(err, r->claim.err.code, "%s", r->claim.err.msg);
	else
		memcpy(id, r->claim.id, JOB_ID_MAX);
	pthread_mutex_unlock(&r->lock);
	return result;
}

static void claim_job_id(struct recorder *r)
{
	struct job_id_request claim;
	bool changed;

	pthread_mutex_lock(&r->lock);
	claim = r->claim;
	pthread_mutex_unlock(&r->lock);
	if (!claim.is_waiting)
		return;
	if (!r->store)
		err_set(&claim.err, ENOENT, "nothing is stored");
	else
		(void)!store_claim_job_id(r->store, claim.uid, claim.id, &changed, &claim.err);
	claim.is_waiting = false;
	pthread_mutex_lock(&r->lock);
	r->claim = claim;
	pthread_cond_broadcast(&r->drawn);
	pthread_mutex_unlock(&r->lock);
}

static void settle_current(struct recorder *r)
{
	pthread_mutex_lock(&r->lock);
	if (r->is_stored) {
		r->stored = r->current;
		r->losses_overcome = r->losses;
	} else {
		r->refused = r->current;
	}
	if (r->are_ends_stored)
		r->ends_stored = r->current;
	pthread_cond_broadcast(&r->drawn);
	pthread_mutex_unlock(&r->lock);
}

static void *work(void *self)
{
	struct recorder *r = self;
	const struct snapshot *snap;

	if (r->options.opens_later)
		open_store_late(r);
	while (wait_for_work(r, &snap)) {
		introduce(r);
		claim_job_id(r);
		store_patterns(r);
		sync_starts(r);
		if (!snap) {
			step_retention(r);
			continue;
		}
		store_and_count(r, snap);
		snapshot_unref(snap);
		settle_current(r);
	}
	return NULL;
}

static int start_thread(struct recorder *r, struct err *err)
{
	pthread_condattr_t attr;
	int code;

	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &attr);
	pthread_cond_init(&r->drawn, &attr);
	pthread_condattr_destroy(&attr);
	code = thread_start(&r->thread, 0, work, r);
	if (code < 0)
		return err_set(err, -code, "start the store's thread: %s", strerror(-code));
	return 0;
}

static void recorder_free(struct recorder *r)
{
	vec_each(&r->outcomes, o)
		snapshot_unref(o->snap);
	vec_done(&r->outcomes);
	vec_done(&r->patterns.list);
	pthread_mutex_destroy(&r->lock);
	store_close(r->store);
	jsonl_close(r->jsonl);
	buf_done(&r->line);
	free(r);
}
DEFINE_CLEANUP(struct recorder *, recorder_free)

int recorder_open(const struct recorder_options *options, struct recorder **ret, struct err *err)
{
	cleanup(recorder_freep) struct recorder *r = xcalloc(1, sizeof *r);

	r->options = *options;
	r->retention = options->retention;
	r->retention_due_ns = clock_mono_ns() + options->retention_after_ns;
	r->status.is_storing = true;
	pthread_mutex_init(&r->lock, NULL);
	if (!options->opens_later && open_store(r, err) < 0)
		return -err->code;
	if (options->jsonl_path &&
	    jsonl_open(options->jsonl_path, options->jsonl_max_bytes, &r->jsonl, err) < 0)
		return -err->code;
	measure(r);
	if (start_thread(r, err) < 0)
		return -err->code;
	*ret = TAKE_PTR(r);
	return 0;
}

void recorder_close(struct recorder *r, struct recorder_status *ret)
{
	pthread_mutex_lock(&r->lock);
	r->is_closing = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	pthread_cond_destroy(&r->wake);
	pthread_cond_destroy(&r->drawn);
	if (ret)
		*ret = r->status;
	recorder_free(r);
}
