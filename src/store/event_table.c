/* SPDX-License-Identifier: MIT */
/* Events and what they say about processes. A life that was never sampled gets its process row
 * here, so that the short ones are counted too. A machine that forks thousands of times a second,
 * day and night, would fill any disk: outside jobs a long storm is stored up to a bound (about
 * 200 bytes a life, so at most 1 GB a day), and what is left out is counted and told. */
#include <errno.h>
#include <string.h>

#include "store/store_handle.h"

#define STRANGERS_PER_S 50.0
#define STRANGERS_BURST 200000.0
#define EVENTS_PER_PUT 100000
#define DETAILS_MAX ((size_t)1 << 16) /* bytes; what a door takes in fits */
#define SIGNALS_ALIKE                                                                              \
	10 /* to the same process by the same sender in one tick: then they are counted */

/* The process of this pid in the snapshot, for sources that do not know start times. */
static int64_t find_by_pid(const struct store *st, const struct index_list *list, pid_t pid)
{
	size_t low = 0, high = list->len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		const struct life *life = &st->lives.at[list->at[mid]];

		if (life->id.pid == pid)
			return life->proc;
		if (life->id.pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return 0;
}

/* process.id, 0 when it has no row, or -errno. */
static int64_t find_process(struct store *st, const struct index_list *list, const struct event *e,
                            struct err *err)
{
	uint64_t known;

	if (map_get(&st->known, proc_key(e->id), &known))
		return (int64_t)known;
	if (!e->id.start_ticks)
		return find_by_pid(st, list, e->id.pid);
	/* A process that begins now has no row yet; asking for each would double the cost of a
	 * fork. */
	return e->kind == EVENT_SPAWN && !e->inferred
	               ? 0
	               : process_find(st, Q_FIND_PROCESS, e->id, err);
}

static bool tells_start(const struct event *e)
{
	return e->kind == EVENT_SPAWN && !e->inferred;
}

/* Of one that was not heard of before: by the tick in which it began, if that is known. */
static uint64_t start_of(const struct event *e)
{
	uint64_t began_ns = e->id.start_ticks * NS_PER_TICK;

	if (e->kind == EVENT_SPAWN || !e->id.start_ticks || began_ns > e->boot_ns)
		return e->wall_ns;
	return e->wall_ns - MIN(e->boot_ns - began_ns, e->wall_ns);
}

static int64_t insert_process(struct store *st, const struct snapshot *snap, const struct event *e,
                              struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_PROCESS, err);
	int64_t id = process_new_id(st, err);
	const char *job = e->job >= 0 && (size_t)e->job < snap->jobs.len ? snap->jobs.at[e->job].id
	                                                                 : NULL;
	int r;

	if (!stmt || id < 0)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_int64(stmt, 3, e->id.pid);
	db_bind_or_null(stmt, 4, e->ppid ? e->ppid : COLUMN_ABSENT);
	sqlite3_bind_int64(stmt, 5, (int64_t)e->id.start_ticks);
	sqlite3_bind_null(stmt, 6);
	sqlite3_bind_text(stmt, 7, job, -1, SQLITE_STATIC);
	db_bind_or_null(stmt, 8, job && e->sheet ? (int64_t)e->sheet : COLUMN_ABSENT);
	sqlite3_bind_double(stmt, 9,
	                    db_time(job ? snapshot_hold_to_job(&snap->jobs.at[e->job], start_of(e))
	                                : start_of(e)));
	sqlite3_bind_int64(stmt, 10, e->uid);
	db_bind_text(stmt, 11, e->comm, COMM_LEN);
	db_bind_text(stmt, 12, e->comm, COMM_LEN);
	db_bind_or_null(stmt, 13, tells_start(e) ? FINAL_START : COLUMN_ABSENT);
	r = db_run(stmt, err);
	if (r < 0)
		return r;
	map_put(&st->known, proc_key(e->id), (uint64_t)id);
	return id;
}

static bool may_store(struct store *st, const struct event *e)
{
	if (e->job >= 0 || e->kind == EVENT_KILL || e->kind == EVENT_OOM)
		return true;
	if (st->strangers < STRANGERS_BURST) {
		st->strangers++;
		return true;
	}
	st->strangers_lost++;
	return false;
}

/* The birth tells better than the scan that made the row: to the microsecond, and by whom, before
 * the parent ended and another took its place. */
static int set_born(struct store *st, const struct event *e, int64_t proc, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_BORN, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_int64(stmt, 2, e->ppid);
	sqlite3_bind_double(stmt, 3, db_time(e->wall_ns));
	sqlite3_bind_int64(stmt, 4, FINAL_START);
	return db_run(stmt, err);
}

static int set_exit(struct store *st, const struct event *e, int64_t proc, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_EXIT, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_double(stmt, 2, db_time(e->wall_ns));
	if (e->has_exit_code)
		sqlite3_bind_int64(stmt, 3, e->exit_code);
	else
		sqlite3_bind_null(stmt, 3);
	db_bind_or_null(stmt, 4, e->signal ? e->signal : COLUMN_ABSENT);
	db_bind_or_null(stmt, 5, e->core_dumped ? 1 : COLUMN_ABSENT);
	return db_run(stmt, err);
}

static int set_totals(struct store *st, const struct event *e, int64_t proc, struct err *err)
{
	sqlite3_stmt *stmt;

	if (!e->final.present)
		return 0;
	stmt = statement_get(st, Q_SET_TOTALS, err);
	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_null(stmt, 2);
	sqlite3_bind_null(stmt, 3);
	for (int i = 0; i < (int)TOTAL_METRICS; i++) {
		uint8_t id = st->columns.total[i];

		db_bind_or_null(stmt, 4 + i,
		                readings_has(&e->final, id)
		                        ? column_value(&proc_metrics[id], e->final.value[id])
		                        : COLUMN_ABSENT);
	}
	sqlite3_bind_int64(stmt, 4 + TOTAL_METRICS, column_final(&e->final));
	return db_run(stmt, err);
}

static int set_command(struct store *st, const struct snapshot *snap, const struct event *e,
                       int64_t proc, struct err *err)
{
	sqlite3_stmt *stmt;

	if (!e->text.len)
		return 0;
	stmt = statement_get(st, Q_SET_COMMAND, err);
	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, proc);
	sqlite3_bind_int64(stmt, 2, e->uid);
	db_bind_text(stmt, 3, e->comm, COMM_LEN);
	db_bind_text(stmt, 4, snapshot_text(snap, e->text), MIN(e->text.len, COMMAND_MAX));
	return db_run(stmt, err);
}

int event_put_one(struct store *st, const struct event *e, const char *text, int64_t proc,
                  int64_t job, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_EVENT, err);
	struct buf details = { .max = DETAILS_MAX };

	if (!stmt)
		return -err->code;
	sqlite3_clear_bindings(stmt);
	sqlite3_bind_double(stmt, 1, db_time(e->wall_ns));
	sqlite3_bind_int64(stmt, 2, e->kind);
	db_bind_or_null(stmt, 3, proc > 0 ? proc : COLUMN_ABSENT);
	sqlite3_bind_int64(stmt, 4, st->recorder);
	if (e->has_exit_code)
		sqlite3_bind_int64(stmt, 5, e->exit_code);
	db_bind_or_null(stmt, 6, e->signal ? e->signal : COLUMN_ABSENT);
	if (e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL) {
		db_bind_or_null(stmt, 7, e->sender_pid);
		db_bind_or_null(stmt, 8,
		                e->sender_pid > 0 ? (int64_t)e->sender_uid : COLUMN_ABSENT);
		if (e->sender_pid > 0)
			db_bind_text(stmt, 9, e->sender_comm, COMM_LEN);
	}
	if (e->count)
		sqlite3_bind_int64(stmt, 10, e->count);
	db_bind_or_null(stmt, 11, e->inferred ? 1 : COLUMN_ABSENT);
	event_details(e, text, &details);
	if (e->kind == EVENT_SIGNAL && e->count)
		buf_printf(&details, ", and %lld more like it", (long long)e->count);
	if (details.len)
		db_bind_text(stmt, 12, details.at, details.len);
	buf_done(&details);
	if (e->name.len)
		db_bind_text(stmt, 13, text + e->name.at, e->name.len);
	db_bind_or_null(stmt, 14, job > 0 ? job : COLUMN_ABSENT);
	db_bind_or_null(stmt, 15, job > 0 && e->sheet ? (int64_t)e->sheet : COLUMN_ABSENT);
	return db_run(stmt, err);
}

/* What an event about a process changes in its row. */
static int apply(struct store *st, const struct snapshot *snap, const struct event *e, int64_t proc,
                 struct err *err)
{
	int r = 0;

	if (e->kind == EVENT_EXIT)
		r = set_exit(st, e, proc, err);
	if (r == 0 && (e->kind == EVENT_EXIT || e->kind == EVENT_TOTALS))
		r = set_totals(st, e, proc, err);
	if (r == 0 && e->kind == EVENT_EXEC)
		r = set_command(st, snap, e, proc, err);
	return r;
}

static int put_process_event(struct store *st, const struct snapshot *snap, const struct event *e,
                             struct err *err)
{
	/* Between two snapshots the processes are those of the last one. */
	const struct index_list *list = snap->events_only ? &st->live : &st->next;
	int64_t proc = find_process(st, list, e, err);
	bool has_row = e->kind != EVENT_TOTALS && (e->kind != EVENT_EXEC || e->job >= 0);
	int r;

	if (proc < 0)
		return (int)proc;
	if ((e->kind == EVENT_SIGNAL || !proc) && !may_store(st, e))
		return 0;
	if (!proc)
		proc = insert_process(st, snap, e, err);
	else if (tells_start(e) && e->ppid && (r = set_born(st, e, proc, err)) < 0)
		return r;
	if (proc < 0)
		return (int)proc;
	r = apply(st, snap, e, proc, err);
	return r < 0 || !has_row ? r : event_put_one(st, e, snap->text.at, proc, 0, err);
}

static int put_word(struct store *st, const struct snapshot *snap, enum event_kind kind,
                    int64_t count, const char *text, struct err *err)
{
	struct event e = { .kind = kind,
		           .wall_ns = snap->wall_ns,
		           .job = -1,
		           .count = count,
		           .text = { 0, (uint32_t)strlen(text) } };

	return event_put_one(st, &e, text, 0, 0, err);
}

/* What the store has to say itself. */
static int put_own(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = 0;

	if (st->to_store[0])
		r = put_word(st, snap, EVENT_RECORDER, 0, st->to_store, err);
	if (r == 0 && st->strangers_lost && st->keyframe.at == 0)
		r = put_word(st, snap, EVENT_LOSS, (int64_t)st->strangers_lost,
		             "events of processes outside jobs came too fast to store all", err);
	return r;
}

/* What is about no process: said in a job, or by the recorder. */
static int put_word_of_job(struct store *st, const struct snapshot *snap, const struct event *e,
                           struct err *err)
{
	bool is_of_job = e->kind == EVENT_MARK || e->kind == EVENT_PHASE || e->kind == EVENT_LIMIT;
	int64_t job = is_of_job ? job_row(st, snap, e->job, err) : 0;

	return job < 0 ? (int)job : event_put_one(st, e, snap->text.at, 0, job, err);
}

/* Whether this one is to be stored by itself. A timer may send a thousand signals a second. */
static bool is_single(struct store *st, const struct event *e, size_t index)
{
	uint64_t key[] = { proc_key(e->id), (uint64_t)e->signal, (uint64_t)e->sender_pid };
	uint64_t hash = store_hash(0, key, sizeof key), value = 0;

	if (e->kind != EVENT_SIGNAL)
		return true;
	map_get(&st->signals, hash, &value);
	map_put(&st->signals, hash, (uint64_t)index << 32 | ((uint32_t)value + 1));
	return (uint32_t)value < SIGNALS_ALIKE;
}

/* One row for all those beyond SIGNALS_ALIKE. */
static int put_counted_signals(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&st->signals, &it, &slot)) {
		uint32_t n = (uint32_t)slot.value;
		struct event e = snap->events.at[slot.value >> 32];
		int r;

		if (n <= SIGNALS_ALIKE)
			continue;
		e.count = n - SIGNALS_ALIKE - 1;
		r = put_process_event(st, snap, &e, err);
		if (r < 0)
			return r;
	}
	return 0;
}

int event_put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	double elapsed_s = (double)(snap->boot_ns - MIN(st->boot_ns, snap->boot_ns)) / 1e9;
	size_t stored = 0;
	int r = put_own(st, snap, err);

	st->strangers = MAX(0.0, st->strangers - elapsed_s * STRANGERS_PER_S);
	map_shrink(&st->signals); /* by what the snapshot before needed */
	map_reset(&st->signals);
	vec_each(&snap->events, e) {
		if (r < 0)
			return r;
		if (!is_single(st, e, (size_t)(e - snap->events.at)))
			continue;
		if (stored++ >= EVENTS_PER_PUT)
			st->strangers_lost++;
		else if (e->id.pid)
			r = put_process_event(st, snap, e, err);
		else
			r = put_word_of_job(st, snap, e, err);
	}
	return r < 0 ? r : put_counted_signals(st, snap, err);
}
