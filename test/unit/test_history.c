/* SPDX-License-Identifier: MIT */
#include "history/history.h"

#include <errno.h>

#include "store/store_handle.h"
#include "store_kit.h"

static const struct proc_snap *find(const struct snapshot *snap, struct proc_id id)
{
	vec_each(&snap->procs, p)
		if (proc_id_eq(p->s.id, id))
			return p;
	return NULL;
}

static void check_process(const struct world *w, const struct world_row *row,
                          const struct snapshot *snap)
{
	const struct proc_snap *p = find(snap, row->p.id);
	const char *command = world_last(w, row)->command;

	assert_non_null(p);
	assert_int_equal(p->s.state, row->p.state);
	assert_int_equal(p->s.ppid, row->p.ppid);
	assert_int_equal(p->s.command.len, strlen(command));
	assert_memory_equal(snapshot_string(snap, p->s.command), command, p->s.command.len);
	assert_true(isfinite(p->cpu_ratio) == isfinite(row->p.cpu));
	if (isfinite(p->cpu_ratio))
		assert_true(fabs(p->cpu_ratio - row->p.cpu) < 1e-9);
	assert_int_equal(p->s.r.value[PROC_RSS], row->p.rss);
	assert_int_equal(p->s.r.value[PROC_VMS], row->p.vms);
	assert_int_equal(readings_has(&p->s.r, PROC_FDS), row->p.has_fds);
	assert_int_equal(p->age_ns, row->boot_ns - row->p.id.start_ticks * NS_PER_TICK);
	assert_int_equal(p->job >= 0, row->p.job >= 0);
	if (p->job >= 0)
		assert_string_equal(snap->jobs.at[p->job].id, w->jobs.at[row->p.job].id);
}

/* All snapshots, one after another; those of other recorders may stand between ours. */
static void check_all(const struct world *w, struct history *r, struct snapshot *snap)
{
	struct history_cursor at = { 0 };
	struct err err = { 0 };
	uint64_t before = 0;
	size_t row = 0, n = 0;
	int result;

	while ((result = history_next_snapshot(r, &at, snap, &err)) > 0) {
		size_t procs = 0;

		assert_true(snap->wall_ns >= before);
		before = snap->wall_ns;
		n++;
		if (row == w->rows.len || w->rows.at[row].snapshot != at.after_id)
			continue;
		for (; row < w->rows.len && w->rows.at[row].snapshot == at.after_id; row++, procs++)
			check_process(w, &w->rows.at[row], snap);
		assert_int_equal(snap->procs.len, procs);
		assert_int_equal(snap->host.value[HOST_MEM_TOTAL], UINT64_C(8) << 30);
		assert_false(readings_has(&snap->host, HOST_SELF_RSS));
		assert_string_equal(snap->pressure_level, "low");
		assert_int_equal(snap->recorder_pid, getpid());
		for (size_t i = 1; i < snap->procs.len; i++)
			assert_true(snap->procs.at[i - 1].s.id.pid < snap->procs.at[i].s.id.pid);
	}
	assert_int_equal(result, 0);
	assert_int_equal(row, w->rows.len);
	assert_true(n >= w->seq);
}

static void test_reader_next_snapshot__brings_all_back_oldest_first(void **state)
{
	char *dir = world_dir();
	struct snapshot snap = { 0 };
	struct world a, b;
	struct store *st_a, *st_b;
	struct history *r;

	(void)state;
	world_init(&a, 21);
	world_init(&b, 22);
	world_add_job(&a, "one");
	a.wall_ns += 137 * NS_PER_MS;
	st_a = world_open(&a, dir);
	st_b = world_open(&b, dir);
	for (int i = 0; i < 300; i++) {
		world_put(&a, st_a);
		if (i % 2)
			world_put(&b, st_b);
	}
	r = open_reader(dir);
	check_all(&a, r, &snap);
	check_all(&b, r, &snap);
	store_close(st_a);
	store_close(st_b);
	check_all(&a, r, &snap);
	history_close(r);
	snapshot_done(&snap);
	world_done(&a);
	world_done(&b);
	world_rmdir(dir);
}

/* A tick in which some task waited for a disk half of the time, and the first process of a job wrote 3,000 bytes a second. */
static void put_busy(struct world *w, struct store *st)
{
	struct err err = { 0 };

	world_tick(w);
	readings_set(&w->snap.host, HOST_PSI_IO_SOME, w->boot_ns / 2);
	vec_each(&w->snap.procs, p)
		if (p->job >= 0)
			readings_set(&p->s.r, PROC_WRITE_BYTES, w->boot_ns / NS_PER_MS * 3);
	assert_int_equal(store_put(st, &w->snap, &err), 0);
}

/* How many snapshots have the share and the rate. */
static size_t count_busy(const char *dir, size_t *ret_rates)
{
	struct history *r = open_reader(dir);
	struct history_cursor at = { 0 };
	struct snapshot snap = { 0 };
	struct err err = { 0 };
	size_t n = 0;

	*ret_rates = 0;
	while (history_next_snapshot(r, &at, &snap, &err) > 0) {
		assert_true(isnan(snap.psi_cpu_ratio)); /* it was not read */
		assert_true(isnan(snap.psi_io_ratio) || fabs(snap.psi_io_ratio - 0.5) < 0.001);
		n += !isnan(snap.psi_io_ratio);
		vec_each(&snap.procs, p) {
			assert_true(isnan(p->write_bytes_per_s) ||
			            fabs(p->write_bytes_per_s - 3000) < 1);
			*ret_rates += !isnan(p->write_bytes_per_s);
		}
	}
	snapshot_done(&snap);
	history_close(r);
	return n;
}

static void test_reader_next_snapshot__takes_rates_from_the_counters_of_two(void **state)
{
	char *dir = world_dir();
	struct store_retention keep = { .downsampled_ns = 3600 * NS_PER_S };
	struct err err = { 0 };
	struct world a, b;
	struct store *st_a, *st_b;
	bool more = true;
	size_t rates;

	(void)state;
	world_init(&a, 31);
	world_init(&b, 32);
	a.churn = b.churn = 0;
	world_add_job(&a, "one");
	a.procs[0].job = 0;
	b.boot_ns += 999 * NS_PER_S; /* of another machine: its counters are no neighbours */
	st_a = world_open(&a, dir);
	st_b = world_open(&b, dir);
	for (int i = 0; i < 200; i++) {
		put_busy(&a, st_a);
		put_busy(&b, st_b);
	}
	assert_int_equal(count_busy(dir, &rates), 2 * 199);
	assert_true(rates > 150); /* unknown only where a keyframe begins */
	while (more)
		assert_int_equal(store_retain_step(st_a, &keep, a.wall_ns, a.boot_ns, &more, &err),
		                 0);
	assert_true(count_busy(dir, &rates) >= 2);
	store_close(st_a);
	store_close(st_b);
	world_done(&a);
	world_done(&b);
	world_rmdir(dir);
}

/* A reader that follows: what it has seen of an open keyframe must not hide what comes. */
static void test_reader_next_snapshot__follows_a_writer(void **state)
{
	char *dir = world_dir();
	struct history_cursor at = { 0 };
	struct snapshot snap = { 0 };
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 23);
	w.churn = 10;
	st = world_open(&w, dir);
	world_put(&w, st);
	r = open_reader(dir);
	for (int i = 0; i < 150; i++) {
		size_t alive = 0;

		assert_int_equal(history_next_snapshot(r, &at, &snap, &err), 1);
		assert_int_equal(at.after_id, world_last_id(st));
		for (size_t slot = 0; slot < WORLD_SLOTS; slot++)
			alive += w.procs[slot].alive;
		assert_int_equal(snap.procs.len, alive);
		for (size_t k = w.rows.len - alive; k < w.rows.len; k++)
			check_process(&w, &w.rows.at[k], &snap);
		assert_int_equal(history_next_snapshot(r, &at, &snap, &err), 0);
		world_put(&w, st);
	}
	history_close(r);
	store_close(st);
	snapshot_done(&snap);
	world_done(&w);
	world_rmdir(dir);
}

struct counter {
	size_t events, spawns;
	uint64_t before;
	int64_t before_id;
};

static int count_event(void *self, const struct event_record *e)
{
	struct counter *c = self;

	assert_true(e->wall_ns > c->before || (e->wall_ns == c->before && e->id > c->before_id));
	c->before = e->wall_ns;
	c->before_id = e->id;
	c->events++;
	c->spawns += e->kind == EVENT_SPAWN;
	assert_true(e->process.pid > 0 && e->process.start_ticks > 0);
	return 0;
}

static void test_reader_events__come_in_pages_without_gap_or_overlap(void **state)
{
	char *dir = world_dir();
	struct history_cursor at = { 0 };
	struct counter c = { 0 }, spawns = { 0 };
	struct err err = { 0 };
	size_t expected = 0, expected_spawns = 0;
	struct world w;
	struct store *st;
	struct history *r;
	int n;

	(void)state;
	world_init(&w, 24);
	st = world_open(&w, dir);
	for (int i = 0; i < 200; i++) {
		world_put(&w, st);
		expected += w.snap.events.len;
		vec_each(&w.snap.events, e)
			expected_spawns += e->kind == EVENT_SPAWN;
	}
	r = open_reader(dir);
	while ((n = history_events(r, &at, 0, 7, count_event, &c, &err)) > 0)
		assert_true(n <= 7);
	assert_int_equal(n, 0);
	assert_int_equal(c.events, expected);
	at = (struct history_cursor){ 0 };
	assert_int_equal(
		history_events(r, &at, 1 << EVENT_SPAWN, 100000, count_event, &spawns, &err),
		expected_spawns);
	assert_int_equal(spawns.spawns, expected_spawns);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

struct walker {
	const struct world *w;
	size_t row;
	pid_t pid;
};

static int check_point(void *self, const struct history_point *p)
{
	struct walker *walk = self;
	const struct world_row *row;

	while (walk->w->rows.at[walk->row].p.id.pid != walk->pid)
		walk->row++;
	row = &walk->w->rows.at[walk->row++];
	assert_int_equal(p->snapshot, row->snapshot);
	assert_true(proc_id_eq(p->process, row->p.id));
	assert_int_equal(p->wall_ns, row->wall_ns);
	assert_int_equal(p->r.value[PROC_RSS], row->p.rss);
	assert_int_equal(p->state, row->p.state);
	return 0;
}

static void test_reader_history__returns_all_lives_of_a_pid_in_pages(void **state)
{
	char *dir = world_dir();
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 25);
	st = world_open(&w, dir);
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	r = open_reader(dir);
	for (size_t slot = 0; slot < WORLD_SLOTS; slot += 7) {
		struct walker walk = { .w = &w, .pid = w.first_pid + (pid_t)slot * 3 };
		struct history_cursor at = { 0 };
		size_t expected = 0, got = 0;
		int n;

		vec_each(&w.rows, row)
			expected += row->p.id.pid == walk.pid;
		while ((n = history_process(r, walk.pid, HISTORY_ANY_UID, &at, 50, check_point,
		                            &walk, &err)) > 0)
			got += (size_t)n;
		assert_int_equal(n, 0);
		assert_int_equal(got, expected);
	}
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static int count_point(void *self, const struct history_point *p)
{
	struct walker *walk = self;
	struct world_proc life = { .id = p->process };

	assert_int_equal(p->uid, world_uid(&life));
	walk->row++;
	return 0;
}

/* A page that is short is the last one, whoever else had the pid before, between and after. */
static void test_reader_history__counts_only_what_was_the_users(void **state)
{
	char *dir = world_dir();
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 27);
	w.churn = 6;
	st = world_open(&w, dir);
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	r = open_reader(dir);
	for (uint32_t uid = 999; uid < 1003; uid++) {
		struct walker walk = { .w = &w, .pid = w.first_pid };
		struct history_cursor at = { 0 };
		size_t expected = 0;
		int n;

		vec_each(&w.rows, row)
			expected += row->p.id.pid == walk.pid && world_uid(&row->p) == uid;
		assert_int_equal(expected > 0, uid >= 1000);
		do {
			n = history_process(r, walk.pid, uid, &at, 20, count_point, &walk, &err);
			assert_int_equal(n < 20, walk.row == expected);
		} while (n == 20);
	}
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static int walk_history(struct history *r, const struct world *w, struct err *err)
{
	struct walker walk = { .w = w, .pid = w->first_pid };
	struct history_cursor at = { 0 };

	return history_process(r, walk.pid, HISTORY_ANY_UID, &at, 1000, count_point, &walk, err);
}

static void test_reader_heed__ends_calls_without_a_waiter(void **state)
{
	struct history_cancel cancel = { .until_ns = UINT64_MAX };
	char *dir = world_dir();
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 28);
	st = world_open(&w, dir);
	for (int i = 0; i < 300; i++)
		world_put(&w, st);
	r = open_reader(dir);
	history_obey_cancel(r, &cancel);
	assert_true(walk_history(r, &w, &err) > 0);
	cancel.until_ns = 1; /* long ago */
	assert_int_equal(walk_history(r, &w, &err), -ETIME);
	cancel.until_ns = UINT64_MAX;
	atomic_store(&cancel.is_cancelled, true);
	assert_int_equal(walk_history(r, &w, &err), -ETIME);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* Thousands of them must not outlast a request, either. */
static void test_reader_heed__ends_calls_too_short_to_be_interrupted(void **state)
{
	struct history_cancel cancel = { .until_ns = UINT64_MAX, .is_cancelled = true };
	char *dir = world_dir();
	struct err err = { 0 };
	struct job job;
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 29);
	world_add_job(&w, "short");
	st = world_open(&w, dir);
	world_put(&w, st);
	r = open_reader(dir);
	assert_int_equal(history_get_job(r, KEY("short"), &job, &err), 0);
	history_obey_cancel(r, &cancel);
	assert_int_equal(history_get_job(r, KEY("short"), &job, &err), -ETIME);
	assert_true(*history_cancel_flag(r));
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void end_job(struct world *w, enum job_status status)
{
	w->jobs.at[0].status = status;
	w->jobs.at[0].ended_ns = w->wall_ns + w->interval_ns;
	w->jobs.at[0].has_exit_code = true;
	w->jobs.at[0].current_sheet = 0;
}

/* The kernel's totals: what an exit reported (1 ms more than the last sample), and else the last
 * sample. */
static uint64_t true_cpu_ns(const struct world *w, size_t *ret_lives)
{
	uint64_t sum_us = 0;

	*ret_lives = 0;
	for (size_t i = 0; i < w->rows.len; i++) {
		const struct world_row *row = &w->rows.at[i];
		bool is_last = true, is_alive = false;

		for (size_t k = i + 1; k < w->rows.len && is_last; k++)
			is_last = !proc_id_eq(w->rows.at[k].p.id, row->p.id);
		for (size_t s = 0; s < WORLD_SLOTS; s++)
			is_alive = is_alive ||
			           (w->procs[s].alive && proc_id_eq(w->procs[s].id, row->p.id));
		if (row->p.job != 0 || !is_last)
			continue;
		sum_us += row->p.cpu_time_ns / NS_PER_US + (is_alive ? 0 : 1000);
		(*ret_lives)++;
	}
	return sum_us * NS_PER_US;
}

static void test_reader_profile__sums_the_kernels_totals(void **state)
{
	char *dir = world_dir();
	struct job_profile profile;
	struct err err = { 0 };
	struct world w;
	struct store *st;
	struct history *r;
	uint64_t cpu_ns;
	size_t lives;

	(void)state;
	world_init(&w, 26);
	world_add_job(&w, "train");
	st = world_open(&w, dir);
	for (int i = 0; i < 150; i++) {
		w.jobs.at[0].current_sheet = (uint32_t)(1 + i / 60);
		w.jobs.at[0].last_completed_sheet = (uint32_t)(i / 60);
		world_put(&w, st);
	}
	end_job(&w, JOB_COMPLETED);
	world_put(&w, st);
	snapshot_reset(&w.snap);
	w.snap.events_only = true;
	w.snap.wall_ns = w.wall_ns;
	*world_push(&w.snap.jobs) = w.jobs.at[0];
	for (uint32_t num = 1; num <= 3; num++)
		*world_push(&w.snap.sheets) = (struct sheet){ .num = num,
			                                      .status = JOB_COMPLETED,
			                                      .is_wrapper = true };
	assert_int_equal(MIN(store_put(st, &w.snap, &err), 0), 0);
	r = open_reader(dir);
	assert_int_equal(history_profile(r, KEY("train"), &profile, &err), 0);
	cpu_ns = true_cpu_ns(&w, &lives);
	assert_int_equal(profile.cpu_time_ns.value, cpu_ns);
	assert_int_equal(profile.spawns.value, lives);
	assert_int_equal(profile.peak_rss_bytes.quality, QUALITY_SAMPLED); /* no high-water mark */
	assert_true(profile.sheets.len == 3 && profile.sheets.at[0].num == 1);
	assert_true(profile.peak_rss_bytes.value >= profile.sheets.at[0].peak_rss_bytes.value);
	history_record_profile_done(&profile);
	assert_int_equal(history_profile(r, KEY("nothing"), &profile, &err), -ENOENT);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

static void test_reader_profile__survives_the_rows_of_its_processes(void **state)
{
	struct store_retention keep = { 0 };
	char *dir = world_dir();
	struct job_profile before, after;
	struct err err = { 0 };
	bool more = true;
	struct world w;
	struct store *st;
	struct history *r;

	(void)state;
	world_init(&w, 27);
	world_add_job(&w, "old");
	w.churn = 30;
	st = world_open(&w, dir);
	for (int i = 0; i < 100; i++) {
		w.jobs.at[0].current_sheet = (uint32_t)(1 + i / 60);
		world_put(&w, st);
	}
	end_job(&w, JOB_FAILED);
	world_put(&w, st);
	r = open_reader(dir);
	assert_int_equal(history_profile(r, KEY("old"), &before, &err), 0);
	vec_reset(&w.jobs);
	for (size_t i = 0; i < WORLD_SLOTS; i++)
		w.procs[i].alive = false;
	for (int i = 0; i < 100; i++)
		world_put(&w, st);
	while (more)
		assert_int_equal(store_retain_step(st, &keep, w.wall_ns, w.boot_ns, &more, &err),
		                 0);
	assert_int_equal(history_profile(r, KEY("old"), &after, &err), 0);
	assert_int_equal(after.cpu_time_ns.value, before.cpu_time_ns.value);
	assert_int_equal(after.peak_rss_bytes.value, before.peak_rss_bytes.value);
	history_record_profile_done(&before);
	history_record_profile_done(&after);
	history_close(r);
	store_close(st);
	world_done(&w);
	world_rmdir(dir);
}

/* The world changes at one pace, so a part of the time has wrote the same part of the file. */
static void test_reader_storage__extrapolates_growth_and_what_becomes_old(void **state)
{
	const uint64_t day_ns = UINT64_C(86400) * NS_PER_S;
	struct history_keep keep = { day_ns, 7 * day_ns, 30 * day_ns };
	struct history_storage young, found;
	struct store_fixture fx = fixture_of(5);
	struct history *r;
	struct err err = { 0 };
	double file;

	(void)state;
	fx.w.interval_ns = 20 * NS_PER_S;
	for (int i = 0; i < 150; i++)
		world_put(&fx.w, fx.st);
	r = open_reader(fx.dir);
	assert_int_equal(history_storage(r, &keep, fx.w.wall_ns, &young, &err), 0);
	assert_true(isnan(young.growth_bytes_per_day) && isnan(young.freed_bytes_per_day));
	for (int i = 0; i < 1290; i++)
		world_put(&fx.w, fx.st); /* eight hours in all */
	file = (double)ask_int(fx.dir, "SELECT page_count * page_size FROM pragma_page_count(),"
	                               " pragma_page_size()");
	assert_int_equal(history_storage(r, &keep, fx.w.wall_ns, &found, &err), 0);
	assert_true(found.growth_bytes_per_day > 2.5 * file &&
	            found.growth_bytes_per_day < 3.2 * file);
	/* In a day all of it is older than a day: three snapshots become one. Events stay. */
	assert_true(found.freed_bytes_per_day > 0.5 * file &&
	            found.freed_bytes_per_day < 0.7 * file);
	keep.events_ns = day_ns;
	assert_int_equal(history_storage(r, &keep, fx.w.wall_ns, &young, &err), 0);
	assert_true(young.freed_bytes_per_day > found.freed_bytes_per_day);
	history_close(r);
	fixture_done(&fx);
}

static void test_reader_open__refuses_what_is_not_there_or_not_ours(void **state)
{
	struct history *r = NULL;
	struct err err = { 0 };

	(void)state;
	assert_int_equal(history_open("/nonexistent/proctor.db", &r, &err), -ENOENT);
	assert_int_equal(history_open("/etc/passwd", &r, &err), -EUCLEAN);
}

RUN_TESTS(TEST(test_reader_next_snapshot__brings_all_back_oldest_first),
          TEST(test_reader_next_snapshot__takes_rates_from_the_counters_of_two),
          TEST(test_reader_next_snapshot__follows_a_writer),
          TEST(test_reader_events__come_in_pages_without_gap_or_overlap),
          TEST(test_reader_history__returns_all_lives_of_a_pid_in_pages),
          TEST(test_reader_history__counts_only_what_was_the_users),
          TEST(test_reader_heed__ends_calls_without_a_waiter),
          TEST(test_reader_heed__ends_calls_too_short_to_be_interrupted),
          TEST(test_reader_profile__sums_the_kernels_totals),
          TEST(test_reader_profile__survives_the_rows_of_its_processes),
          TEST(test_reader_storage__extrapolates_growth_and_what_becomes_old),
          TEST(test_reader_open__refuses_what_is_not_there_or_not_ours))
