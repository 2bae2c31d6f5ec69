/* SPDX-License-Identifier: MIT */
/* Events, and what they report about processes. A life that was never sampled gets its process row
 * here, so that short ones are counted too. A machine that forks thousands of times a second, day
 * and night, would fill any disk: outside jobs a long storm is stored up to a bound (about 200 bytes
 * per life, so at most 1 GB a day), and what is left out is counted and recorded. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "schema/schema_format.h"
#include "store/process_table.h"
#include "store/store_handle.h"

#define NONJOB_PER_S 50.0
#define NONJOB_BURST 200000.0
#define EVENTS_PER_PUT 100000
#define DETAILS_MAX ((size_t)1 << 16) /* bytes; what a job's socket accepts fits */
/* Signals to the same process by the same sender in one tick that are stored one by one; the rest is
 * counted. */
#define SIGNALS_ALIKE 10
#define EVENT_BYTES 100 /* of a row with its indexes */
#define PROCESS_BYTES 200

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE event(id INTEGER PRIMARY KEY, time REAL NOT NULL, kind INTEGER NOT NULL,"
	  " proc INTEGER, recorder INTEGER NOT NULL, exit_code INTEGER, signal INTEGER,"
	  " sender_pid INTEGER, sender_uid INTEGER, sender_comm TEXT, count INTEGER, inferred INTEGER,"
	  " details TEXT);"
	  "CREATE INDEX event_time ON event(time);"
	  "CREATE INDEX event_proc ON event(proc) WHERE proc IS NOT NULL;",
	  NULL },
	{ 2,
	  "ALTER TABLE event ADD COLUMN name TEXT;"
	  "ALTER TABLE event ADD COLUMN job INTEGER;"
	  "ALTER TABLE event ADD COLUMN sheet INTEGER;"
	  "CREATE INDEX event_job ON event(job) WHERE job IS NOT NULL;"
	  "CREATE INDEX event_own ON event(recorder, time) WHERE proc IS NULL;",
	  NULL },
	{ 0 },
};

static const struct table_stat stats[] = {
	{ "event", "event_time", "1000000 1" },
	{ "event", "event_proc", "1000000 3" },
	{ 0 },
};

static const struct statement statements[] = {
	{ "INSERT INTO event(time, kind, proc, recorder, exit_code, signal, sender_pid,"
	  " sender_uid, sender_comm, count, inferred, details, name, job, sheet)"
	  " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15)" },
	{ 0 },
};

/* process.id, 0 when it has no row, or -errno. */
static int64_t find_process(struct store *st, const struct index_list *list, const struct event *e,
                            struct err *err)
{
	uint64_t known;

	if (map_get(&st->processes.known, proc_key(e->id), &known))
		return (int64_t)known;
	if (!e->id.start_ticks)
		return live_processes_find_pid(st, list, e->id.pid);
	/* A process that begins now has no row yet; asking for each would double the cost of a
	 * fork. */
	return e->kind == EVENT_SPAWN && !e->inferred ? 0
	                                              : process_table_find(st, e->id, false, err);
}

static bool is_birth(const struct event *e)
{
	return e->kind == EVENT_SPAWN && !e->inferred;
}

/* The start of the event's process; without a birth event, by the clock tick in which it began, if
 * that is known. */
static uint64_t start_of(const struct event *e)
{
	uint64_t began_ns = e->id.start_ticks * NS_PER_TICK;

	if (e->kind == EVENT_SPAWN || !e->id.start_ticks || began_ns > e->boot_ns)
		return e->wall_ns;
	return e->wall_ns - MIN(e->boot_ns - began_ns, e->wall_ns);
}

static int64_t add_process(struct store *st, const struct snapshot *snap, const struct event *e,
                           struct err *err)
{
	const struct job *job = e->job >= 0 && (size_t)e->job < snap->jobs.len
	                                ? &snap->jobs.at[e->job]
	                                : NULL;
	const struct process_row row = {
		.id = e->id,
		.ppid = e->ppid ? e->ppid : -1,
		.job = job_table_row(st, e->job),
		.sheet = e->sheet,
		.uid = e->uid,
		.started = db_time(job ? snapshot_hold_to_job(job, start_of(e)) : start_of(e)),
		.comm = e->comm,
		.command = e->comm,
		.command_len = COMM_LEN,
		.is_start_exact = is_birth(e),
		.is_joined = e->is_joined,
	};
	int64_t id = process_table_add(st, &row, err);

	store_quota_add(st, store_quota_payer(snap, e->job, e->uid), PROCESS_BYTES);
	if (id > 0)
		map_put(&st->processes.known, proc_key(e->id), (uint64_t)id);
	return id;
}

static bool may_store(struct store *st, const struct event *e)
{
	if (e->job >= 0 || e->kind == EVENT_KILL || e->kind == EVENT_OOM)
		return true;
	if (st->events.nonjob_processes < NONJOB_BURST) {
		st->events.nonjob_processes++;
		return true;
	}
	st->events.nonjob_lost++;
	return false;
}

static int set_totals(struct store *st, const struct event *e, int64_t proc, struct err *err)
{
	int64_t total[TOTAL_METRICS];

	if (!e->final.present)
		return 0;
	column_set_values(&st->totals, e->final.present, e->final.value, total);
	return process_table_set_totals(st, proc,
	                                &(const struct process_totals){ COLUMN_ABSENT,
	                                                                COLUMN_ABSENT, total,
	                                                                column_final(e) },
	                                err);
}

/* Of a process: 0 if that was in no job then, which it may have been before or after. NULL: its first sheet. */
static struct bind sheet_of(const struct event *e, int64_t proc, int64_t job)
{
	bool is_counted = proc || job;

	return bind_int_if(is_counted && (e->sheet || (proc && e->job < 0)), e->sheet);
}

/* process.id, job.id; 0: none. `payer`: the user that it is counted for. */
static int put_one(struct store *st, const struct event *e, const char *text, int64_t proc,
                   int64_t job, uint32_t payer, struct err *err)
{
	bool is_sent = e->kind == EVENT_SIGNAL || e->kind == EVENT_KILL;
	bool has_sender = is_sent && e->sender_pid > 0;
	cleanup(buf_done) struct buf details = { .max = DETAILS_MAX };

	event_details(e, text, &details);
	store_quota_add(st, payer, EVENT_BYTES + details.len + e->name.len);
	if (e->kind == EVENT_SIGNAL && e->count)
		buf_printf(&details, ", and %lld more like it", (long long)e->count);
	return statement_run(st, &statements[0],
	                     BINDS(bind_real(db_time(e->wall_ns)), bind_int(e->kind),
	                           bind_nonzero(proc), bind_int(st->recorder),
	                           bind_int_if(e->has_exit_code, e->exit_code),
	                           bind_nonzero(e->signal),
	                           bind_int_if(is_sent && e->sender_pid >= 0, e->sender_pid),
	                           bind_int_if(has_sender, e->sender_uid),
	                           bind_text(has_sender ? e->sender_comm : NULL, COMM_LEN),
	                           bind_nonzero(e->count), bind_nonzero(e->inferred),
	                           bind_text_or_null(details.at, details.len),
	                           bind_text(e->name.len ? text + e->name.at : NULL, e->name.len),
	                           bind_nonzero(job), sheet_of(e, proc, job)),
	                     err);
}

/* The changes of a process's row by an event. */
static int apply(struct store *st, const struct snapshot *snap, const struct event *e, int64_t proc,
                 struct err *err)
{
	int r = 0;

	if (e->kind == EVENT_EXIT)
		r = process_table_set_exit(st, proc, e, err);
	if (r == 0 && (e->kind == EVENT_EXIT || e->kind == EVENT_TOTALS))
		r = set_totals(st, e, proc, err);
	/* Without a name it runs a program that is not known: the one before is not its name. */
	if (r == 0 && e->kind == EVENT_EXEC)
		r = live_processes_exec(st, snap, e, err);
	if (r == 0 && e->kind == EVENT_EXEC && (e->text.len || !*e->comm))
		r = process_table_set_command(st, proc, e->uid, e->comm,
		                              snapshot_string(snap, e->text), e->text.len, false,
		                              err);
	return r;
}

/* A birth event is more precise than the tick that made the row: its time is exact to the
 * microsecond, and its parent is the one before any reparenting. */
static int put_process_event(struct store *st, const struct snapshot *snap, const struct event *e,
                             struct err *err)
{
	int64_t proc = find_process(st, live_processes_at(st, snap), e, err);
	bool has_row = e->kind != EVENT_TOTALS && (e->kind != EVENT_EXEC || e->job >= 0);
	uint32_t payer = store_quota_payer(snap, e->job, e->uid);
	enum store_quota_level level = store_quota_level(st, payer);
	int r;

	if (proc < 0)
		return (int)proc;
	if (level == STORE_QUOTA_NOTHING && !proc) {
		store_quota_losses(st, payer)->events++;
		store_quota_losses(st, payer)->processes += is_birth(e);
		return 0;
	}
	if (level >= STORE_QUOTA_ENDS && has_row && e->kind != EVENT_KILL && e->kind != EVENT_OOM) {
		store_quota_losses(st, payer)->events++;
		has_row = false;
	}
	if ((e->kind == EVENT_SIGNAL || !proc) && !may_store(st, e))
		return 0;
	if (!proc)
		proc = add_process(st, snap, e, err);
	else if (is_birth(e) && e->ppid && (r = process_table_set_born(st, proc, e, err)) < 0)
		return r;
	if (proc < 0)
		return (int)proc;
	r = apply(st, snap, e, proc, err);
	return r < 0 || !has_row ? r : put_one(st, e, snap->text.at, proc, 0, payer, err);
}

static int put_text(struct store *st, const struct snapshot *snap, enum event_kind kind,
                    int64_t count, const char *text, struct err *err)
{
	struct event e = { .kind = kind,
		           .wall_ns = snap->wall_ns,
		           .job = -1,
		           .count = count,
		           .text = { 0, (uint32_t)strlen(text) } };

	return put_one(st, &e, text, 0, 0, 0, err);
}

/* Counts what was left out of users above their limits. */
static int put_user_losses(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct store_quota_report report;
	int r = 0;

	while (r == 0 && store_quota_next_report(st, &report)) {
		const struct store_left_out *n = &report.losses;
		char text[sizeof st->quotas.notice];

		snprintf(text, sizeof text,
		         "user %u exceeds its share of the store; left out: samples %" PRIu64
		         ", events %" PRIu64 ", processes %" PRIu64,
		         report.uid, n->samples, n->events, n->processes);
		r = put_text(st, snap, EVENT_LOSS, (int64_t)(n->samples + n->events + n->processes),
		             text, err);
		memcpy(st->quotas.notice, text, sizeof text);
	}
	return r;
}

/* The store's own events. */
static int put_own(struct store *st, const struct snapshot *snap, struct err *err)
{
	int r = 0;

	if (st->own_event[0])
		r = put_text(st, snap, EVENT_RECORDER, 0, st->own_event, err);
	if (r == 0 && st->events.nonjob_lost && st->snapshots.keyframe.at == 0)
		r = put_text(st, snap, EVENT_LOSS, (int64_t)st->events.nonjob_lost,
		             "events of processes outside jobs came too fast to store all", err);
	return r < 0 ? r : put_user_losses(st, snap, err);
}

/* An event without a process: of a job, or of the recorder. */
static int put_other_event(struct store *st, const struct snapshot *snap, const struct event *e,
                           struct err *err)
{
	bool is_of_job = e->kind == EVENT_MARK || e->kind == EVENT_PHASE ||
	                 e->kind == EVENT_LIMIT || e->kind == EVENT_DISK ||
	                 (e->kind == EVENT_GPU && e->job >= 0);

	return put_one(st, e, snap->text.at, 0, is_of_job ? job_table_row(st, e->job) : 0,
	               store_quota_payer(snap, e->job, 0), err);
}

/* Whether it gets a row of its own. A timer may send a thousand signals a second. */
static bool is_single(struct store *st, const struct event *e, size_t index)
{
	uint64_t key[] = { proc_key(e->id), (uint64_t)e->signal, (uint64_t)e->sender_pid };
	uint64_t hash = hash_bytes(HASH_SEED, key, sizeof key), value = 0;

	if (e->kind != EVENT_SIGNAL)
		return true;
	map_get(&st->events.signals, hash, &value);
	map_put(&st->events.signals, hash, (uint64_t)index << 32 | ((uint32_t)value + 1));
	return (uint32_t)value < SIGNALS_ALIKE;
}

/* One row for all signals beyond SIGNALS_ALIKE. */
static int put_counted_signals(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct map_slot slot;
	size_t it = 0;

	while (map_next(&st->events.signals, &it, &slot)) {
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

static int put_all(struct store *st, const struct snapshot *snap, struct err *err)
{
	double elapsed_s = (double)(snap->boot_ns - MIN(st->snapshots.boot_ns, snap->boot_ns)) /
	                   1e9;
	size_t stored = 0;
	int r = put_own(st, snap, err);

	st->events.nonjob_processes = MAX(0.0,
	                                  st->events.nonjob_processes - elapsed_s * NONJOB_PER_S);
	map_shrink(&st->events.signals); /* by what the snapshot before needed */
	map_reset(&st->events.signals);
	vec_each(&snap->events, e) {
		if (r < 0)
			return r;
		if (!snapshot_scope_has_event(&snapshot_scope_ours, snap, e) ||
		    !is_single(st, e, (size_t)(e - snap->events.at)))
			continue;
		if (stored++ >= EVENTS_PER_PUT)
			st->events.nonjob_lost++;
		else if (e->id.pid)
			r = put_process_event(st, snap, e, err);
		else
			r = put_other_event(st, snap, e, err);
	}
	return r < 0 ? r : put_counted_signals(st, snap, err);
}

/* The CPU time of events is counted apart: it depends on them and not on how often ticks come. */
static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	int r = put_all(st, snap, err);

	if (!snap->events_only)
		st->events.cpu_ns += clock_thread_cpu_ns() - begin_ns;
	return r;
}

uint64_t store_events_cpu_ns(const struct store *st)
{
	return st->events.cpu_ns;
}

int event_table_put_gap(struct store *st, const struct store_gap *gap, struct err *err)
{
	struct event e = { .kind = EVENT_GAP,
		           .wall_ns = gap->from_ns,
		           .job = -1,
		           .count = gap->to_ns > gap->from_ns ? (int64_t)(gap->to_ns - gap->from_ns)
		                                              : 0 };
	struct buf text = { .max = 1024 };
	int r;

	if (gap->snapshots)
		buf_printf(&text, "%llu snapshot%s not stored: %s",
		           (unsigned long long)gap->snapshots,
		           gap->snapshots == 1 ? " was" : "s were", gap->reason);
	else
		buf_printf(&text, "%llu event%s not stored: %s", (unsigned long long)gap->events,
		           gap->events == 1 ? " was" : "s were", gap->reason);
	e.text.len = (uint32_t)text.len;
	r = put_one(st, &e, text.at, 0, 0, 0, err);
	if (r == 0 && gap->events) {
		buf_reset(&text);
		buf_printf(&text, "not stored: %s", gap->reason);
		e.kind = EVENT_LOSS;
		e.count = (int64_t)gap->events;
		e.text.len = (uint32_t)text.len;
		r = put_one(st, &e, text.at, 0, 0, 0, err);
	}
	buf_done(&text);
	return r;
}

int event_table_put_note(struct store *st, const char *text, struct err *err)
{
	const struct event e = { .kind = EVENT_RECORDER,
		                 .wall_ns = clock_wall_ns(),
		                 .job = -1,
		                 .text = { 0, (uint32_t)strlen(text) } };

	return put_one(st, &e, text, 0, 0, 0, err);
}

static int retain(struct store *st, double before, struct err *err)
{
	return retention_delete_before(st,
	                               "DELETE FROM event WHERE id IN (SELECT id FROM event"
	                               " WHERE time < ?1 ORDER BY time LIMIT ?2)",
	                               before, err);
}

static void put_event_kinds(struct buf *sql, bool in_view)
{
	buf_puts(sql, "CASE e.kind");
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++)
		if (event_in_view(kind) == in_view)
			buf_printf(sql, " WHEN %d THEN '%s'", (int)kind, event_name(kind));
	buf_puts(sql, " END AS event_type");
}

static void put_kind_filter(struct buf *sql, bool in_view)
{
	const char *comma = "";

	buf_puts(sql, " WHERE e.kind IN (");
	for (enum event_kind kind = 0; kind < EVENT_KIND_COUNT; kind++) {
		if (event_in_view(kind) != in_view)
			continue;
		buf_printf(sql, "%s%d", comma, (int)kind);
		comma = ", ";
	}
	buf_puts(sql, ")");
}

static void put_events_as(struct buf *sql, const char *view)
{
	buf_printf(sql, "CREATE VIEW %s AS SELECT", view);
	buf_puts(sql, " e.id AS id, e.time AS timestamp,"
	              " p.pid AS pid, ");
	put_event_kinds(sql, true);
	buf_puts(sql, ", e.exit_code AS exit_code, e.signal AS signal_num, j.job_id AS job_id,"
	              " iif(j.id IS NULL, NULL, coalesce(nullif(e.sheet, 0), p.sheet)) AS sheet_num,"
	              " coalesce(e.details, '') AS details, j.uid AS uid, e.count AS count,"
	              " coalesce(e.inferred, 0) AS inferred"
	              " FROM event e JOIN process p ON p.id = e.proc"
	              " LEFT JOIN job j ON j.id = p.job AND NOT " SCHEMA_EVENT_IS_LATE("j.ended"));
	put_kind_filter(sql, true);
}

static void put_process_events(struct buf *sql)
{
	put_events_as(sql, "process_events");
}

/* The view that daemon.events reads. */
static void put_job_events(struct buf *sql)
{
	put_events_as(sql, "job_process_events");
	buf_puts(sql, " AND j.id IS NOT NULL");
}

static void put_recorder_events(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW recorder_events AS SELECT e.id AS id, e.time AS timestamp,"
	              " e.recorder AS recorder, ");
	put_event_kinds(sql, false);
	buf_puts(
		sql,
		", (SELECT p.pid FROM process p WHERE p.id = e.proc) AS pid,"
		" e.count AS count, coalesce(e.details, '') AS details, e.name AS name,"
		" j.job_id AS job_id,"
		" iif(e.job IS NULL, NULL, e.sheet) AS sheet_num, j.uid AS uid FROM event e LEFT JOIN job j ON j.id = e.job");
	put_kind_filter(sql, false);
}

static const struct view views[] = {
	{ "process_events", put_process_events },
	{ "job_process_events", put_job_events },
	{ "recorder_events", put_recorder_events },
	{ 0 },
};

static const struct table_ids ids[] = {
	{ "event",
	  { { "id", ID_EVENT },
	    { "proc", ID_PROCESS },
	    { "recorder", ID_RECORDER },
	    { "job", ID_JOB } } },
	{ 0 },
};

static const char *const remove_job[] = {
	"DELETE FROM event WHERE job = ?1",
	"DELETE FROM event WHERE proc IN (SELECT p.id FROM process p WHERE p.job = ?1)",
	NULL,
};

const struct store_table event_table = {
	.name = "event",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.on_flush = true,
	.retain = retain,
	.views = views,
	.stats = stats,
	.remove_job = remove_job,
	.ids = ids,
};
