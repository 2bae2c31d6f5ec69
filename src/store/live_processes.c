/* SPDX-License-Identifier: MIT */
/* The processes of a snapshot against those of the one before. Both are in the order of their
 * pids, so one walk pairs them; only what changed is written. The list of live processes is replaced
 * on commit only: after a rollback the next snapshot is compared with what is really stored. */
#include "store/live_processes.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/json.h"
#include "store/process_table.h"
#include "store/sample_table.h"
#include "store/store_handle.h"

#define LIVES_MAX PROCS_MAX
#define LIVES_SMALL 1024 /* a pool of this size may well be mostly free */
/* The approximate size of rows, as it counts for their user's quota. */
#define PROCESS_BYTES 200
#define BASE_BYTES 90
#define CHANGE_BYTES 40
#define DETAIL_BYTES 60
#define KNOWN_DEAD_MAX 4096 /* above it the cache keeps live processes only */

static_assert(PROC_RSS == 0, "the first cell of a metric is the resident memory");

static void read_process(const struct store *st, const struct proc_snap *p, struct reading *to)
{
	to->present = p->s.r.present;
	to->cpu_time_ns = readings_or(&p->s.r, PROC_CPU_TIME, 0);
	memcpy(&to->cpu_ratio, &p->cpu_ratio, sizeof to->cpu_ratio);
	to->state = (unsigned char)p->s.state;
	to->sheet = p->job >= 0 ? p->sheet : 0;
	for (size_t i = 0; i < CELL_METRICS; i++)
		to->value[i] = p->s.r.value[st->cells.id[i]];
}

static void make_cells(const struct store *st, const struct reading *from,
                       int64_t cells[CELL_COUNT])
{
	double cpu_ratio;

	memcpy(&cpu_ratio, &from->cpu_ratio, sizeof cpu_ratio);
	cells[CELL_STATE] = column_state_code((char)from->state);
	cells[CELL_SHEET] = (int64_t)from->sheet;
	cells[CELL_CPU] = column_ratio(cpu_ratio);
	for (size_t i = 0; i < CELL_METRICS; i++) {
		uint8_t id = st->cells.id[i];

		cells[CELL_FIRST_METRIC + i] = from->present >> id & 1
		                                       ? column_value(&proc_metrics[id],
		                                                      from->value[i])
		                                       : COLUMN_ABSENT;
	}
}

static void read_totals(const struct store *st, const struct proc_readings *r, struct life *life)
{
	int64_t total[TOTAL_METRICS];

	column_set_values(&st->totals, r->present, r->value, total);
	for (size_t i = 0; i < TOTAL_METRICS; i++)
		if (total[i] >= 0)
			life->total[i] = total[i];
}

static bool slot_is_free(const struct live_processes *l, int64_t proc)
{
	return !(l->slots[proc % SCHEMA_SLOTS / 64] >> (proc % 64) & 1);
}

static void take_slot(struct live_processes *l, int64_t proc)
{
	l->slots[proc % SCHEMA_SLOTS / 64] |= UINT64_C(1) << (proc % 64);
}

int64_t live_processes_new_id(struct store *st, struct err *err)
{
	struct live_processes *l = &st->processes;
	int64_t id = l->next_process ? l->next_process : process_table_next_id(st, err);

	if (id < 0)
		return id;
	/* A process of this keyframe may have the same slot, from a million processes ago. */
	while (l->slots && !slot_is_free(l, id))
		id++;
	l->next_process = id + 1;
	return id;
}

static uint64_t command_hash(const struct snapshot *snap, const struct proc_sample *s)
{
	uint64_t h = hash_bytes(HASH_SEED ^ s->uid, s->comm, COMM_LEN);

	return hash_bytes(h, snapshot_string(snap, s->command), s->command.len);
}

/* The kernel reports it in ticks. A process of a job did not begin before the job or before its
 * parent, whose start may be known more precisely. */
static double start_of(struct store *st, const struct snapshot *snap, const struct proc_snap *p)
{
	uint64_t began_ns = snap->wall_ns - MIN(p->age_ns, snap->wall_ns);

	if (p->job < 0 || (size_t)p->job >= snap->jobs.len)
		return db_time(began_ns);
	began_ns = snapshot_hold_to_job(&snap->jobs.at[p->job], began_ns);
	return MAX(db_time(began_ns),
	           process_table_parent_started(st, p->s.ppid, db_time(began_ns + NS_PER_TICK)));
}

static int add_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                       struct life *life, struct err *err)
{
	const struct process_row row = {
		.id = p->s.id,
		.ppid = p->s.ppid,
		.first = st->snapshots.next,
		.job = job_table_row(st, p->job),
		.sheet = p->sheet,
		.is_joined = p->is_joined,
		.uid = p->s.uid,
		.started = start_of(st, snap, p),
		.comm = p->s.comm,
		.command = snapshot_string(snap, p->s.command),
		.command_len = MIN(p->s.command.len, COMMAND_MAX),
	};
	int64_t id = process_table_add(st, &row, err);

	if (id < 0)
		return (int)id;
	store_quota_add(st, life->payer, PROCESS_BYTES + row.command_len);
	life->proc = id;
	return 0;
}

static int begin_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                         struct life *life, struct err *err)
{
	/* An event may have made a row for it before it was first seen. */
	int64_t found = st->snapshots.last ? process_table_find(st, p->s.id, true, err) : 0;
	int r;

	if (found < 0)
		return (int)found;
	memcpy(life->comm, p->s.comm, COMM_LEN);
	if (found && slot_is_free(&st->processes, found)) {
		life->proc = found;
		r = process_table_set_seen(st, found, st->snapshots.next, err);
	} else {
		life->command_hash = command_hash(snap, &p->s);
		life->job = job_table_row(st, p->job);
		life->sheet = p->sheet;
		r = add_process(st, snap, p, life, err);
	}
	if (r == 0)
		map_put(&st->processes.known, proc_key(p->s.id), (uint64_t)life->proc);
	return r;
}

static int put_base(struct store *st, struct life *life, const int64_t cells[CELL_COUNT],
                    struct err *err)
{
	memcpy(life->base, cells, sizeof life->base);
	memcpy(life->last, cells, sizeof life->last);
	life->has_changed = false;
	take_slot(&st->processes, life->proc);
	st->snapshots.keyframe.changes += st->snapshots.keyframe.at > 0; /* born within it */
	return sample_table_put_base(st, st->snapshots.keyframe.id, life->proc, cells, err);
}

static int put_change(struct store *st, struct life *life, const int64_t cells[CELL_COUNT],
                      struct err *err)
{
	struct keyframe *k = &st->snapshots.keyframe;
	int r = life->has_changed ? 0 : sample_table_set_changed(st, k->id, life->proc, k->at, err);

	if (r < 0)
		return r;
	life->has_changed = true;
	memcpy(life->last, cells, sizeof life->last);
	k->changes++;
	return sample_table_put_change(st, sample_table_id(k->id, life->proc, k->at), life->base,
	                               cells, err);
}

/* These change whenever a process runs, which its CPU cell already shows. */
static bool is_noise(uint8_t id)
{
	return id == PROC_CPU_TIME || id == PROC_MINOR_FAULTS;
}

/* Details are kept for processes of jobs only: for all others the totals at the end are enough. */
static int put_detail(struct store *st, struct life *life, const struct proc_snap *p, bool is_full,
                      struct err *err)
{
	int64_t values[DETAIL_METRICS];
	bool any = false;
	uint64_t hash = HASH_SEED;

	column_set_values(&st->details, p->s.r.present, p->s.r.value, values);
	for (size_t i = 0; i < DETAIL_METRICS; i++) {
		any = any || values[i] >= 0;
		if (!is_noise(st->details.id[i]))
			hash = hash_bytes(hash, &values[i], sizeof values[i]);
	}
	if (!any ||
	    (!is_full && (hash == life->detail_hash || !store_quota_is_due(st, life->payer))))
		return 0;
	life->detail_hash = hash;
	store_quota_add(st, life->payer, DETAIL_BYTES);
	return sample_table_put_detail(
		st,
		sample_table_id(st->snapshots.keyframe.id, life->proc, st->snapshots.keyframe.at),
		values, err);
}

static uint64_t totals_hash(const struct life *life)
{
	uint64_t h = hash_bytes(HASH_SEED ^ (uint64_t)life->max_cpu, life->total,
	                        sizeof life->total);

	return hash_bytes(h, &life->max_rss_kib, sizeof life->max_rss_kib);
}

static int flush_totals(struct store *st, struct life *life, struct err *err)
{
	uint64_t hash = totals_hash(life);

	if (hash == life->totals_hash)
		return 0;
	life->totals_hash = hash;
	return process_table_set_totals(
		st, life->proc,
		&(const struct process_totals){ life->max_cpu, life->max_rss_kib, life->total, 0 },
		err);
}

int live_processes_flush_totals(struct store *st, const struct index_list *list, int64_t job,
                                struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < list->len; i++) {
		struct life *life = &st->processes.lives.at[list->at[i]];

		if (!job || life->job == job)
			r = flush_totals(st, life, err);
	}
	return r;
}

static void put_number(struct json *j, int64_t value)
{
	if (value < 0)
		json_nil(j);
	else
		json_i64(j, value);
}

static int64_t total_of(const struct store *st, const struct life *life, enum proc_metric id)
{
	for (size_t i = 0; i < TOTAL_METRICS; i++)
		if (st->totals.id[i] == id)
			return life->total[i];
	return COLUMN_ABSENT;
}

/* A row of a process is written once per keyframe: writing it at every tick would take a page of the
 * disk for every few processes. What those of jobs used since is a short text in the row of their
 * job, whose page is written anyway. SCHEMA_LATEST reads it. */
static void add_to_latest(struct store *st, int32_t job, const struct life *life)
{
	struct live_processes *l = &st->processes;
	struct json j = { 0 };

	if (totals_hash(life) == life->totals_hash)
		return;
	while (l->latest.len <= (size_t)job)
		if (!vec_push(&l->latest, JOBS_MAX))
			return;
	j.out = &l->latest.at[job];
	j.need_comma = j.out->len > 0;
	if (!j.out->len)
		json_begin_array(&j);
	json_begin_array(&j);
	put_number(&j, life->id.pid);
	put_number(&j, (int64_t)life->id.start_ticks);
	put_number(&j, life->max_cpu);
	put_number(&j, life->max_rss_kib);
	put_number(&j, total_of(st, life, PROC_CPU_TIME));
	put_number(&j, total_of(st, life, PROC_PEAK_RSS));
	put_number(&j, total_of(st, life, PROC_READ_BYTES));
	put_number(&j, total_of(st, life, PROC_WRITE_BYTES));
	json_end_array(&j);
}

static int put_latest(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct live_processes *l = &st->processes;
	int r = 0;

	for (size_t i = 0; r == 0 && i < MIN(snap->jobs.len, l->latest.len); i++) {
		struct buf *text = &l->latest.at[i];
		uint32_t payer = store_quota_payer(snap, (int32_t)i, 0);

		if (!store_quota_is_due(st, payer))
			continue;
		store_quota_add(st, payer, text->len);
		if (text->len)
			buf_puts(text, "]");
		r = job_table_put_latest(st, &snap->jobs.at[i], text, err);
	}
	return r;
}

/* "[name]" stands for a missing command line; a process that is ending has lost its own. */
static bool has_command_line(const struct snapshot *snap, const struct proc_sample *s)
{
	return s->command.len && snapshot_string(snap, s->command)[0] != '[';
}

static int put_command(struct store *st, const struct snapshot *snap, const struct proc_sample *s,
                       struct life *life, struct err *err)
{
	uint64_t hash = command_hash(snap, s);

	memcpy(life->comm, s->comm, COMM_LEN);
	if (hash == life->command_hash)
		return 0;
	life->command_hash = hash;
	return process_table_set_command(st, life->proc, s->uid, s->comm,
	                                 snapshot_string(snap, s->command), s->command.len,
	                                 !has_command_line(snap, s), err);
}

static int forget_memory(struct store *st, struct life *life, struct err *err)
{
	life->max_rss_kib = COLUMN_ABSENT;
	for (size_t i = 0; i < TOTAL_METRICS; i++)
		if (st->totals.id[i] == PROC_PEAK_RSS)
			life->total[i] = COLUMN_ABSENT;
	return process_table_set_exec(st, life->proc, err);
}

/* Without an event, where its code begins shows it; that is not known in the middle of an exec, and
 * hidden from us in programs of others: there it is another name. A zombie without an event keeps the
 * name and the memory of what it was seen to run. */
static int notice_exec(struct store *st, const struct snapshot *snap, const struct proc_sample *s,
                       struct life *life, struct err *err)
{
	bool has_name = !s->exec_id && has_command_line(snap, s) &&
	                memcmp(s->comm, life->comm, COMM_LEN) != 0;
	bool has_changed = life->exec_id &&
	                   (has_name || (s->exec_id && s->exec_id != life->exec_id));

	if (s->exec_id || has_changed)
		life->exec_id = s->exec_id;
	return has_changed ? forget_memory(st, life, err) : 0;
}

/* NULL: none has this pid. */
static struct life *find_life(const struct store *st, const struct index_list *list, pid_t pid)
{
	size_t low = 0, high = list->len;

	while (low < high) {
		size_t mid = low + (high - low) / 2;
		struct life *life = &st->processes.lives.at[list->at[mid]];

		if (life->id.pid == pid)
			return life;
		if (life->id.pid < pid)
			low = mid + 1;
		else
			high = mid;
	}
	return NULL;
}

int live_processes_exec(struct store *st, const struct snapshot *snap, const struct event *e,
                        struct err *err)
{
	struct live_processes *l = &st->processes;
	struct life *now = snap->events_only ? NULL : find_life(st, &l->next, e->id.pid);
	struct life *life = now ? now : find_life(st, &l->live, e->id.pid);

	if (!life || !proc_id_eq(life->id, e->id)) /* it was never seen */
		return 0;
	/* It was seen since, with the memory of its program: a zombie has none. */
	if (now && e->boot_ns <= snap->boot_ns && now->reading.state != 'Z')
		return 0;
	return forget_memory(st, life, err);
}

/* Its identity may change too: exec gives it another command, and its job may become known late. Its
 * sheet stays the first one: those that it opens later are in its samples. The command line is compared
 * when the name differs and at keyframes: hashing a thousand of them every tick costs more than all
 * the rest. */
static int put_identity(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                        struct life *life, bool is_keyframe, struct err *err)
{
	int64_t job = job_table_row(st, p->job);
	int r = 0;

	if (is_keyframe || memcmp(life->comm, p->s.comm, COMM_LEN) != 0)
		r = put_command(st, snap, &p->s, life, err);
	if (r < 0 || !job || (job == life->job && (life->sheet || !p->sheet)))
		return r;
	life->job = job;
	life->sheet = p->sheet;
	return process_table_set_job(st, life->proc, job, p, err);
}

/* Changes that are not written now are compared again at the next tick. */
static int put_cells(struct store *st, const struct proc_snap *p, const struct reading *reading,
                     struct life *life, bool is_full, struct err *err)
{
	int64_t cells[CELL_COUNT];
	int r = 0;

	make_cells(st, reading, cells);
	read_totals(st, &p->s.r, life);
	life->max_rss_kib = MAX(life->max_rss_kib, cells[CELL_FIRST_METRIC]);
	if (st->snapshots.keyframe.at == 0)
		r = flush_totals(st, life, err);
	if (r < 0)
		return r;
	if (!is_full && memcmp(cells, life->last, sizeof cells) == 0) {
		life->reading = *reading;
		return 0;
	}
	if (!is_full && !store_quota_is_due(st, life->payer)) {
		store_quota_losses(st, life->payer)->samples++;
		return 0;
	}
	life->reading = *reading;
	store_quota_add(st, life->payer, is_full ? BASE_BYTES : CHANGE_BYTES);
	return is_full ? put_base(st, life, cells, err) : put_change(st, life, cells, err);
}

/* Every process has used some: idle moments alone do not show how busy it was. */
static void update_max_cpu(struct life *life, const struct proc_snap *p)
{
	int64_t cpu = column_ratio(p->cpu_ratio);

	if (cpu > 0)
		life->max_cpu = MAX(life->max_cpu, cpu);
}

static int put_process(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                       struct life *life, struct err *err)
{
	bool is_full = life->is_fresh || st->snapshots.keyframe.at == 0;
	struct reading reading = { 0 };
	int r = notice_exec(st, snap, &p->s, life, err);

	if (r == 0)
		r = put_identity(st, snap, p, life, is_full, err);
	if (r < 0)
		return r;
	read_process(st, p, &reading);
	update_max_cpu(life, p);
	if (is_full || memcmp(&reading, &life->reading, sizeof reading) != 0)
		r = put_cells(st, p, &reading, life, is_full, err);
	if (r < 0 || p->job < 0)
		return r;
	read_totals(st, &p->s.r, life);
	if (snap->jobs.at[p->job].status == JOB_RUNNING)
		add_to_latest(st, p->job, life);
	else
		r = flush_totals(st, life, err);
	return r < 0 ? r : put_detail(st, life, p, is_full, err);
}

/* There are never more than PROCS_MAX: the snapshot has no more, and the pool grows with it. */
static void push_index(struct index_list *list, uint32_t index)
{
	uint32_t *slot = vec_push(list, 2 * LIVES_MAX);

	if (slot)
		*slot = index;
}

static uint32_t new_life(struct live_processes *l, struct proc_id id)
{
	uint32_t at = (uint32_t)l->lives.len;

	if (l->free.len)
		at = l->free.at[--l->free.len];
	else
		vec_push(&l->lives, 2 * LIVES_MAX);
	l->lives.at[at] = (struct life){
		.id = id, .max_cpu = COLUMN_ABSENT, .max_rss_kib = COLUMN_ABSENT, .is_fresh = true
	};
	for (size_t i = 0; i < TOTAL_METRICS; i++)
		l->lives.at[at].total[i] = COLUMN_ABSENT;
	return at;
}

/* It was there at the previous snapshot and no longer is. */
static int end_life(struct store *st, struct life *life, const struct snapshot *snap,
                    struct err *err)
{
	uint64_t ended_ns = snap->procs_complete ? snap->wall_ns : 0; /* else only out of sight */
	int r = flush_totals(st, life, err);

	return r < 0 ? r
	             : process_table_set_last(st, life->proc, st->snapshots.last, ended_ns, err);
}

/* The next of those written before; all with lower pids have ended. New when none has this pid. */
static int match_life(struct store *st, const struct snapshot *snap, struct proc_id id, size_t *at,
                      uint32_t *ret, struct err *err)
{
	struct live_processes *l = &st->processes;

	for (; *at < l->live.len; (*at)++) {
		struct life *life = &l->lives.at[l->live.at[*at]];
		int r;

		if (life->id.pid > id.pid)
			break;
		if (proc_id_eq(life->id, id)) {
			*ret = l->live.at[(*at)++];
			return 0;
		}
		r = end_life(st, life, snap, err);
		if (r < 0)
			return r;
	}
	*ret = new_life(l, id);
	return 0;
}

/* A job that is over keeps the rows of its processes: one that joins a later job goes on in a row of its own. */
static int leave_past_job(struct store *st, int64_t job, uint32_t *index, struct err *err)
{
	struct life *life = &st->processes.lives.at[*index];
	struct proc_id id = life->id;
	int r;

	if (life->is_fresh || !job || !life->job || job == life->job ||
	    job_table_is_running(st, life->job))
		return 0;
	r = flush_totals(st, life, err);
	if (r == 0)
		r = process_table_set_last(st, life->proc, st->snapshots.last, 0, err);
	*index = new_life(&st->processes, id);
	return r;
}

static int put_one(struct store *st, const struct snapshot *snap, const struct proc_snap *p,
                   size_t *at, struct err *err)
{
	struct life *life;
	uint32_t index;
	int r = match_life(st, snap, p->s.id, at, &index, err);

	if (r == 0)
		r = leave_past_job(st, job_table_row(st, p->job), &index, err);
	if (r < 0)
		return r;
	push_index(&st->processes.next, index);
	life = &st->processes.lives.at[index];
	life->payer = store_quota_payer(snap, p->job, p->s.uid);
	if (life->is_fresh)
		r = begin_process(st, snap, p, life, err);
	return r < 0 ? r : put_process(st, snap, p, life, err);
}

static void begin_slots(struct live_processes *l)
{
	if (!l->slots)
		l->slots = xcalloc(SCHEMA_SLOTS / 64, sizeof *l->slots);
	else
		memset(l->slots, 0, SCHEMA_SLOTS / 8);
	vec_each(&l->live, i)
		take_slot(l, l->lives.at[*i].proc);
}

/* Those that have rows go on in them. */
static bool may_store(struct store *st, const struct snapshot *snap, const struct proc_snap *p)
{
	uint32_t payer = store_quota_payer(snap, p->job, p->s.uid);
	const struct life *life;

	if (store_quota_level(st, payer) < STORE_QUOTA_NOTHING)
		return true;
	life = find_life(st, &st->processes.live, p->s.id.pid);
	if (life && proc_id_eq(life->id, p->s.id))
		return true;
	store_quota_losses(st, payer)->samples++;
	return false;
}

int live_processes_put(struct store *st, const struct snapshot *snap, struct err *err)
{
	struct live_processes *l = &st->processes;
	size_t at = 0;
	int r = 0;

	vec_reset(&l->next);
	vec_each(&l->latest, text)
		buf_reset(text);
	if (st->snapshots.keyframe.at == 0)
		begin_slots(l);
	if (!vec_reserve(&l->next, snap->procs.len, LIVES_MAX))
		return err_set(err, E2BIG, "%zu processes are too many", snap->procs.len);
	vec_each(&snap->procs, p)
		if (r == 0 && snapshot_scope_has_proc(&snapshot_scope_ours, snap, p) &&
		    may_store(st, snap, p))
			r = put_one(st, snap, p, &at, err);
	for (; r == 0 && at < l->live.len; at++)
		r = end_life(st, &l->lives.at[l->live.at[at]], snap, err);
	return r < 0 ? r : put_latest(st, snap, err);
}

static void free_unless_next(struct live_processes *l)
{
	size_t at = 0;

	/* Both are in the order of pids; one that is in both is there with the same index. */
	vec_each(&l->live, i) {
		pid_t pid = l->lives.at[*i].id.pid;

		while (at < l->next.len && l->lives.at[l->next.at[at]].id.pid < pid)
			at++;
		if (at == l->next.len || l->next.at[at] != *i)
			push_index(&l->free, *i);
	}
}

/* After a storm: packs those that are left, in the order of their pids. */
static void move_together(struct live_processes *l)
{
	typeof(l->lives) left = { 0 };

	vec_reserve(&left, l->live.len, LIVES_MAX);
	vec_each(&l->live, i) {
		left.at[left.len] = l->lives.at[*i];
		*i = (uint32_t)left.len++;
	}
	vec_done(&l->lives);
	l->lives = left;
	vec_done(&l->free);
	vec_shrink(&l->live);
}

void live_processes_commit(struct store *st)
{
	struct live_processes *l = &st->processes;
	struct index_list swap = l->live;

	free_unless_next(l);
	vec_each(&l->next, i)
		l->lives.at[*i].is_fresh = false;
	l->live = l->next;
	l->next = swap;
	vec_relax(&l->next);
	if (l->lives.len > LIVES_SMALL && l->live.len < l->lives.len / 4)
		move_together(l);
	live_processes_trim_known(st);
}

static void fill_known(struct live_processes *l)
{
	map_reset(&l->known);
	vec_each(&l->live, i)
		map_put(&l->known, proc_key(l->lives.at[*i].id), (uint64_t)l->lives.at[*i].proc);
}

void live_processes_trim_known(struct store *st)
{
	struct live_processes *l = &st->processes;

	if (l->known.len <= 2 * l->live.len + KNOWN_DEAD_MAX)
		return;
	fill_known(l);
	map_shrink(&l->known);
}

void live_processes_roll_back(struct store *st)
{
	struct live_processes *l = &st->processes;

	vec_each(&l->next, i)
		if (l->lives.at[*i].is_fresh)
			push_index(&l->free, *i);
	vec_reset(&l->next);
	vec_each(&l->live, i) {
		struct life *life = &l->lives.at[*i];

		life->command_hash = life->totals_hash = life->detail_hash = 0;
		life->job = -1; /* unknown: is written again */
	}
	fill_known(l);
	st->snapshots.keyframe.id = 0;
	l->next_process = 0;
}

void live_processes_reset(struct store *st)
{
	struct live_processes *l = &st->processes;

	vec_reset(&l->lives);
	vec_reset(&l->free);
	vec_reset(&l->live);
	vec_reset(&l->next);
	map_reset(&l->known);
	l->next_process = 0;
}

void live_processes_done(struct live_processes *l)
{
	vec_done(&l->lives);
	vec_done(&l->free);
	vec_done(&l->live);
	vec_done(&l->next);
	map_done(&l->known);
	free(l->slots);
	vec_each(&l->latest, text)
		buf_done(text);
	vec_done(&l->latest);
}

const struct index_list *live_processes_at(const struct store *st, const struct snapshot *snap)
{
	return snap->events_only ? &st->processes.live : &st->processes.next;
}

int64_t live_processes_find_pid(const struct store *st, const struct index_list *list, pid_t pid)
{
	const struct life *life = find_life(st, list, pid);

	return life ? life->proc : 0;
}
