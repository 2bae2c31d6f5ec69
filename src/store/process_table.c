/* SPDX-License-Identifier: MIT */
/* The processes of a snapshot against those of the one before. Both are in the order of their
 * pids, so one walk pairs them; only what changed is written. The list of the living is replaced
 * on commit only: after a rollback the next snapshot is compared with what is really stored. */
#include <errno.h>
#include <string.h>

#include "store/store_handle.h"

#define LIVES_MAX PROCS_MAX
#define LIVES_SMALL 1024    /* of so many most may well be free */
#define KNOWN_DEAD_MAX 4096 /* past it the cache keeps the living only */

static_assert(PROC_RSS == 0, "the first cell of a metric is the resident memory");

uint64_t store_hash(uint64_t seed, const void *bytes, size_t n)
{
	const unsigned char *at = bytes;
	uint64_t h = seed ^ 0xcbf29ce484222325u;

	for (; n >= 8; at += 8, n -= 8) {
		uint64_t word;

		memcpy(&word, at, 8);
		h = (h ^ word) * 0x9E3779B97F4A7C15u;
		h ^= h >> 29;
	}
	for (; n; at++, n--)
		h = (h ^ *at) * 0x100000001b3u;
	h ^= h >> 32;
	return h ? h : 1;
}

static void read_process(const struct store *st, const struct proc_snap *p, struct reading *to)
{
	to->present = p->s.r.present;
	to->cpu_time_ns = readings_or(&p->s.r, PROC_CPU_TIME, 0);
	memcpy(&to->cpu_ratio, &p->cpu_ratio, sizeof to->cpu_ratio);
	to->state = (unsigned char)p->s.state;
	for (size_t i = 0; i < CELL_METRICS; i++)
		to->value[i] = p->s.r.value[st->columns.cell[i]];
}

static void make_cells(const struct store *st, const struct reading *from,
                       int64_t cells[CELL_COUNT])
{
	double cpu_ratio;

	memcpy(&cpu_ratio, &from->cpu_ratio, sizeof cpu_ratio);
	cells[CELL_STATE] = column_state_code((char)from->state);
	cells[CELL_CPU] = column_ratio(cpu_ratio);
	for (size_t i = 0; i < CELL_METRICS; i++) {
		uint8_t id = st->columns.cell[i];

		cells[CELL_FIRST_METRIC + i] = from->present >> id & 1
		                                       ? column_value(&proc_metrics[id],
		                                                      from->value[i])
		                                       : COLUMN_ABSENT;
	}
}

static void read_totals(const struct store *st, const struct proc_readings *r, struct life *life)
{
	for (size_t i = 0; i < TOTAL_METRICS; i++) {
		uint8_t id = st->columns.total[i];

		if (readings_has(r, id))
			life->total[i] = column_value(&proc_metrics[id], r->value[id]);
	}
}

int64_t process_new_id(struct store *st, struct err *err)
{
	int64_t id = st->next_process ? st->next_process : statement_int(st, Q_NEXT_PROCESS, err);

	if (id < 0)
		return id;
	/* Another process of this keyframe may sit in the slot, a million processes ago. */
	while (st->slots && st->slots[id % SCHEMA_SLOTS / 64] >> (id % 64) & 1)
		id++;
	st->next_process = id + 1;
	return id;
}

static bool slot_is_free(const struct store *st, int64_t proc)
{
	return !(st->slots[proc % SCHEMA_SLOTS / 64] >> (proc % 64) & 1);
}

static void slot_take(struct store *st, int64_t proc)
{
	st->slots[proc % SCHEMA_SLOTS / 64] |= UINT64_C(1) << (proc % 64);
}

static const char *job_name(const struct snapshot *snap, int32_t job)
{
	return job >= 0 && (size_t)job < snap->jobs.len ? snap->jobs.at[job].id : NULL;
}

static uint64_t job_hash(const struct snapshot *snap, const struct proc_snap *p)
{
	const char *name = job_name(snap, p->job);

	return name ? store_hash(p->sheet, name, strlen(name)) : 1;
}

static uint64_t command_hash(const struct snapshot *snap, const struct proc_sample *s)
{
	uint64_t h = store_hash(s->uid, s->comm, COMM_LEN);

	return store_hash(h, snapshot_text(snap, s->command), s->command.len);
}

static void bind_job(sqlite3_stmt *stmt, int index, const struct snapshot *snap,
                     const struct proc_snap *p)
{
	const char *name = job_name(snap, p->job);

	sqlite3_bind_text(stmt, index, name, -1, SQLITE_STATIC);
	db_bind_or_null(stmt, index + 1, name && p->sheet ? (int64_t)p->sheet : COLUMN_ABSENT);
}

/* The kernel tells it to a tick. A process of a job did not begin before that or before its
 * parent, of which more may be known. */
static double start_of(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                       struct err *err)
{
	uint64_t began_ns = snap->wall_ns - MIN(p->age_ns, snap->wall_ns);
	sqlite3_stmt *stmt;
	double parent = 0;

	if (p->job < 0 || (size_t)p->job >= snap->jobs.len)
		return db_time(began_ns);
	began_ns = snapshot_hold_to_job(&snap->jobs.at[p->job], began_ns);
	stmt = statement_get(st, Q_PARENT_STARTED, err);
	if (!stmt)
		return db_time(began_ns);
	sqlite3_bind_int64(stmt, 1, p->s.ppid);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_double(stmt, 3, db_time(began_ns + NS_PER_TICK));
	if (db_step(stmt, err) > 0)
		parent = sqlite3_column_double(stmt, 0);
	sqlite3_reset(stmt);
	return MAX(db_time(began_ns), parent);
}

static int insert_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                          struct life *life, int64_t snapshot, struct err *err)
{
	double began = start_of(st, snap, p, err);
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_PROCESS, err);
	int64_t id = process_new_id(st, err);

	if (!stmt || id < 0)
		return -err->code;
	life->proc = id;
	sqlite3_bind_int64(stmt, 1, id);
	sqlite3_bind_int64(stmt, 2, st->recorder);
	sqlite3_bind_int64(stmt, 3, p->s.id.pid);
	sqlite3_bind_int64(stmt, 4, p->s.ppid);
	sqlite3_bind_int64(stmt, 5, (int64_t)p->s.id.start_ticks);
	sqlite3_bind_int64(stmt, 6, snapshot);
	bind_job(stmt, 7, snap, p);
	sqlite3_bind_double(stmt, 9, began);
	sqlite3_bind_int64(stmt, 10, p->s.uid);
	db_bind_text(stmt, 11, p->s.comm, COMM_LEN);
	db_bind_text(stmt, 12, snapshot_text(snap, p->s.command),
	             MIN(p->s.command.len, COMMAND_MAX));
	sqlite3_bind_null(stmt, 13);
	return db_run(stmt, err);
}

int64_t process_find(struct store *st, enum statement query, struct proc_id id, struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, query, err);
	int64_t found = 0;
	int r;

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, id.pid);
	sqlite3_bind_int64(stmt, 2, (int64_t)id.start_ticks);
	sqlite3_bind_int64(stmt, 3, st->recorder);
	r = db_step(stmt, err);
	if (r > 0)
		found = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : found;
}

static int begin_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                         struct life *life, int64_t snapshot, struct err *err)
{
	/* An event may have made a row for it before it was first seen. */
	int64_t found = st->snapshot ? process_find(st, Q_FIND_UNSEEN, p->s.id, err) : 0;
	sqlite3_stmt *stmt = statement_get(st, Q_SET_SEEN, err);
	int r;

	if (found < 0 || !stmt)
		return -err->code;
	memcpy(life->comm, p->s.comm, COMM_LEN);
	if (found && slot_is_free(st, found)) {
		life->proc = found;
		sqlite3_bind_int64(stmt, 1, found);
		sqlite3_bind_int64(stmt, 2, snapshot);
		r = db_run(stmt, err);
	} else {
		life->command_hash = command_hash(snap, &p->s);
		life->job_hash = job_hash(snap, p);
		r = insert_process(st, snap, p, life, snapshot, err);
	}
	if (r == 0)
		map_put(&st->known, proc_key(p->s.id), (uint64_t)life->proc);
	return r;
}

static int put_base(struct store *st, struct life *life, const int64_t cells[CELL_COUNT],
                    struct err *err)
{
	memcpy(life->base, cells, sizeof life->base);
	memcpy(life->last, cells, sizeof life->last);
	life->has_changed = false;
	slot_take(st, life->proc);
	st->keyframe.changes += st->keyframe.at > 0; /* born within it */
	return sample_rows_put_base(st, st->keyframe.id, life->proc, cells, err);
}

static int put_change(struct store *st, struct life *life, const int64_t cells[CELL_COUNT],
                      struct err *err)
{
	struct keyframe *k = &st->keyframe;
	int r = life->has_changed ? 0 : sample_rows_set_changed(st, k->id, life->proc, k->at, err);

	if (r < 0)
		return r;
	life->has_changed = true;
	memcpy(life->last, cells, sizeof life->last);
	k->changes++;
	return sample_rows_put_change(st, sample_rows_id(k->id, life->proc, k->at), life->base,
	                              cells, err);
}

/* Whatever runs has these changed, and its cell of CPU says so already. */
static bool is_noise(uint8_t id)
{
	return id == PROC_CPU_TIME || id == PROC_MINOR_FAULTS;
}

/* Details are kept for processes of jobs only: of all others the totals at the end tell enough. */
static int put_detail(struct store *st, struct life *life, const struct proc_snap *p, bool is_full,
                      struct err *err)
{
	int64_t values[DETAIL_METRICS];
	bool any = false;
	uint64_t hash = 1;

	for (size_t i = 0; i < DETAIL_METRICS; i++) {
		uint8_t id = st->columns.detail[i];

		values[i] = readings_has(&p->s.r, id)
		                    ? column_value(&proc_metrics[id], p->s.r.value[id])
		                    : COLUMN_ABSENT;
		any = any || values[i] >= 0;
		if (!is_noise(id))
			hash = store_hash(hash, &values[i], sizeof values[i]);
	}
	if (!any || (hash == life->detail_hash && !is_full))
		return 0;
	life->detail_hash = hash;
	return sample_rows_put_detail(
		st, sample_rows_id(st->keyframe.id, life->proc, st->keyframe.at), values, err);
}

static uint64_t totals_hash(const struct life *life)
{
	uint64_t h = store_hash((uint64_t)life->max_cpu, life->total, sizeof life->total);

	return store_hash(h, &life->max_rss_kib, sizeof life->max_rss_kib);
}

int live_flush_totals(struct store *st, struct life *life, struct err *err)
{
	uint64_t hash = totals_hash(life);
	sqlite3_stmt *stmt;

	if (hash == life->totals_hash)
		return 0;
	stmt = statement_get(st, Q_SET_TOTALS, err);
	if (!stmt)
		return -err->code;
	life->totals_hash = hash;
	sqlite3_bind_int64(stmt, 1, life->proc);
	db_bind_or_null(stmt, 2, life->max_cpu);
	db_bind_or_null(stmt, 3, life->max_rss_kib);
	for (int i = 0; i < (int)TOTAL_METRICS; i++)
		db_bind_or_null(stmt, 4 + i, life->total[i]);
	sqlite3_bind_int64(stmt, 4 + TOTAL_METRICS, 0);
	return db_run(stmt, err);
}

/* "[name]" stands for a command line that is not there, and who is dying has lost it. */
static bool has_command_line(const struct snapshot *snap, const struct proc_sample *s)
{
	return s->command.len && snapshot_text(snap, s->command)[0] != '[';
}

static int put_command(struct store *st, const struct snapshot *snap, const struct proc_sample *s,
                       struct life *life, struct err *err)
{
	uint64_t hash = command_hash(snap, s);
	sqlite3_stmt *stmt;

	memcpy(life->comm, s->comm, COMM_LEN);
	if (hash == life->command_hash)
		return 0;
	stmt = statement_get(st, has_command_line(snap, s) ? Q_SET_COMMAND : Q_SET_NAME, err);
	if (!stmt)
		return -err->code;
	life->command_hash = hash;
	sqlite3_bind_int64(stmt, 1, life->proc);
	sqlite3_bind_int64(stmt, 2, s->uid);
	db_bind_text(stmt, 3, s->comm, COMM_LEN);
	db_bind_text(stmt, 4, snapshot_text(snap, s->command), MIN(s->command.len, COMMAND_MAX));
	return db_run(stmt, err);
}

/* Who it is may change too: exec gives it another command, and a job may be told late. The
 * command line is looked at when the name differs and at keyframes: hashing a thousand of them
 * each tick costs more than all the rest. */
static int put_identity(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                        struct life *life, bool is_keyframe, struct err *err)
{
	uint64_t job = p->job >= 0 || life->job_hash != 1 ? job_hash(snap, p) : 1;
	sqlite3_stmt *stmt;
	int r = 0;

	if (is_keyframe || memcmp(life->comm, p->s.comm, COMM_LEN) != 0)
		r = put_command(st, snap, &p->s, life, err);
	if (r < 0 || job == life->job_hash)
		return r;
	stmt = statement_get(st, Q_SET_JOB, err);
	if (!stmt)
		return -err->code;
	life->job_hash = job;
	sqlite3_bind_int64(stmt, 1, life->proc);
	bind_job(stmt, 2, snap, p);
	return db_run(stmt, err);
}

static int put_cells(struct store *st, const struct proc_snap *p, const struct reading *reading,
                     struct life *life, bool is_full, struct err *err)
{
	int64_t cells[CELL_COUNT];
	int r = 0;

	life->reading = *reading;
	make_cells(st, reading, cells);
	read_totals(st, &p->s.r, life);
	life->max_rss_kib = MAX(life->max_rss_kib, cells[CELL_FIRST_METRIC]);
	if (st->keyframe.at == 0)
		r = live_flush_totals(st, life, err);
	if (r < 0)
		return r;
	if (is_full)
		return put_base(st, life, cells, err);
	return memcmp(cells, life->last, sizeof cells) ? put_change(st, life, cells, err) : 0;
}

/* That it did nothing in the moment before it was first seen says nothing of how busy it was. */
static void take_max_cpu(struct life *life, const struct proc_snap *p, bool is_new)
{
	int64_t cpu = column_ratio(p->cpu_ratio);

	if (cpu > 0 || !is_new)
		life->max_cpu = MAX(life->max_cpu, cpu);
}

static int put_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                       struct life *life, bool is_new, struct err *err)
{
	bool is_full = is_new || st->keyframe.at == 0;
	struct reading reading = { 0 };
	int r = put_identity(st, snap, p, life, is_full, err);

	if (r < 0)
		return r;
	read_process(st, p, &reading);
	take_max_cpu(life, p, is_new);
	if (is_full || memcmp(&reading, &life->reading, sizeof reading) != 0)
		r = put_cells(st, p, &reading, life, is_full, err);
	if (r == 0 && p->job >= 0)
		r = put_detail(st, life, p, is_full, err);
	return r;
}

/* There are never more than PROCS_MAX: the snapshot has no more, and the pool grows with it. */
static void push_index(struct index_list *list, uint32_t index)
{
	uint32_t *slot = vec_push(list, 2 * LIVES_MAX);

	if (slot)
		*slot = index;
}

static uint32_t new_life(struct store *st, struct proc_id id)
{
	uint32_t at;

	if (st->free_lives.len) {
		at = st->free_lives.at[--st->free_lives.len];
	} else {
		at = (uint32_t)st->lives.len;
		vec_push(&st->lives, 2 * LIVES_MAX);
	}
	st->lives.at[at] = (struct life){ .id = id,
		                          .max_cpu = COLUMN_ABSENT,
		                          .max_rss_kib = COLUMN_ABSENT };
	for (size_t i = 0; i < TOTAL_METRICS; i++)
		st->lives.at[at].total[i] = COLUMN_ABSENT;
	return at;
}

/* It was there at the previous snapshot and is not any more. */
static int end_life(struct store *st, struct life *life, const struct snapshot *snap,
                    struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_SET_LAST, err);
	int r = stmt ? live_flush_totals(st, life, err) : -err->code;

	if (r < 0)
		return r;
	sqlite3_bind_int64(stmt, 1, life->proc);
	sqlite3_bind_int64(stmt, 2, st->snapshot);
	if (snap->procs_complete)
		sqlite3_bind_double(stmt, 3, db_time(snap->wall_ns));
	else
		sqlite3_bind_null(stmt, 3); /* out of sight is not dead */
	return db_run(stmt, err);
}

/* The next of those written before, with all whose pids come before `pid` ended; NULL when that
 * pid is new. */
static int match_life(struct store *st, const struct snapshot *snap, struct proc_id id, size_t *at,
                      uint32_t *ret, bool *ret_is_new, struct err *err)
{
	for (; *at < st->live.len; (*at)++) {
		struct life *life = &st->lives.at[st->live.at[*at]];
		int r;

		if (life->id.pid > id.pid)
			break;
		if (proc_id_eq(life->id, id)) {
			*ret = st->live.at[(*at)++];
			*ret_is_new = false;
			return 0;
		}
		r = end_life(st, life, snap, err);
		if (r < 0)
			return r;
	}
	*ret = new_life(st, id);
	*ret_is_new = true;
	return 0;
}

static int put_one(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                   size_t *at, int64_t snapshot, struct err *err)
{
	struct life *life;
	uint32_t index;
	bool is_new;
	int r = match_life(st, snap, p->s.id, at, &index, &is_new, err);

	if (r < 0)
		return r;
	push_index(&st->next, index);
	life = &st->lives.at[index];
	if (is_new) {
		life->is_fresh = true;
		r = begin_process(st, snap, p, life, snapshot, err);
	}
	return r < 0 ? r : put_process(st, snap, p, life, is_new, err);
}

int live_put(struct store *st, const struct snapshot *snap, int64_t id, struct err *err)
{
	size_t at = 0;
	int r;

	vec_reset(&st->next);
	if (st->keyframe.at == 0) {
		if (!st->slots)
			st->slots = xcalloc(SCHEMA_SLOTS / 64, sizeof *st->slots);
		else
			memset(st->slots, 0, SCHEMA_SLOTS / 8);
		vec_each(&st->live, i)
			slot_take(st, st->lives.at[*i].proc);
	}
	if (!vec_reserve(&st->next, snap->procs.len, LIVES_MAX))
		return err_set(err, E2BIG, "%zu processes are too many", snap->procs.len);
	vec_each(&snap->procs, p) {
		r = put_one(st, snap, p, &at, id, err);
		if (r < 0)
			return r;
	}
	for (; at < st->live.len; at++) {
		r = end_life(st, &st->lives.at[st->live.at[at]], snap, err);
		if (r < 0)
			return r;
	}
	return 0;
}

static void free_unless_next(struct store *st)
{
	size_t at = 0;

	/* Both are in the order of pids; one that is in both is there with the same index. */
	vec_each(&st->live, i) {
		pid_t pid = st->lives.at[*i].id.pid;

		while (at < st->next.len && st->lives.at[st->next.at[at]].id.pid < pid)
			at++;
		if (at < st->next.len && st->next.at[at] == *i)
			continue;
		push_index(&st->free_lives, *i);
	}
}

/* After a crowd: those which are left, in the order of their pids, and no free ones. */
static void move_together(struct store *st)
{
	typeof(st->lives) left = { 0 };

	vec_reserve(&left, st->live.len, LIVES_MAX);
	vec_each(&st->live, i) {
		left.at[left.len] = st->lives.at[*i];
		*i = (uint32_t)left.len++;
	}
	vec_done(&st->lives);
	st->lives = left;
	vec_done(&st->free_lives);
	vec_shrink(&st->live);
}

void live_commit(struct store *st)
{
	struct index_list swap;

	free_unless_next(st);
	vec_each(&st->next, i)
		st->lives.at[*i].is_fresh = false;
	swap = st->live;
	st->live = st->next;
	st->next = swap;
	vec_relax(&st->next);
	if (st->lives.len > LIVES_SMALL && st->live.len < st->lives.len / 4)
		move_together(st);
	live_trim_known(st);
}

void live_trim_known(struct store *st)
{
	if (st->known.len <= 2 * st->live.len + KNOWN_DEAD_MAX)
		return;
	map_reset(&st->known);
	vec_each(&st->live, i)
		map_put(&st->known, proc_key(st->lives.at[*i].id), (uint64_t)st->lives.at[*i].proc);
	map_shrink(&st->known);
}

void live_forget(struct store *st)
{
	vec_each(&st->next, i)
		if (st->lives.at[*i].is_fresh)
			push_index(&st->free_lives, *i);
	vec_reset(&st->next);
	map_reset(&st->known);
	vec_each(&st->live, i) {
		struct life *life = &st->lives.at[*i];

		life->command_hash = life->job_hash = life->totals_hash = life->detail_hash = 0;
		map_put(&st->known, proc_key(life->id), (uint64_t)life->proc);
	}
	st->keyframe.id = 0;
	st->next_process = 0;
}

void live_reset(struct store *st)
{
	vec_reset(&st->lives);
	vec_reset(&st->free_lives);
	vec_reset(&st->live);
	vec_reset(&st->next);
	vec_reset(&st->jobs);
	map_reset(&st->job_index);
	map_reset(&st->known);
	st->keyframe.id = st->keyframe_open = 0;
	st->next_process = 0;
	st->snapshot = 0;
}
