/* SPDX-License-Identifier: MIT */
#include "store/snapshot_table.h"

#include "store/store_handle.h"

/* A keyframe ends at the turn of a minute, so that its span can be made into one-minute means by
 * itself. Long ones are smaller on disk, short ones touch fewer pages each tick when much
 * changes: so it ends when the changes outweigh the full set, and at last after KEYFRAME_LONG. */
#define KEYFRAME_SHORT 48
#define KEYFRAME_LONG 240
#define CLOCK_JUMP_NS ((int64_t)(30 * NS_PER_S))
#define KEYFRAME_CHANGES 65536 /* retention takes one keyframe at a time: this bounds its step */

static const struct migration migrations[] = {
	{ 1,
	  "CREATE TABLE keyframe(id INTEGER PRIMARY KEY, recorder INTEGER NOT NULL, resolution INTEGER,"
	  " first INTEGER NOT NULL, last INTEGER, begins REAL NOT NULL, ends REAL);"
	  "CREATE TABLE snapshot(id INTEGER PRIMARY KEY, kf INTEGER NOT NULL, at INTEGER NOT NULL,"
	  " time REAL NOT NULL, recorder INTEGER NOT NULL, resolution INTEGER, boot_us INTEGER,"
	  " seq INTEGER);"
	  "CREATE INDEX snapshot_time ON snapshot(time);",
	  NULL },
	{ 0 },
};

static const struct table_stat stats[] = {
	{ "snapshot", "snapshot_time", "100000 1" },
	{ 0 },
};

enum { NEXT, NEXT_KEYFRAME, PUT_KEYFRAME, END_KEYFRAME, PUT, MOVE };

static const struct statement statements[] = {
	[NEXT] = { "SELECT coalesce(max(id), 0) + 1 FROM snapshot" },
	[NEXT_KEYFRAME] = { "SELECT coalesce(max(id), 0) + 1048576 FROM keyframe" },
	[PUT_KEYFRAME] = { "INSERT INTO keyframe(id, recorder, resolution, first, begins)"
	                   " VALUES(?1, ?2, ?3, ?4, ?5)" },
	[END_KEYFRAME] = { "UPDATE keyframe SET last = ?2, ends = ?3 WHERE id = ?1" },
	[PUT] = { "INSERT INTO snapshot(id, kf, at, time, recorder, boot_us, seq)"
	          " VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)" },
	[MOVE] = { "UPDATE snapshot SET kf = ?2, at = ?3, resolution = ?4 WHERE id = ?1" },
	{ 0 },
};
static_assert(SCHEMA_SLOTS == 1048576, "the number above");

int64_t snapshot_table_begin_keyframe(struct store *st, int64_t recorder, int64_t resolution,
                                      int64_t first, double begins, struct err *err)
{
	int64_t id = statement_int(st, &statements[NEXT_KEYFRAME], NULL, 0, err);
	int r;

	if (id < 0)
		return id;
	r = statement_run(st, &statements[PUT_KEYFRAME],
	                  BINDS(bind_int(id), bind_int(recorder), bind_nonzero(resolution),
	                        bind_int(first), bind_real(begins)),
	                  err);
	return r < 0 ? r : id;
}

int snapshot_table_end_keyframe(struct store *st, int64_t keyframe, int64_t last, double ends,
                                struct err *err)
{
	return statement_run(st, &statements[END_KEYFRAME],
	                     BINDS(bind_int(keyframe), bind_int(last), bind_real(ends)), err);
}

int snapshot_table_move(struct store *st, int64_t snapshot, int64_t keyframe, int64_t at,
                        int64_t resolution, struct err *err)
{
	return statement_run(
		st, &statements[MOVE],
		BINDS(bind_int(snapshot), bind_int(keyframe), bind_int(at), bind_int(resolution)),
		err);
}

/* A new keyframe then keeps the times of each in order, except for slewing. */
static bool clock_has_jumped(const struct store *st, const struct snapshot *snap)
{
	int64_t wall = (int64_t)(snap->wall_ns - st->snapshots.wall_ns);
	int64_t boot = (int64_t)(snap->boot_ns - st->snapshots.boot_ns);

	return wall - boot > CLOCK_JUMP_NS || boot - wall > CLOCK_JUMP_NS;
}

static bool needs_keyframe(const struct store *st, const struct snapshot *snap)
{
	const struct keyframe *k = &st->snapshots.keyframe;
	bool is_minute = snap->wall_ns / (60 * NS_PER_S) != k->minute;

	if (!k->id || k->at >= SCHEMA_ATS - 1 || k->changes >= KEYFRAME_CHANGES ||
	    clock_has_jumped(st, snap))
		return true;
	if (!is_minute || k->at < KEYFRAME_SHORT)
		return false;
	return k->at >= KEYFRAME_LONG || k->changes >= 2 * snap->procs.len;
}

static int begin_keyframe(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct snapshots_put *s = &st->snapshots;
	int64_t id = 0;

	if (s->open_keyframe)
		id = snapshot_table_end_keyframe(st, s->open_keyframe, s->last, db_time(s->wall_ns),
		                                 err);
	if (id == 0)
		id = snapshot_table_begin_keyframe(st, st->recorder, 0, s->next,
		                                   db_time(snap->wall_ns), err);
	if (id < 0)
		return (int)id;
	s->keyframe = (struct keyframe){ .id = id };
	return 0;
}

static int put_row(struct store *st, const struct snapshot *snap, struct err *err)
{
	const struct snapshots_put *s = &st->snapshots;

	return statement_run(
		st, &statements[PUT],
		BINDS(bind_int(s->next), bind_int(s->keyframe.id), bind_int(s->keyframe.at),
	              bind_real(db_time(snap->wall_ns)), bind_int(st->recorder),
	              bind_int((int64_t)(snap->boot_ns / NS_PER_US)), bind_int((int64_t)snap->seq)),
		err);
}

static int put(struct store *st, const struct snapshot *snap, struct err *err)
{
	int64_t id = statement_int(st, &statements[NEXT], NULL, 0, err);
	int r = 0;

	if (id < 0)
		return (int)id;
	st->snapshots.next = id;
	if (needs_keyframe(st, snap))
		r = begin_keyframe(st, snap, err);
	return r < 0 ? r : put_row(st, snap, err);
}

void snapshot_table_commit(struct store *st, const struct snapshot *snap)
{
	struct snapshots_put *s = &st->snapshots;

	s->open_keyframe = s->keyframe.id;
	if (s->keyframe.at++ == 0)
		st->events.nonjob_lost = 0;
	s->keyframe.minute = snap->wall_ns / (60 * NS_PER_S);
	s->last = s->next;
	s->wall_ns = snap->wall_ns;
	s->boot_ns = snap->boot_ns;
}

/* SQLite drops the outer join for queries that use no column of it. */
static void put_snapshots(struct buf *sql)
{
	buf_puts(sql, "CREATE VIEW snapshots AS SELECT s.id AS id, s.time AS timestamp,"
	              " (SELECT r.pid FROM recorder r WHERE r.id = s.recorder) AS daemon_pid");
	column_select(sql, &host_metrics[HOST_MEM_TOTAL], "h", "");
	column_select(sql, &host_metrics[HOST_MEM_AVAILABLE], "h", "");
	column_select(sql, &host_metrics[HOST_MEM_USED], "h", "");
	column_select(sql, &host_metrics[HOST_SELF_RSS], "h", "");
	buf_puts(sql, ", h.processes AS child_count, h.zombies AS zombie_count");
	column_select(sql, &host_metrics[HOST_LOAD_1], "h", "");
	column_select(sql, &host_metrics[HOST_LOAD_5], "h", "");
	column_select(sql, &host_metrics[HOST_LOAD_15], "h", "");
	gpu_table_put_snapshot_columns(sql);
	buf_puts(sql, ", ");
	column_put_case(sql, "h.pressure", schema_pressure_names, SCHEMA_PRESSURES);
	buf_puts(sql, " AS pressure_level, h.running_jobs AS running_jobs,"
	              " h.active_sheets AS active_sheets, s.recorder AS recorder,"
	              " (SELECT r.kind FROM recorder r WHERE r.id = s.recorder) AS recorder_kind"
	              " FROM snapshot s LEFT JOIN host h ON h.id = s.id");
}

static const struct view views[] = { { "snapshots", put_snapshots }, { 0 } };

const char snapshot_table_end_keyframes[] =
	"UPDATE keyframe SET (last, ends) = (SELECT s.id, s.time FROM snapshot s"
	" WHERE s.id >= keyframe.first AND s.kf = keyframe.id ORDER BY s.id DESC LIMIT 1)"
	" WHERE recorder = ?1 AND last IS NULL";

static const struct table_ids ids[] = {
	{ "snapshot",
	  { { "id", ID_SNAPSHOT }, { "kf", ID_KEYFRAME }, { "recorder", ID_RECORDER } } },
	{ "keyframe",
	  { { "id", ID_KEYFRAME },
	    { "recorder", ID_RECORDER },
	    { "first", ID_SNAPSHOT },
	    { "last", ID_SNAPSHOT } } },
	{ 0 },
};

const struct store_table snapshot_table = {
	.name = "snapshot",
	.migrations = migrations,
	.statements = statements,
	.put = put,
	.views = views,
	.stats = stats,
	.ids = ids,
};
