/* SPDX-License-Identifier: MIT */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/timeline.h"
#include "engine/anomaly_stage.h"
#include "engine/tick_time.h"
#include "engine/tracing.h"
#include "job/sheet_tick_figures.h"
#include "kernel/blocked_reader.h"

/* So many waiting events are flushed, so that a fork storm does not pile up in memory … */
#define FLUSH_EVENTS 4096
/* … and so many even if the recorder does not keep up: a full ring is read faster than written. */
#define FLUSH_EVENTS_ALWAYS (5 * FLUSH_EVENTS)
#define DRAINS_MAX 32
#define LIMITS_AFTER_NS NS_PER_S
#define PSS_AFTER_NS (100 * NS_PER_MS)
#define STORING_AGAIN_NS (2 * NS_PER_S)
#define SETTLE_STEP_NS (2 * NS_PER_MS)
#define WARM_UP_TICKS 3 /* they read every command line, and later ones do not */
#define LOSSES_EVERY_NS (60 * NS_PER_S)

struct engine {
	struct engine_options options;
	struct jobs *jobs;
	struct anomaly_stage anomalies;
	struct type_histories past; /* of the jobs of a snapshot */
	struct pipeline pipeline;
	struct snapshot_pool *pool;
	uint64_t started_ns;
	struct sampler *sampler;
	struct recorder *recorder;
	struct budget budget;
	struct tracing tracing;
	uint64_t tick_cpu_ns;                 /* of the last tick */
	uint64_t stored_cpu_ns, stored_ticks; /* the recorder's totals at the last tick */
	struct loop *loop;
	struct loop_source *timer, *readers[ROLES_MAX], *outcome_reader;
	int reader_fds[ROLES_MAX]; /* that readers watch: another tier brings another fd */
	int outcome_fd; /* an eventfd: the recorder has outcomes; -1: no sink wants them */
	size_t reader_count;
	uint64_t planned_ns; /* the tick the timer is set for */
	uint64_t losses_reported,
		losses_reported_ns; /* the number in the last notice, and its time */
	uint64_t notice_seq;        /* of the recorder's last notice we passed on */
	bool was_storing;           /* as of our last notice */
	uint64_t losses_overcome;   /* of the recorder, when sheets were shown again */
	bool is_ending;
	uint64_t stores_since_ns; /* while our last notice is that it does not; 0: it does not */
	struct pressure pressure;
	struct engine_totals totals;
};

static void notice(struct engine *e, const char *text)
{
	if (e->options.notice)
		e->options.notice(e->options.notice_self, text);
}

/* The intervals still grow: the cost of a tick means nothing yet. */
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

static void report_budget(struct engine *e)
{
	uint64_t base_ns = e->options.interval_ns, now_ns = budget_interval_ns(&e->budget, base_ns);
	const char *left_out = budget_left_out(&e->budget);
	cleanup(buf_done) struct buf text = { .max = 400 };

	buf_printf(&text, "sampling costs %.1f %% of a core, the budget is %.1f %%: ",
	           e->budget.ratio * 100, e->options.budget_ratio * 100);
	if (now_ns > base_ns)
		buf_printf(&text, "one tick every %g s instead of %g s, ", seconds(now_ns),
		           seconds(base_ns));
	buf_printf(&text, "%s%s", left_out ? "left out: " : "everything is read",
	           left_out ? left_out : "");
	sampler_add_event(e->sampler, EVENT_RECORDER, 0, text.at);
	notice(e, text.at);
}

/* The mean over the ticks stored since: those on request count no more than others. */
static uint64_t storing_cost_ns(struct engine *e)
{
	struct recorder_status status;
	uint64_t cost_ns, ticks;

	recorder_status(e->recorder, &status);
	cost_ns = status.tick_cpu_ns - e->stored_cpu_ns;
	ticks = status.ticks - e->stored_ticks;
	e->stored_cpu_ns = status.tick_cpu_ns;
	e->stored_ticks = status.ticks;
	return ticks ? cost_ns / ticks : 0;
}

/* Only the cost of ticks, which is what a step down reduces. Answers to clients and events do not
 * count: stepping down would not make them cheaper, and any user could cause it. */
static void feed_budget(struct engine *e)
{
	uint64_t cost_ns = e->tick_cpu_ns + storing_cost_ns(e);

	if (e->options.budget_ratio <= 0 || e->totals.ticks <= WARM_UP_TICKS || is_young(e))
		return;
	e->budget.files_are_free = !sampler_has(e->sampler, PROBE_PAYS_PER_FILE);
	e->budget.has_syscalls = e->options.sampler.traces_syscalls;
	if (budget_feed(&e->budget, cost_ns, e->options.interval_ns))
		report_budget(e);
}

/* On a disk that is almost full a small snapshot fits and the next does not: "storing again" waits
 * until that has been true for a while. */
static bool is_storing_again(struct engine *e, bool is_storing)
{
	uint64_t now_ns = clock_mono_ns();

	if (!is_storing)
		e->stores_since_ns = 0;
	else if (!e->stores_since_ns)
		e->stores_since_ns = now_ns;
	return is_storing && now_ns - e->stores_since_ns >= STORING_AGAIN_NS;
}

/* At once when losses begin, and then once a minute. Those of a job are reported at its end. */
static void report_losses(struct engine *e, const struct recorder_status *status)
{
	uint64_t lost = status->events_lost + e->totals.unread_events, now_ns = clock_mono_ns();
	char text[400];

	if (e->options.sampler.jobs_only || lost <= e->losses_reported ||
	    (e->losses_reported_ns && now_ns - e->losses_reported_ns < LOSSES_EVERY_NS))
		return;
	e->losses_reported = lost;
	e->losses_reported_ns = now_ns;
	snprintf(text, sizeof text,
	         "events lost up to now: %llu that could not be stored%s%s%s, %llu that came too "
	         "fast to be read",
	         (unsigned long long)status->events_lost, status->events_lost ? " (" : "",
	         status->events_lost ? status->reason : "", status->events_lost ? ")" : "",
	         (unsigned long long)e->totals.unread_events);
	notice(e, text);
}

/* The recorder's thread leaves its notices in its status. */
static void pass_on_notices(struct engine *e)
{
	struct recorder_status status;
	char text[300];

	recorder_status(e->recorder, &status);
	if (status.notice_seq != e->notice_seq) {
		e->notice_seq = status.notice_seq; /* the store keeps it as an event itself */
		notice(e, status.notice);
	}
	report_losses(e, &status);
	if (e->was_storing ? status.is_storing : !is_storing_again(e, status.is_storing))
		return;
	e->was_storing = status.is_storing;
	e->totals.loss_is_reported = true;
	snprintf(text, sizeof text,
	         status.is_storing ? "storing again" : "not storing: %s; sampling goes on",
	         status.reason);
	notice(e, text);
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

/* ---- members of jobs ------------------------------------------------------------------------- */

/* Another tier may report more, or less. */
static void set_sources(struct engine *e)
{
	e->jobs->sources = (struct jobs_sources){
		.births = sampler_has(e->sampler, PROBE_REPORTS_BIRTHS),
		.totals = sampler_has(e->sampler, PROBE_REPORTS_TOTALS),
	};
}

static void learn_events(struct engine *e)
{
	jobs_learn_events(e->jobs, sampler_sample(e->sampler));
}

/* From what was read, before a snapshot is made of it: births, ends, adoption. */
static void learn_all(struct engine *e)
{
	set_sources(e);
	jobs_learn(e->jobs, sampler_sample(e->sampler));
}

static void report_untraced(struct engine *e, const char *why)
{
	char text[700];

	snprintf(text, sizeof text, "system calls are not counted%s: %s",
	         e->options.sampler.flight_calls ? ", and the flight recorder is off" : "", why);
	sampler_add_event(e->sampler, EVENT_RECORDER, 0, text);
	notice(e, text);
}

static void set_focus(struct engine *e)
{
	struct sample_request *request = sampler_request(e->sampler);

	(void)sampler_drain(e->sampler);
	set_sources(e);
	jobs_focus(e->jobs, sampler_sample(e->sampler), request);
	request->focus_only = e->jobs->roster.rows.len && e->options.sampler.jobs_only;
	if (e->options.sampler.traces_syscalls && !tracing_follow(&e->tracing, e->sampler, e->jobs))
		report_untraced(e, e->tracing.why_not);
}

const char *engine_trace_command(struct engine *e, struct proc_id command)
{
	uint32_t flight_calls = e->options.sampler.flight_calls;
	const char *caution;
	struct err err;

	if (!e->options.sampler.traces_syscalls)
		return NULL;
	if (tracing_begin(&e->tracing, e->sampler, command, &err) < 0) {
		report_untraced(e, err.msg);
		return NULL;
	}
	caution = sampler_trace_caution(e->sampler);
	if (!caution)
		return flight_calls ? FLIGHT_TIER : NULL;
	notice(e, caution);
	if (flight_calls)
		notice(e, "the flight recorder is off: only BPF can keep the last calls");
	return "strace";
}

/* ---- the tick -------------------------------------------------------------------------------- */

static uint64_t interval_now(const struct engine *e, uint64_t now_ns)
{
	if (is_young(e))
		return tick_time_interval(now_ns - e->started_ns, e->options.interval_ns);
	return budget_interval_ns(&e->budget, e->options.interval_ns);
}

/* Details are expensive, so they wait while ticks are frequent, unless it takes PSS to know what a job uses. The
 * file limit is read once a process has run for a while. */
static unsigned want_now(struct engine *e)
{
	unsigned want = budget_want(&e->budget);
	uint64_t age_ns = clock_mono_ns() - e->started_ns;

	if (!is_young(e) || !(want & WANT_PSS))
		return want;
	if (age_ns >= PSS_AFTER_NS && jobs_need_pss(e->jobs))
		return want;
	want &= ~(unsigned)WANT_PSS;
	return age_ns >= LIMITS_AFTER_NS ? want | WANT_LIMITS : want;
}

void engine_stage_pressure(void *self, struct snapshot *snap)
{
	struct engine *e = self;
	struct pressure_facts facts = pressure_facts(snap, &e->options.limits);

	e->pressure = pressure_judge(&facts, e->pressure.level);
	snap->pressure_level = pressure_name(e->pressure.level);
}

/* On the loop's thread. */
#define CALLS_PATIENCE_NS (50 * NS_PER_MS)

static void list_calls(void *self, const struct proc_id *ids, size_t n, struct blocked_calls *ret)
{
	struct engine *e = self;

	(void)blocked_reader_list_all(e->jobs->reader, e->jobs->root_fd, ids, n, stall_may_resume,
	                              CALLS_PATIENCE_NS, ret);
}

void engine_stage_anomalies(void *self, struct snapshot *snap)
{
	struct engine *e = self;

	jobs_gather_past(e->jobs, snap, &e->past);
	anomaly_stage_run(&e->anomalies, snap, e->past.at);
	sheet_tick_figures_take_anomalies(&e->jobs->roster, snap);
}

void engine_stage_jobs(void *self, struct snapshot *snap)
{
	struct engine *e = self;

	jobs_figures(e->jobs, snap);
}

struct sink engine_sink_recorder(struct engine *e)
{
	return (struct sink){ .name = "recorder: store, JSONL, run folder",
		              .runs_on = ON_BOTH,
		              .take = recorder_push,
		              .has_room = recorder_has_room,
		              .self = e->recorder };
}

bool engine_introduce(struct engine *e, uint64_t patience_ns, struct recorder_place *ret)
{
	return recorder_introduce(e->recorder, patience_ns, ret);
}

int engine_claim_job_id(struct engine *e, uint32_t uid, char id[JOB_ID_MAX], uint64_t patience_ns,
                        struct err *err)
{
	return recorder_claim_job_id(e->recorder, uid, id, patience_ns, err);
}

void engine_put_patterns(struct engine *e, struct patterns *take_found)
{
	recorder_put_patterns(e->recorder, take_found);
}

static void hand_out_outcomes(struct engine *e)
{
	const struct snapshot *snap;
	bool is_stored;

	while ((snap = recorder_next_outcome(e->recorder, &is_stored))) {
		pipeline_report_outcome(&e->pipeline, snap, is_stored);
		snapshot_unref(snap);
	}
}

static void on_outcomes(void *self)
{
	struct engine *e = self;
	eventfd_t n;

	(void)!eventfd_read(e->outcome_fd, &n);
	hand_out_outcomes(e);
}

/* Without a file descriptor, outcomes wait for the next tick. */
static void watch_outcomes(struct engine *e)
{
	struct err err;

	e->outcome_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (e->outcome_fd >= 0 &&
	    loop_add_reader(e->loop, e->outcome_fd, on_outcomes, e, &e->outcome_reader, &err) < 0)
		closep(&e->outcome_fd);
	recorder_keep_outcomes(e->recorder, e->outcome_fd);
}

void engine_set_pipeline(struct engine *e, const struct pipeline *pipeline)
{
	e->pipeline = *pipeline;
	if (pipeline_wants_outcomes(pipeline))
		watch_outcomes(e);
}

const struct pressure *engine_pressure(const struct engine *e)
{
	return e->totals.ticks ? &e->pressure : NULL;
}

static void watch_events(struct engine *e);

/* Durations of jobs and the order of their events need one timeline from beginning to end. */
static void follow_clock(struct engine *e)
{
	vec_each(&e->jobs->roster.rows, row)
		if ((*row)->job.status == JOB_RUNNING)
			return;
	timeline_follow();
}

static void show_all_sheets(struct engine *e)
{
	vec_each(&e->jobs->roster.rows, row)
		watched_job_show_all_sheets((*row)->watched);
}

/* A sheet is shown once. What was lost since it may have been just that; once the disk takes snapshots again they are
 * shown once more. */
static void show_lost_sheets(struct engine *e)
{
	uint64_t overcome = recorder_losses_overcome(e->recorder);

	if (overcome != e->losses_overcome)
		show_all_sheets(e);
	e->losses_overcome = overcome;
}

void engine_tick(struct engine *e)
{
	struct snapshot *snap = snapshot_pool_take(e->pool);
	cleanup(snapshot_unrefp) const struct snapshot *frozen = NULL;
	uint64_t begin_ns;

	follow_clock(e);
	set_focus(e);
	begin_ns = clock_thread_cpu_ns();
	sampler_read(e->sampler, want_now(e));
	learn_all(e);
	show_lost_sheets(e);
	sampler_build(e->sampler, &e->jobs->roster, snap);
	e->totals.ticks++;
	e->totals.processes = snap->procs.len;
	count_events(e, snap);
	frozen = pipeline_complete(&e->pipeline, snap);
	e->tick_cpu_ns = clock_thread_cpu_ns() - begin_ns + sampler_last(e->sampler)->aside_cpu_ns;
	pipeline_hand_out(&e->pipeline, frozen);
	jobs_expire(e->jobs);
	pass_on_notices(e);
	hand_out_outcomes(e);
	watch_events(e);
}

static void on_timer(void *self)
{
	struct engine *e = self;
	uint64_t now_ns = clock_mono_ns(), planned_ns = e->planned_ns;
	uint64_t interval_ns = interval_now(e, now_ns), missed;

	e->planned_ns = tick_time_next(planned_ns, now_ns, interval_ns, &missed);
	e->totals.missed_ticks += missed;
	if (missed && tick_time_is_gap(now_ns - planned_ns, interval_ns)) {
		char text[64];

		snprintf(text, sizeof text, "%llu tick%s missed", (unsigned long long)missed,
		         missed == 1 ? " was" : "s were");
		sampler_add_event(e->sampler, EVENT_GAP, (int64_t)(now_ns - planned_ns), text);
	}
	engine_tick(e);
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
	show_lost_sheets(e);
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

	learn_events(e);
	if (waiting >= FLUSH_EVENTS_ALWAYS ||
	    (waiting >= FLUSH_EVENTS && pipeline_has_room(&e->pipeline)))
		flush(e);
}

/* A drain leaves what a storm has piled up. There is an end even where events never cease. */
void engine_read_events(struct engine *e)
{
	for (int i = 0; i < DRAINS_MAX; i++) {
		on_events(e);
		if (!sampler_has_waiting(e->sampler))
			return;
	}
}

void engine_record_living(struct engine *e)
{
	sampler_report_living(e->sampler);
	(void)sampler_drain(
		e->sampler); /* a whole job may fill the buffer: make room for the ends */
	learn_events(e);
}

static bool has_end(const struct engine *e)
{
	vec_each(&e->jobs->roster.rows, row)
		if ((*row)->job.ends_now)
			return true;
	return false;
}

void engine_flush(struct engine *e)
{
	size_t waiting = sampler_drain(e->sampler);

	learn_events(e);
	if (waiting || has_end(e))
		flush(e);
}

static bool is_member(void *self, struct proc_id id)
{
	struct engine *e = self;

	return job_roster_find(&e->jobs->roster, id).job >= 0;
}

static bool is_any(void *self, struct proc_id id)
{
	(void)self;
	(void)id;
	return true;
}

/* The kernel writes the record of an end before the end can be seen, but records are read in order:
 * one that another CPU has not finished writing holds up those behind it. */
static bool lacks_ends(struct engine *e, uint64_t living)
{
	uint64_t now = e->jobs->members.living.len;

	return sampler_has(e->sampler, PROBE_REPORTS_BIRTHS) && now > living &&
	       now - living > sampler_pending_totals(e->sampler, is_member, e, false);
}

static void await_events(struct engine *e, uint64_t patience_ns, uint64_t living,
                         bool (*matches)(void *self, struct proc_id id), void *self)
{
	uint64_t end_ns = clock_mono_ns() + patience_ns;
	struct timespec a_moment = { .tv_nsec = SETTLE_STEP_NS };

	do
		engine_read_events(e);
	while ((sampler_pending_totals(e->sampler, matches, self, false) ||
	        lacks_ends(e, living)) &&
	       clock_mono_ns() < end_ns && nanosleep(&a_moment, NULL) == 0);
}

void engine_await_totals(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                         void *self)
{
	await_events(e, ENGINE_TOTALS_NS, UINT64_MAX, matches, self);
}

bool engine_awaits_totals(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                          void *self)
{
	engine_read_events(e);
	return sampler_pending_totals(e->sampler, matches, self, false);
}

void engine_report_ends(struct engine *e, bool (*matches)(void *self, struct proc_id id),
                        void *self)
{
	(void)sampler_pending_totals(e->sampler, matches, self, true);
	learn_events(e);
}

void engine_settle(struct engine *e, uint64_t patience_ns, uint64_t living,
                   bool (*matches)(void *self, struct proc_id id), void *self)
{
	sampler_settle(e->sampler, living != 0);
	await_events(e, patience_ns, living, matches, self);
	(void)sampler_pending_totals(e->sampler, matches, self, true);
	e->is_ending = true;
	show_all_sheets(e); /* what is lost from now on is not noticed any more */
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
			notice(e, err.msg); /* its events then wait for the tick */
	}
}

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
               struct err *err)
{
	cleanup(engine_freep) struct engine *e = xcalloc(1, sizeof *e);

	e->options = *options;
	e->anomalies.config = options->anomaly;
	e->anomalies.list_calls = list_calls;
	e->anomalies.list_self = e;
	e->anomalies.clock_ns = clock_mono_ns;
	e->anomalies.owns_group = options->sampler.jobs_only;
	e->pool = snapshot_pool_new();
	e->loop = loop;
	e->outcome_fd = -1;
	e->was_storing = true;
	e->budget = (struct budget){ .limit_ratio = options->budget_ratio,
		                     .keep_interval = options->keep_interval };
	if (recorder_open(&options->recorder, &e->recorder, err) < 0)
		return -err->code;
	if (sampler_open(&options->sampler, &e->sampler, err) < 0)
		return -err->code;
	sampler_on_notice(e->sampler, options->notice, options->notice_self);
	e->jobs = jobs_new(sampler_process_reader(e->sampler));
	e->anomalies.root_fd = e->jobs->root_fd;
	set_sources(e);
	e->started_ns = e->planned_ns = clock_mono_ns();
	if (options->starts_fine) /* a job that is over by then needs no tick */
		e->planned_ns += tick_time_interval(0, options->interval_ns);
	e->timer = loop_add_timer(loop, e->planned_ns, on_timer, e);
	watch_events(e);
	*ret = TAKE_PTR(e);
	return 0;
}

/* Jobs that run are counted from now on, or up to now. */
static void set_tracing(struct engine *e, bool traces_syscalls)
{
	if (traces_syscalls == e->options.sampler.traces_syscalls)
		return;
	e->options.sampler.traces_syscalls = traces_syscalls;
	tracing_done(&e->tracing);
	e->tracing = (struct tracing){ 0 };
	unwatch_events(e);
	sampler_set_tracing(e->sampler, traces_syscalls);
	watch_events(e);
}

void engine_tune(struct engine *e, const struct engine_tuning *to)
{
	set_tracing(e, to->traces_syscalls);
	e->anomalies.config = to->anomaly;
	e->options.limits = to->limits;
	recorder_retain(e->recorder, &to->retention);
	if (to->interval_ns == e->options.interval_ns)
		return;
	e->options.interval_ns = to->interval_ns;
	e->planned_ns = clock_mono_ns(); /* a new grid begins here */
	loop_timer_set(e->timer, e->planned_ns);
}

void engine_status(struct engine *e, struct engine_status *ret)
{
	*ret = (struct engine_status){ .interval_ns = interval_now(e, clock_mono_ns()),
		                       .configured_interval_ns = e->options.interval_ns,
		                       .left_out = budget_left_out(&e->budget),
		                       .totals = e->totals };
	recorder_status(e->recorder, &ret->totals.recorder);
	ret->totals.cpu_ns = clock_process_cpu_ns();
	ret->totals.hangs = process_reader_hangs(sampler_process_reader(e->sampler));
}

uint64_t engine_store_jobs(struct engine *e)
{
	(void)sampler_drain(e->sampler);
	flush(e);
	return recorder_pushed(e->recorder);
}

enum stored engine_await_stored(struct engine *e, uint64_t number, bool have_ended,
                                uint64_t patience_ns)
{
	enum stored stored = recorder_await(e->recorder, number, have_ended, patience_ns);

	hand_out_outcomes(e); /* before the caller reports what is newer */
	return stored;
}

static void stop_sampling(struct engine *e)
{
	loop_remove(TAKE_PTR(e->timer));
	loop_remove(TAKE_PTR(e->outcome_reader));
	unwatch_events(e);
	sampler_close(TAKE_PTR(e->sampler));
	tracing_done(&e->tracing);
}

void engine_stop(struct engine *take_e, struct engine_totals *ret)
{
	struct engine *e = take_e;

	engine_await_totals(e, is_member, e);
	(void)sampler_pending_totals(e->sampler, is_any, NULL, true);
	e->is_ending = true;
	if (sampler_drain(e->sampler) || e->anomalies.episodes.open.len)
		flush(e);
	stop_sampling(e); /* takes the kernel some time, while the recorder writes */
	recorder_close(TAKE_PTR(e->recorder), &e->totals.recorder);
	if (e->totals.recorder.notice_seq !=
	    e->notice_seq) /* a short job had no tick to report it */
		notice(e, e->totals.recorder.notice);
	e->totals.cpu_ns = clock_process_cpu_ns();
	*ret = e->totals;
	engine_free(e);
}

void engine_free(struct engine *e)
{
	if (!e)
		return;
	stop_sampling(e);
	if (e->recorder)
		recorder_close(e->recorder, NULL);
	closep(&e->outcome_fd);
	anomaly_stage_done(&e->anomalies);
	vec_done(&e->past);
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

struct sampler *engine_sampler(struct engine *e)
{
	return e->sampler;
}
