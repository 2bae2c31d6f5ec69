/* SPDX-License-Identifier: MIT */
/* store_kit.h - a small machine that lives by dice: processes are born, change, exec, die, and
 * pids are used again. It remembers everything it ever showed, so that a store can be asked
 * about it. */
#pragma once

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <math.h>
#include <sqlite3.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/vec.h"
#include "check.h"
#include "history/job_query.h"
#include "store/store.h"
#include "store/store_handle.h"

#define WORLD_SLOTS 40

/* Jobs of a world are root's. */
#define KEY(id) ((struct job_key){ 0, (id) })

/* A new slot, always. */
#define world_push(v)                                                                              \
	({                                                                                         \
		typeof((v)->at) pushed_ = vec_push(v, 1 << 24);                                    \
		if (!pushed_)                                                                      \
			abort();                                                                   \
		pushed_;                                                                           \
	})

struct world_proc {
	bool alive;
	struct proc_id id;
	pid_t ppid;
	char comm[COMM_LEN], command[64], state;
	double cpu; /* NAN: not known */
	uint64_t rss, vms, threads, fds, cpu_time_ns;
	bool has_fds;
	int32_t job;
	uint32_t sheet;
};

/* One process as it was shown in one snapshot. */
struct world_row {
	int64_t snapshot;
	int epoch;
	uint64_t wall_ns, boot_ns;
	struct world_proc p;
};

struct world {
	uint64_t seed, wall_ns, boot_ns, interval_ns, seq;
	pid_t first_pid;
	int epoch;      /* counts recorders, each has rows of its own for a life */
	unsigned churn; /* births and deaths in a hundred ticks of a slot */
	struct world_proc procs[WORLD_SLOTS];
	VEC(struct job) jobs;
	struct snapshot snap;
	VEC(struct world_row) rows;
};

static inline uint32_t world_dice(struct world *w, uint32_t sides)
{
	w->seed = w->seed * 6364136223846793005u + 1442695040888963407u;
	return (uint32_t)(w->seed >> 33) % sides;
}

static inline void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){ .seed = seed,
		             .wall_ns = UINT64_C(1790000000) * NS_PER_S + 250000 * NS_PER_US,
		             .boot_ns = 5000 * NS_PER_S,
		             .interval_ns = NS_PER_S,
		             .first_pid = 100,
		             .churn = 3 };
}

static inline void world_done(struct world *w)
{
	vec_done(&w->jobs);
	vec_done(&w->rows);
	snapshot_done(&w->snap);
}

static inline void world_add_job(struct world *w, const char *id)
{
	struct job *job = world_push(&w->jobs);

	snprintf(job->id, sizeof job->id, "%s", id);
	snprintf(job->type, sizeof job->type, "type");
	job->started_ns = w->wall_ns;
	job->total_sheets = 3;
}

/* Whose a life is: one of three, so that lives of a pid are of several users. */
static inline uint32_t world_uid(const struct world_proc *p)
{
	return 1000 + (uint32_t)(p->id.start_ticks / 100 % 3);
}

static inline struct event *world_event(struct world *w, enum event_kind kind,
                                        const struct world_proc *p)
{
	struct event *e = world_push(&w->snap.events);

	e->kind = kind;
	e->id = p->id;
	e->ppid = p->ppid;
	e->uid = world_uid(p);
	e->wall_ns = w->wall_ns - NS_PER_MS;
	e->boot_ns = w->boot_ns - NS_PER_MS;
	e->job = p->job;
	e->sheet = p->sheet;
	memcpy(e->comm, p->comm, COMM_LEN);
	return e;
}

static inline void world_spawn(struct world *w, size_t slot)
{
	struct world_proc *p = &w->procs[slot];

	*p = (struct world_proc){ .alive = true,
		                  .ppid = 1 + (pid_t)world_dice(w, 50),
		                  .state = 'S',
		                  .cpu = NAN,
		                  .threads = 1,
		                  .has_fds = world_dice(w, 4) > 0,
		                  .fds = 3,
		                  .job = -1 };
	p->id.pid = w->first_pid + (pid_t)slot * 3; /* the same pid for every life in this slot */
	p->id.start_ticks = w->boot_ns / NS_PER_TICK - 1;
	p->rss = (uint64_t)(1 + world_dice(w, 100000)) << 12;
	p->vms = p->rss * 3;
	snprintf(p->comm, sizeof p->comm, "proc%u", world_dice(w, 10));
	snprintf(p->command, sizeof p->command, "/bin/%s --n=%u", p->comm, world_dice(w, 1000));
	if (w->jobs.len && world_dice(w, 3) == 0) {
		p->job = (int32_t)world_dice(w, (uint32_t)w->jobs.len);
		p->sheet = world_dice(w, 4); /* 0: none */
	}
}

static inline void world_change(struct world *w, struct world_proc *p)
{
	p->state = "SSSRD"[world_dice(w, 5)];
	p->cpu = world_dice(w, 20) ? world_dice(w, 2000) / 1000.0 : NAN;
	p->rss = (uint64_t)(1 + world_dice(w, 100000)) << 12;
	if (world_dice(w, 10) == 0) {
		p->has_fds = !p->has_fds;
		p->fds = 3 + world_dice(w, 60);
	}
	if (world_dice(w, 10) == 0)
		p->threads = 1 + world_dice(w, 8);
	if (p->job >= 0 && world_dice(w, 4) == 0)
		p->sheet = world_dice(w, 4); /* it opened one, or closed it */
	if (isfinite(p->cpu))
		p->cpu_time_ns += (uint64_t)(p->cpu * 1e9);
}

static inline void world_show(struct world *w, const struct world_proc *p)
{
	struct proc_snap *s = world_push(&w->snap.procs);

	s->s.id = p->id;
	s->s.ppid = p->ppid;
	s->s.uid = world_uid(p);
	s->s.state = p->state;
	memcpy(s->s.comm, p->comm, COMM_LEN);
	s->s.command = (struct text_ref){ (uint32_t)w->snap.text.len,
		                          (uint32_t)strlen(p->command) };
	buf_puts(&w->snap.text, p->command);
	readings_set(&s->s.r, PROC_RSS, p->rss);
	readings_set(&s->s.r, PROC_VMS, p->vms);
	readings_set(&s->s.r, PROC_THREADS, p->threads);
	if (p->has_fds)
		readings_set(&s->s.r, PROC_FDS, p->fds);
	readings_set(&s->s.r, PROC_CPU_TIME, p->cpu_time_ns);
	s->cpu_ratio = p->cpu;
	s->read_bytes_per_s = s->write_bytes_per_s = NAN;
	s->age_ns = w->boot_ns - p->id.start_ticks * NS_PER_TICK;
	s->job = p->job;
	s->sheet = p->sheet;
}

static inline void world_live(struct world *w, size_t slot)
{
	struct world_proc *p = &w->procs[slot];

	if (p->alive && world_dice(w, 100) < w->churn) {
		struct event *e = world_event(w, EVENT_EXIT, p);

		e->has_exit_code = true;
		e->exit_code = (int)world_dice(w, 3);
		readings_set(&e->final, PROC_CPU_TIME, p->cpu_time_ns + NS_PER_MS);
		p->alive = false;
		if (world_dice(w, 2))
			return; /* otherwise the pid is used again at once */
	}
	if (!p->alive && world_dice(w, 100) < 2 * w->churn + 1) {
		world_spawn(w, slot);
		world_event(w, EVENT_SPAWN, p);
	} else if (p->alive && (slot % 4 == 0 || world_dice(w, 50) == 0)) {
		world_change(w, p);
	}
	if (p->alive && world_dice(w, 200) == 0) {
		snprintf(p->comm, sizeof p->comm, "exec%u", world_dice(w, 10));
		snprintf(p->command, sizeof p->command, "/bin/%s", p->comm);
	}
}

static inline void world_host(struct world *w)
{
	struct snapshot *s = &w->snap;

	readings_set(&s->host, HOST_MEM_TOTAL, UINT64_C(8) << 30);
	readings_set(&s->host, HOST_MEM_AVAILABLE,
	             (UINT64_C(4) << 30) + ((uint64_t)world_dice(w, 1000) << 12));
	readings_set(&s->host, HOST_LOAD_1, world_dice(w, 4000));
	readings_set(&s->host, HOST_CPU_TOTAL, w->boot_ns * 2);
	s->cpu_busy_ratio = world_dice(w, 1000) / 1000.0;
	s->cpu_iowait_ratio = s->cpu_steal_ratio = s->self_cpu_ratio = NAN;
	s->pressure_level = "low";
	s->running_jobs = (uint32_t)w->jobs.len;
}

/* The next snapshot, in w->snap. */
static inline void world_tick(struct world *w)
{
	snapshot_reset(&w->snap);
	w->wall_ns += w->interval_ns;
	w->boot_ns += w->interval_ns;
	w->snap.seq = ++w->seq;
	w->snap.wall_ns = w->wall_ns;
	w->snap.boot_ns = w->boot_ns;
	w->snap.elapsed_ns = w->seq > 1 ? w->interval_ns : 0;
	w->snap.recorder_pid = getpid();
	w->snap.procs_complete = w->snap.events_complete = true;
	world_host(w);
	for (size_t i = 0; i < w->jobs.len; i++)
		*world_push(&w->snap.jobs) = w->jobs.at[i];
	for (size_t i = 0; i < WORLD_SLOTS; i++) {
		world_live(w, i);
		if (w->procs[i].alive)
			world_show(w, &w->procs[i]);
	}
}

/* The id of the latest snapshot that was put; 0: none. */
static inline int64_t world_last_id(const struct store *st)
{
	return st->snapshots.last;
}

/* Ticks, stores and remembers; the snapshot's id. */
static inline int64_t world_put(struct world *w, struct store *st)
{
	struct err err = { 0 };
	int64_t id;
	int r;

	world_tick(w);
	r = store_put(st, &w->snap, &err);
	if (r < 0)
		fail_msg("%s", err.msg);
	id = world_last_id(st);
	for (size_t i = 0; i < WORLD_SLOTS; i++) {
		struct world_row *row;

		if (!w->procs[i].alive)
			continue;
		row = world_push(&w->rows);
		*row = (struct world_row){ id, w->epoch, w->wall_ns, w->boot_ns, w->procs[i] };
	}
	return id;
}

/* Later names replace earlier ones in the store: what a life was called last. */
static inline const struct world_proc *world_last(const struct world *w,
                                                  const struct world_row *row)
{
	for (size_t i = w->rows.len; i-- > 0;)
		if (proc_id_eq(w->rows.at[i].p.id, row->p.id) && w->rows.at[i].epoch == row->epoch)
			return &w->rows.at[i].p;
	return &row->p;
}

/* A writer's patience with the others is meant for a machine that has time for them. Where it has
 * not, what came to nothing is tried again, as nothing must have happened. */
#define AT_LAST(call)                                                                              \
	({                                                                                         \
		int r_ = -EBUSY;                                                                   \
		for (int i_ = 0; i_ < 20 && r_ == -EBUSY; i_++)                                    \
			r_ = (call);                                                               \
		r_;                                                                                \
	})

static inline char *world_dir(void)
{
	char *dir = xcalloc(1, SCRATCH_DIR_MAX);

	assert_true(scratch_dir(dir));
	return dir;
}

static inline int world_unlink(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void world_rmdir(char *take_dir)
{
	nftw(take_dir, world_unlink, 16, FTW_DEPTH | FTW_PHYS);
	free(take_dir);
}

static inline struct store *world_open(const struct world *w, const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct store_options o = { .path = path, .interval_ns = w->interval_ns };
	const char *notice = NULL;
	struct store *st = NULL;
	struct err err = { 0 };

	if (store_open(&o, &st, &notice, &err) < 0)
		fail_msg("%s", err.msg);
	if (notice)
		fail_msg("%s", notice);
	free(path);
	return st;
}

/* ---- a world with one job, "train", and a store of its own in a directory of its own -------- */

struct store_fixture {
	struct world w;
	char *dir;
	struct store *st;
};

static inline struct store_fixture fixture_of(uint64_t seed)
{
	struct store_fixture fx = { .dir = world_dir() };

	world_init(&fx.w, seed);
	world_add_job(&fx.w, "train");
	fx.st = world_open(&fx.w, fx.dir);
	return fx;
}

static inline void fixture_done(struct store_fixture *fx)
{
	store_close(fx->st);
	world_done(&fx->w);
	world_rmdir(fx->dir);
}

/* ---- jobs for a store, and questions about them --------------------------------------------- */

static inline struct history *open_reader(const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct history *r = NULL;
	struct err err = { 0 };

	if (history_open(path, &r, &err) < 0)
		fail_msg("%s", err.msg);
	free(path);
	return r;
}

static inline struct job find_job(const char *dir, const char *name)
{
	struct history *r = open_reader(dir);
	struct err err = { 0 };
	struct job job;

	if (history_get_job(r, KEY(name), &job, &err) < 0)
		fail_msg("%s", err.msg);
	history_close(r);
	return job;
}

static inline int find_job_error(const char *dir, const char *name, struct err *err)
{
	struct history *r = open_reader(dir);
	struct job job;
	int result = history_get_job(r, KEY(name), &job, err);

	history_close(r);
	return result;
}

static inline void run_sql(const char *dir, const char *sql)
{
	char *path = xasprintf("%s/proctor.db", dir), *message = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	sqlite3_close(db);
	free(path);
}

/* A store as an older version made it: v1.sql, and v4.sql up to the version before this one. */
static inline void load_fixture(const char *dir, const char *name)
{
	const char *source = getenv("PROCTOR_SOURCE_DIR");
	cleanup(freep) char *path = xasprintf("%s/test/fixtures/store/%s", source ? source : ".",
	                                      name);
	cleanup(buf_done) struct buf sql = { 0 };
	struct err err = { 0 };

	if (load_file(AT_FDCWD, path, &sql, &err) < 0)
		fail_msg("%s", err.msg);
	run_sql(dir, sql.at);
}

static inline int64_t ask_int(const char *dir, const char *sql)
{
	char *path = xasprintf("%s/proctor.db", dir);
	cleanup(db_closep) sqlite3 *db = NULL;
	struct err err = { 0 };
	int64_t value = 0;

	if (db_open(path, DB_READ, &db, &err) < 0 || db_int(db, sql, NULL, 0, &value, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	free(path);
	return value;
}

static inline void put_job(struct store *st, const struct job *job)
{
	struct err err = { 0 };

	if (store_put_job(st, job, NULL, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void set_end(struct job *job, enum job_status status)
{
	job->status = status;
	job->ended_ns = job->started_ns + 90 * NS_PER_S;
	job->took_ns = 89 * NS_PER_S;
	job->has_exit_code = status == JOB_COMPLETED;
	job->signal = status == JOB_COMPLETED ? 0 : 11;
	job->core_dumped = status != JOB_COMPLETED;
}

static inline struct job some_job(struct world *w, const char *id, const char *type)
{
	struct job job = { .started_ns = w->wall_ns };

	snprintf(job.id, sizeof job.id, "%s", id);
	snprintf(job.type, sizeof job.type, "%s", type);
	w->wall_ns += NS_PER_S;
	return job;
}
