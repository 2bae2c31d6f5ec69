/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/loss_notice.h"
#include "engine/tick_time.h"
#include "engine/anomaly_stage.h"

#define TOTALS_PATIENCE_NS (50 * NS_PER_MS) /* they come a moment after an end */
#define EVENTS_AHEAD 4096 /* a fork storm is stored as it goes and does not pile up in memory */
/* … while the recorder keeps up: a full ring is read faster than it can be written. */
#define EVENTS_HELD (5 * EVENTS_AHEAD)
#define LIMITS_AFTER_NS NS_PER_S
#define FOR_GOOD_NS (2 * NS_PER_S)
#define JOB_PATIENCE_NS NS_PER_S /* for a disk, while others wait for us */
#define SETTLE_STEP_NS (2 * NS_PER_MS)
#define TICKS_TO_SETTLE                                                                            \
	3 /* the first ones read every command line; they say nothing about the cost later */

struct engine {
	struct engine_options options;
	struct jobs *jobs;
	struct anomaly_stage anomalies;
	struct pipeline pipeline;
	struct snapshot_pool *pool;
	uint64_t started_ns;
	struct sampler *sampler;
	struct recorder *recorder;
	struct budget budget;
	uint64_t look_cpu_ns;                 /* what the last look took */
	uint64_t stored_cpu_ns, stored_looks; /* as the recorder told at the last one */
	struct loop *loop;
	struct loop_source *timer, *readers[ROLES_MAX];
	int reader_fds[ROLES_MAX]; /* that readers watch: another tier brings another fd */
	size_t reader_count;
	uint64_t planned_ns; /* the tick the timer is set for */
	struct loss_notice losses;
	uint64_t notice_seq; /* of the recorder's last notice we passed on */
	bool was_storing;    /* as was told */
	bool is_ending;
	uint64_t stores_since_ns; /* while it is told that it does not; 0: it does not */
	struct pressure pressure;
	struct engine_totals totals;
};

static void say(struct engine *e, const char *text)
{
	if (e->options.notice)
		e->options.notice(e->options.notice_self, text);
}

static void on_probe_notice(void *self, const char *text)
{
	say(self, text);
}

/* The intervals still grow: what a look costs is no measure yet. */
static bool is_young(const struct engine *e)
{
	uint64_t age_ns = clock_mono_ns() - e->started_ns;

	return e->options.starts_fine &&
	       tick_time_interval(age_ns, e->options.interval_ns) < e->options.interval_ns;
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_S;
}

static void tell_level(struct engine *e)
{
	uint64_t base_ns = e->options.interval_ns, now_ns = budget_interval_ns(&e->budget, base_ns);
	const char *left_out = budget_left_out(&e->budget);
	cleanup(buf_done) struct buf text = { .max = 400 };

	buf_printf(&text, "looking costs %.1f %% of a core, the budget is %.1f %%: ",
	           e->budget.ratio * 100, e->options.budget_ratio * 100);
	if (now_ns > base_ns)
		buf_printf(&text, "a look every %g s instead of %g s, ", seconds(now_ns),
		           seconds(base_ns));
	buf_printf(&text, "%s%s", left_out ? "left out: " : "everything is read",
	           left_out ? left_out : "");
	sampler_add_event(e->sampler, EVENT_RECORDER, 0, text.at);
	say(e, text.at);
}

/* What the looks that were stored since took on average: those on request count no more than
 * others. */
static uint64_t storing_cost_ns(struct engine *e)
{
	struct recorder_status status;
	uint64_t cost_ns, looks;

	recorder_status(e->recorder, &status);
	cost_ns = status.look_cpu_ns - e->stored_cpu_ns;
	looks = status.looks - e->stored_looks;
	e->stored_cpu_ns = status.look_cpu_ns;
	e->stored_looks = status.looks;
	return looks ? cost_ns / looks : 0;
}

/* There is no syscall accounting yet, and BPF tells of files and I/O at no price of their own. */
static unsigned nothing_saved(const struct engine *e)
{
	return 1U << BUDGET_NO_SYSCALLS |
	       (sampler_walks_proc(e->sampler) ? 0 : 1U << BUDGET_NO_FDS_IO);
}

/* Only what looking costs, which is what a step down makes less. What answering clients costs, or
 * events that come as they come, would push us down to no avail, and anybody could do it. */
static void feed_budget(struct engine *e)
{
	uint64_t cost_ns = e->look_cpu_ns + storing_cost_ns(e);

	if (e->options.budget_ratio <= 0 || e->totals.ticks <= TICKS_TO_SETTLE || is_young(e))
		return;
	e->budget.skips = nothing_saved(e);
	if (budget_feed(&e->budget, cost_ns, e->options.interval_ns))
		tell_level(e);
}

/* On a disk at its brim a small snapshot fits and the next does not: it stores again when it has
 * done so for a while, and nobody is told of each change. */
static bool stores_for_good(struct engine *e, bool is_storing)
{
	uint64_t now_ns = clock_mono_ns();

	if (!is_storing)
		e->stores_since_ns = 0;
	else if (!e->stores_since_ns)
		e->stores_since_ns = now_ns;
	return is_storing && now_ns - e->stores_since_ns >= FOR_GOOD_NS;
}

/* What a job lost is told with its end. */
static void tell_losses(struct engine *e, const struct recorder_status *status)
{
	uint64_t lost = status->events_lost + e->totals.unread_events;
	char text[400];

	if (e->options.sampler.jobs_only || !loss_notice_feed(&e->losses, lost, clock_mono_ns()))
		return;
	snprintf(text, sizeof text,
	         "events lost up to now: %llu that could not be stored%s%s%s, %llu that came too "
	         "fast to be read",
	         (unsigned long long)status->events_lost, status->events_lost ? " (" : "",
	         status->events_lost ? status->reason : "", status->events_lost ? ")" : "",
	         (unsigned long long)e->totals.unread_events);
	say(e, text);
}

/* The recorder works in its own thread; what it has to say is picked up here. */
static void pass_on_notices(struct engine *e)
{
	struct recorder_status status;
	char text[300];

	recorder_status(e->recorder, &status);
	if (status.notice_seq != e->notice_seq) {
		e->notice_seq = status.notice_seq; /* the store keeps it as an event itself */
		say(e, status.notice);
	}
	tell_losses(e, &status);
	if (e->was_storing ? status.is_storing : !stores_for_good(e, status.is_storing))
		return;
	e->was_storing = status.is_storing;
	e->totals.loss_is_told = true;
	snprintf(text, sizeof text,
	         status.is_storing ? "storing again" : "not storing: %s; sampling goes on",
	         status.reason);
	say(e, text);
}

/* Only those that users see: exec and totals are stored as part of a process's row. */
static void count_events(struct engine *e, const struct snapshot *snap)
{
	vec_each(&snap->events, event) {
		e->totals.events += event_in_view(event->kind);
		if (event->kind == EVENT_LOSS && event->count > 0)
			e->totals.unread_events += (uint64_t)event->count;
	}
}

/* ---- who belongs to a job -------------------------------------------------------------------- */

/* Another tier may report more, or less. */
static void set_sources(struct engine *e)
{
	e->jobs->sources = (struct jobs_sources){ .births = sampler_tells_births(e->sampler),
		                                  .totals = sampler_tells_totals(e->sampler) };
}

static void learn(struct engine *e)
{
	jobs_learn_events(e->jobs, sampler_sample(e->sampler));
}

/* From what was read, before a snapshot is made of it: births, ends, adoption. */
static void learn_all(struct engine *e)
{
	set_sources(e);
	jobs_learn(e->jobs, sampler_sample(e->sampler));
}

static void set_focus(struct engine *e)
{
	struct sample *s = sampler_sample(e->sampler);

	(void)sampler_drain(e->sampler);
	set_sources(e);
	jobs_focus(e->jobs, s);
	s->focus_only = e->jobs->roster.rows.len && e->options.sampler.jobs_only;
}

/* ---- the tick -------------------------------------------------------------------------------- */

/* Details have their price at each look; while looks are many they wait. Only how many files a
 * process may open is asked for once it has shown that it will stay. */
static unsigned want_now(const struct engine *e)
{
	unsigned want = budget_want(&e->budget);

	if (!is_young(e) || !(want & WANT_PSS))
		return want;
	want &= ~(unsigned)WANT_PSS;
	return clock_mono_ns() - e->started_ns < LIMITS_AFTER_NS ? want : want | WANT_LIMITS;
}

void engine_stage_pressure(void *self, struct snapshot *snap)
{
	struct engine *e = self;
	struct pressure_facts facts = pressure_facts(snap, &e->options.limits);

	e->pressure = pressure_judge(&facts, e->pressure.level);
	snap->pressure_level = pressure_name(e->pressure.level);
}

void engine_stage_anomalies(void *self, struct snapshot *snap)
{
	struct engine *e = self;

	anomaly_stage_run(&e->anomalies, snap);
}

void engine_stage_jobs(void *self, struct snapshot *snap)
{
	struct engine *e = self;

	jobs_figures(e->jobs, snap);
}

static void record_snapshot(void *self, const struct snapshot *snap)
{
	recorder_push(self, snap);
}

static bool has_room(void *self)
{
	return recorder_has_room(self);
}

static bool sync_recorder(void *self, uint64_t patience_ns)
{
	return recorder_sync(self, patience_ns);
}

struct sink engine_sink_recorder(struct engine *e)
{
	return (struct sink){ .name = "recorder",
		              .passes = PASS_ALL,
		              .take = record_snapshot,
		              .has_room = has_room,
		              .sync = sync_recorder,
		              .self = e->recorder };
}

void engine_set_pipeline(struct engine *e, const struct pipeline *pipeline)
{
	e->pipeline = *pipeline;
}

const struct pressure *engine_pressure(const struct engine *e)
{
	return e->totals.ticks ? &e->pressure : NULL;
}

static void watch_events(struct engine *e);

static void tick(struct engine *e)
{
	struct snapshot *snap = snapshot_pool_take(e->pool);
	cleanup(snapshot_unrefp) const struct snapshot *frozen = NULL;
	uint64_t begin_ns;

	set_focus(e);
	begin_ns = clock_thread_cpu_ns();
	sampler_set_want(e->sampler, want_now(e));
	sampler_read(e->sampler);
	learn_all(e);
	sampler_build(e->sampler, &e->jobs->roster, snap);
	e->totals.ticks++;
	e->totals.processes = snap->procs.len;
	count_events(e, snap);
	frozen = pipeline_complete(&e->pipeline, snap);
	e->look_cpu_ns = clock_thread_cpu_ns() - begin_ns + sampler_aside_cpu_ns(e->sampler);
	pipeline_hand_out(&e->pipeline, frozen);
	jobs_expire(e->jobs);
	pass_on_notices(e);
	watch_events(e);
}

void engine_look(struct engine *e)
{
	tick(e);
}

static uint64_t interval_now(const struct engine *e, uint64_t now_ns)
{
	if (e->options.starts_fine && is_young(e))
		return tick_time_interval(now_ns - e->started_ns, e->options.interval_ns);
	return budget_interval_ns(&e->budget, e->options.interval_ns);
}

static void on_timer(void *self)
{
	struct engine *e = self;
	uint64_t now_ns = clock_mono_ns(), planned_ns = e->planned_ns;
	uint64_t interval_ns = interval_now(e, now_ns), missed;

	e->planned_ns = tick_time_next(planned_ns, now_ns, interval_ns, &missed);
	if (missed) {
		char text[64];

		e->totals.missed_ticks += missed;
		snprintf(text, sizeof text, "%llu tick%s missed", (unsigned long long)missed,
		         missed == 1 ? " was" : "s were");
		sampler_add_event(e->sampler, EVENT_GAP, (int64_t)(now_ns - planned_ns), text);
	}
	tick(e);
	feed_budget(e);
	loop_timer_set(e->timer, e->planned_ns);
}

/* Between ticks: events and jobs, through the same stages and sinks. */
static void flush(struct engine *e)
{
	struct snapshot *snap = snapshot_pool_take(e->pool);
	cleanup(snapshot_unrefp) const struct snapshot *frozen = NULL;

	sampler_stamp_events(e->sampler);
	learn_all(e);
	sampler_build_events(e->sampler, &e->jobs->roster, snap);
	snap->is_last = e->is_ending;
	count_events(e, snap);
	frozen = pipeline_complete(&e->pipeline, snap);
	pipeline_hand_out(&e->pipeline, frozen);
}

static void on_events(void *self)
{
	struct engine *e = self;
	size_t waiting = sampler_drain(e->sampler);

	learn(e);
	if (waiting >= EVENTS_HELD || (waiting >= EVENTS_AHEAD && pipeline_has_room(&e->pipeline)))
		flush(e);
}

void engine_learn(struct engine *e)
{
	on_events(e);
}

void engine_tell_events(struct engine *e)
{
	size_t waiting = sampler_drain(e->sampler);

	learn(e);
	if (waiting)
		flush(e);
}

static bool is_member(void *self, struct proc_id id)
{
	struct engine *e = self;

	return job_roster_find(&e->jobs->roster, id).job >= 0;
}

/* An end is told before anybody can see it, but what is told is read in order: a record which
 * another CPU has not finished writing holds up those behind it. */
static bool lacks_ends(struct engine *e, uint64_t living)
{
	return sampler_tells_births(e->sampler) &&
	       e->jobs->members.living.len > living + sampler_owed(e->sampler, is_member, e, false);
}

void engine_settle(struct engine *e, uint64_t patience_ns, uint64_t living,
                   bool (*cares)(void *self, struct proc_id id), void *self)
{
	uint64_t end_ns = clock_mono_ns() + patience_ns;
	struct timespec a_moment = { .tv_nsec = SETTLE_STEP_NS };
	size_t owed;

	do {
		on_events(e);
		owed = sampler_owed(e->sampler, cares, self, false);
	} while ((owed || lacks_ends(e, living)) && clock_mono_ns() < end_ns &&
	         nanosleep(&a_moment, NULL) == 0);
	(void)sampler_owed(e->sampler, cares, self, true);
	e->is_ending = true;
	flush(e);
}

static void unwatch_events(struct engine *e)
{
	while (e->reader_count)
		loop_remove(e->readers[--e->reader_count]);
}

static void watch_events(struct engine *e)
{
	int fds[ROLES_MAX];
	size_t n = sampler_fds(e->sampler, fds);
	struct err err;

	if (n == e->reader_count && memcmp(fds, e->reader_fds, n * sizeof *fds) == 0)
		return;
	unwatch_events(e);
	for (; e->reader_count < n; e->reader_count++) {
		size_t i = e->reader_count;

		e->reader_fds[i] = fds[i];
		e->readers[i] = NULL;
		if (loop_add_reader(e->loop, fds[i], on_events, e, &e->readers[i], &err) < 0)
			say(e, err.msg); /* its events then wait for the tick */
	}
}

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
               struct err *err)
{
	cleanup(engine_freep) struct engine *e = xcalloc(1, sizeof *e);

	e->options = *options;
	e->anomalies.config = options->anomaly;
	e->pool = snapshot_pool_new();
	e->loop = loop;
	e->was_storing = true;
	e->budget = (struct budget){ .limit_ratio = options->budget_ratio,
		                     .keep_interval = options->keep_interval };
	if (recorder_open(&options->recorder, &e->recorder, err) < 0)
		return -err->code;
	if (sampler_open(&options->sampler, &e->sampler, err) < 0)
		return -err->code;
	sampler_on_notice(e->sampler, on_probe_notice, e);
	e->jobs = jobs_new(sampler_process_reader(e->sampler));
	set_sources(e);
	e->started_ns = e->planned_ns = clock_mono_ns();
	if (options->starts_fine) /* what is over by then needs no look */
		e->planned_ns += tick_time_interval(0, options->interval_ns);
	e->timer = loop_add_timer(loop, e->planned_ns, on_timer, e);
	watch_events(e);
	*ret = TAKE_PTR(e);
	return 0;
}

void engine_tune(struct engine *e, const struct engine_tuning *to)
{
	e->anomalies.config = to->anomaly;
	e->options.limits = to->limits;
	recorder_retain(e->recorder, &to->retention);
	if (to->interval_ns == e->options.interval_ns)
		return;
	e->options.interval_ns = to->interval_ns;
	e->planned_ns = clock_mono_ns(); /* a new grid begins here */
	loop_timer_set(e->timer, e->planned_ns);
}

uint64_t engine_interval_ns(const struct engine *e)
{
	return interval_now(e, clock_mono_ns());
}

uint64_t engine_asked_interval_ns(const struct engine *e)
{
	return e->options.interval_ns;
}

const char *engine_left_out(const struct engine *e)
{
	return budget_left_out(&e->budget);
}

void engine_totals(struct engine *e, struct engine_totals *ret)
{
	*ret = e->totals;
	recorder_status(e->recorder, &ret->recorder);
	ret->cpu_ns = clock_process_cpu_ns();
}

bool engine_store_jobs(struct engine *e)
{
	(void)sampler_drain(e->sampler);
	flush(e);
	return pipeline_sync(&e->pipeline, JOB_PATIENCE_NS);
}

void engine_await_totals(struct engine *e, bool (*cares)(void *self, struct proc_id id), void *self)
{
	uint64_t end_ns = clock_mono_ns() + TOTALS_PATIENCE_NS;
	struct timespec a_moment = { .tv_nsec = SETTLE_STEP_NS };

	do
		on_events(e);
	while (sampler_owed(e->sampler, cares, self, false) && clock_mono_ns() < end_ns &&
	       nanosleep(&a_moment, NULL) == 0);
}

static void stop_looking(struct engine *e)
{
	loop_remove(TAKE_PTR(e->timer));
	unwatch_events(e);
	sampler_close(TAKE_PTR(e->sampler));
}

void engine_stop(struct engine *take_e, struct engine_totals *ret)
{
	engine_await_totals(take_e, is_member, take_e);
	(void)sampler_owed(take_e->sampler, is_member, take_e, true);
	take_e->is_ending = true;
	/* What happened since the last tick. */
	if (sampler_drain(take_e->sampler) || anomaly_stage_has_open(&take_e->anomalies))
		flush(take_e);
	stop_looking(take_e); /* takes the kernel some time, while the recorder writes */
	recorder_close(TAKE_PTR(take_e->recorder), &take_e->totals.recorder);
	if (take_e->totals.recorder.notice_seq !=
	    take_e->notice_seq) /* a short job had no tick to tell it */
		say(take_e, take_e->totals.recorder.notice);
	take_e->totals.cpu_ns = clock_process_cpu_ns();
	*ret = take_e->totals;
	engine_free(take_e);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	stop_looking(e);
	if (e->recorder)
		recorder_close(e->recorder, NULL);
	anomaly_stage_done(&e->anomalies);
	snapshot_pool_free(e->pool);
	jobs_free(e->jobs);
	free(e);
}

struct jobs *engine_jobs(struct engine *e)
{
	return e->jobs;
}

bool engine_emit(struct engine *e, const struct event *event, const char *name, const char *text)
{
	return sampler_emit(e->sampler, event, name, text);
}

struct process_reader *engine_process_reader(struct engine *e)
{
	return sampler_process_reader(e->sampler);
}

struct sampler *engine_sampler(struct engine *e)
{
	return e->sampler;
}
