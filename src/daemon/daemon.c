/* SPDX-License-Identifier: MIT */
#include "daemon/daemon.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/listener.h"
#include "daemon/privileges.h"
#include "daemon/restore_jobs.h"
#include "daemon/supervisor.h"
#include "engine/job_commits.h"
#include "engine/latest_snapshot.h"
#include "engine/registry.h"
#include "serve/serve.h"

#define NEWS_NS NS_PER_S
#define STOP_PATIENCE_NS NS_PER_S /* for a disk that is slow */
#define FIRST_SEARCH_NS                                                                            \
	(5 * NS_PER_S) /* for patterns: a daemon that is often restarted searches, too */

struct daemon {
	const struct daemon_options *options;
	struct loop *loop;
	struct engine *engine; /* NULL when it is not enabled */
	struct latest_snapshot latest;
	struct listener listener;
	struct serve *serve;
	struct job_commits commits;
	struct loop_source *watchdog, *news, *patterns;
	struct traces_options traces;
	struct store_sizes sizes; /* when it began: nothing is added if it is not enabled */
	uint64_t watchdog_ns;
	char problem[sizeof((struct err *)NULL)->msg]; /* of the last reload; "": none */
};

/* ---- status ---------------------------------------------------------------------------------- */

static void get_tier(const struct daemon *d, char ret[static JOB_TIER_MAX])
{
	struct role_health roles[ROLES_MAX];
	const char *tasks = NULL, *lifecycle = NULL;
	size_t n = d->engine ? sampler_health(engine_sampler(d->engine), roles) : 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(roles[i].role, "tasks") == 0)
			tasks = roles[i].tier;
		else if (strcmp(roles[i].role, "lifecycle") == 0)
			lifecycle = roles[i].tier;
	}
	snprintf(ret, JOB_TIER_MAX, "%s%s%s", tasks ? tasks : "", tasks && lifecycle ? ", " : "",
	         lifecycle ? lifecycle : "");
}

static void get_status(void *self, struct serve_status *ret)
{
	struct daemon *d = self;

	*ret = (struct serve_status){ .is_enabled = d->engine != NULL,
		                      .sizes = d->sizes,
		                      .config_problem = d->problem[0] ? d->problem : NULL };
	if (!d->engine)
		return;
	get_tier(d, ret->tier);
	engine_status(d->engine, &ret->engine);
	ret->sizes = ret->engine.totals.recorder.sizes;
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static void commit_jobs(void *self, bool has_ended, void (*done)(void *self, enum stored stored),
                        void *done_self)
{
	struct daemon *d = self;

	job_commits_add(&d->commits, has_ended, done, done_self);
}

static void take_past(void *self, job_handle job, const struct type_history *past)
{
	struct daemon *d = self;

	jobs_set_past(engine_jobs(d->engine), job, past);
}

/* Anomalies are judged by fixed thresholds until it is there, or if it never is. */
static void load_past(struct daemon *d, const struct job *job)
{
	struct err ignored;

	(void)!serve_load_past(d->serve, job, take_past, d, &ignored);
}

static void load_pasts(struct daemon *d)
{
	vec_each(&engine_jobs(d->engine)->roster.rows, row)
		if ((*row)->job.status == JOB_RUNNING)
			load_past(d, &(*row)->job);
}

/* A recorder announces its job to us, too, that it announced to the daemon before us: we go on with that one. */
static bool resume_job(struct daemon *d, struct job *job, pid_t pid)
{
	vec_each(&engine_jobs(d->engine)->roster.rows, row) {
		struct job *known = &(*row)->job;

		if (known->status != JOB_RUNNING || known->uid != job->uid ||
		    known->root.pid != pid || !*known->recorded_as ||
		    strcmp(known->recorded_as, job->recorded_as) != 0 ||
		    strcmp(known->recording, job->recording) != 0)
			continue;
		known->has_recorder = true;
		*job = *known;
		return true;
	}
	return false;
}

static int start_job(void *self, struct job *job, pid_t pid, struct err *err)
{
	struct daemon *d = self;

	if (!d->engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (job->has_recorder && resume_job(d, job, pid))
		return 0;
	if (registry_start(d->engine, job, pid, &job->handle, err) < 0)
		return -err->code;
	/* As far as it is believed. */
	*job = job_roster_get(&engine_jobs(d->engine)->roster, job->handle)->job;
	load_past(d, job);
	return 0;
}

static int end_job(void *self, job_handle job, const struct job_end *how, struct err *err)
{
	struct daemon *d = self;

	return registry_end(d->engine, job, how, err);
}

static void lose_job(void *self, job_handle job)
{
	struct daemon *d = self;

	registry_lose(d->engine, job);
}

static int begin_answering(struct daemon *d, struct err *err)
{
	static const struct serve_daemon answers = {
		.status = get_status,
		.start_job = start_job,
		.end_job = end_job,
		.lose_job = lose_job,
		.commit_jobs = commit_jobs,
	};
	const struct serve_host host = {
		.engine = d->engine,
		.latest = &d->latest,
		.db_path = d->options->engine.recorder.store.path,
		.jsonl_path = d->options->engine.recorder.jsonl_path,
		.daemon = &answers,
		.daemon_self = d,
		.clients_max = d->options->clients_max,
		.clients_per_uid_max = d->options->clients_per_uid_max,
		.traces = &d->traces,
	};
	int fd;

	if (listener_open(&d->listener, d->options->socket_path, &fd, err) < 0)
		return -err->code;
	return serve_listen(d->loop, fd, &host, &d->serve, err);
}

/* ---- snapshots ------------------------------------------------------------------------------- */

static void publish(void *self, const struct snapshot *snap)
{
	struct daemon *d = self;

	if (d->serve)
		serve_publish(d->serve, snap);
}

static void publish_ends(void *self, const struct snapshot *snap, bool is_stored)
{
	struct daemon *d = self;

	if (d->serve)
		serve_publish_ends(d->serve, snap, is_stored);
}

/* The stages and sinks of the daemon's snapshots. */
static void set_pipeline(struct daemon *d)
{
	const struct pipeline pipeline = {
		.stages = { { "pressure", ON_TICKS, engine_stage_pressure, d->engine },
		            { "job figures", ON_BOTH, engine_stage_jobs, d->engine },
		            { "anomalies", ON_BOTH, engine_stage_anomalies, d->engine } },
		.sinks = { { "latest", ON_TICKS, latest_snapshot_take, .self = &d->latest },
		           { "bus", ON_BOTH, publish, .outcome = publish_ends, .self = d },
		           engine_sink_recorder(d->engine) },
	};

	engine_set_pipeline(d->engine, &pipeline);
}

/* Subscribers, and clients that wait for the end of a job, need not wait for the next tick. */
static void on_news(void *self)
{
	struct daemon *d = self;

	if (serve_is_listened_to(d->serve) || engine_jobs(d->engine)->roster.rows.len)
		engine_flush(d->engine);
	loop_timer_set(d->news, clock_mono_ns() + NEWS_NS);
}

static void store_patterns(void *self, struct patterns *found)
{
	struct daemon *d = self;

	engine_put_patterns(d->engine, found);
}

static void on_patterns(void *self)
{
	struct daemon *d = self;
	struct err err;

	if (serve_search_patterns(d->serve, d->options->pattern_jobs_min, store_patterns, d, &err) <
	    0)
		log_warn("no search for patterns: %s", err.msg);
	loop_timer_set(d->patterns, clock_mono_ns() + d->options->pattern_interval_ns);
}

static void on_notice(void *self, const char *text)
{
	(void)self;
	log_warn("%s", text);
}

/* ---- the supervisor -------------------------------------------------------------------------- */

static void on_watchdog(void *self)
{
	struct daemon *d = self;

	supervisor_notify("WATCHDOG=1");
	loop_timer_set(d->watchdog, clock_mono_ns() + d->watchdog_ns / 2);
}

static void notify_ready(const struct daemon *d)
{
	char tier[JOB_TIER_MAX], text[200];

	get_tier(d, tier);
	snprintf(text, sizeof text, "READY=1\nSTATUS=%s%s%s",
	         d->engine ? "watching" : "not enabled", *tier ? " by " : "", tier);
	supervisor_notify(text);
}

static void report_ready(const struct daemon *d)
{
	const struct engine_options *engine = &d->options->engine;

	if (d->engine)
		log_info("recording to %s every %g s", engine->recorder.store.path,
		         (double)engine->interval_ns / (double)NS_PER_S);
	else
		log_info("profiler.enabled is false: answering clients, recording nothing");
	notify_ready(d);
}

static void reload(struct daemon *d)
{
	struct engine_tuning tuning;
	struct err err;
	char text[64];

	snprintf(text, sizeof text, "RELOADING=1\nMONOTONIC_USEC=%llu",
	         (unsigned long long)(clock_mono_ns() / NS_PER_US));
	supervisor_notify(text);
	if (d->options->reload(d->options->self, &tuning, &err) < 0) {
		snprintf(d->problem, sizeof d->problem, "%s", err.msg);
		log_error("configuration not reloaded, the previous one stays in force: %s",
		          err.msg);
	} else {
		d->problem[0] = '\0';
		if (d->engine)
			engine_tune(d->engine, &tuning);
		log_info("configuration reloaded: one tick every %g s",
		         (double)tuning.interval_ns / (double)NS_PER_S);
	}
	notify_ready(d);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct daemon *d = self;

	if (info->ssi_signo == SIGHUP)
		reload(d);
	else
		loop_stop(d->loop);
}

static int catch_signals(struct daemon *d, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return loop_add_signals(d->loop, &signals, on_signal, d, err);
}

/* ---- from start to end ----------------------------------------------------------------------- */

static int begin_watching(struct daemon *d, struct err *err)
{
	struct engine_options options = d->options->engine;

	if (!d->options->is_enabled) {
		d->sizes = store_sizes_measure(options.recorder.store.path,
		                               options.recorder.jsonl_path);
		return 0;
	}
	options.notice = on_notice;
	options.sampler.group_is_ours = supervisor_started_us();
	options.notice_self = d;
	if (engine_new(d->loop, &options, &d->engine, err) < 0)
		return -err->code;
	registry_begin(d->engine);
	job_commits_init(&d->commits, d->loop, d->engine);
	set_pipeline(d);
	restore_jobs(d->engine, options.recorder.store.path);
	return 0;
}

/* Only root can become other users. Without it there are traces for root. */
static void begin_spawner(struct daemon *d)
{
	struct err err;

	d->traces = d->options->traces;
	if (geteuid() != 0 || !d->traces.is_allowed)
		return;
	if (strace_spawner_open(privileges_keep_user_change, &d->traces.spawner, &err) < 0)
		log_warn("only root can have processes traced: %s", err.msg);
}

/* Privileges are dropped before the first thread starts: capabilities belong to threads. */
static int begin(struct daemon *d, struct err *err)
{
	d->listener.dir_fd = -1;
	begin_spawner(d);
	if (privileges_drop(err) < 0 || loop_new(&d->loop, err) < 0 || catch_signals(d, err) < 0 ||
	    begin_watching(d, err) < 0 || begin_answering(d, err) < 0)
		return -err->code;
	d->watchdog_ns = supervisor_watchdog_ns();
	if (d->watchdog_ns)
		d->watchdog = loop_add_timer(d->loop, clock_mono_ns(), on_watchdog, d);
	if (d->engine)
		load_pasts(d); /* of jobs that an earlier daemon watched */
	if (d->engine)
		d->news = loop_add_timer(d->loop, clock_mono_ns() + NEWS_NS, on_news, d);
	if (d->engine)
		d->patterns = loop_add_timer(d->loop, clock_mono_ns() + FIRST_SEARCH_NS,
		                             on_patterns, d);
	return 0;
}

/* Ends of jobs are stored and published while clients wait for that. */
static void settle_jobs(struct daemon *d)
{
	if (d->serve)
		serve_settle(d->serve);
	job_commits_done(&d->commits);
	if (d->engine && engine_jobs(d->engine)->roster.rows.len)
		(void)engine_await_stored(d->engine, engine_store_jobs(d->engine), true,
		                          STOP_PATIENCE_NS);
}

static void end(struct daemon *d, struct engine_totals *ret)
{
	listener_close(&d->listener);
	settle_jobs(d);
	serve_close(d->serve);
	d->serve = NULL;
	strace_spawner_close(d->traces.spawner);
	loop_remove(d->watchdog);
	loop_remove(d->news);
	loop_remove(d->patterns);
	*ret = (struct engine_totals){ .recorder.is_storing = true };
	if (d->engine)
		engine_stop(d->engine, ret);
	latest_snapshot_done(&d->latest);
	loop_free(d->loop);
}

int daemon_run(const struct daemon_options *options, struct engine_totals *ret, struct err *err)
{
	struct daemon d = { .options = options };
	int r = begin(&d, err);

	if (r == 0) {
		report_ready(&d);
		r = loop_run(d.loop, err);
		supervisor_notify("STOPPING=1");
	}
	end(&d, ret);
	return r;
}
