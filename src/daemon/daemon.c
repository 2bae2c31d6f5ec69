/* SPDX-License-Identifier: MIT */
#include "daemon/daemon.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "daemon/privileges.h"
#include "daemon/restore_jobs.h"
#include "daemon/daemon_self.h"
#include "daemon/supervisor.h"

#define NEWS_NS NS_PER_S

/* ---- snapshots ------------------------------------------------------------------------------- */

static void publish(void *self, const struct snapshot *snap)
{
	struct daemon *d = self;

	if (d->serve)
		serve_note(d->serve, snap);
}

/* What becomes of each snapshot of the daemon. */
static void set_pipeline(struct daemon *d)
{
	const struct pipeline pipeline = {
		.stages = { { "pressure", PASS_TICK, engine_stage_pressure, d->host.engine },
		            { "anomalies", PASS_ALL, engine_stage_anomalies, d->host.engine },
		            { "job figures", PASS_ALL, engine_stage_jobs, d->host.engine } },
		.sinks = { { "latest", PASS_TICK, latest_snapshot_take, .self = &d->host.latest },
		           { "bus", PASS_ALL, publish, .self = d },
		           engine_sink_recorder(d->host.engine) },
	};

	engine_set_pipeline(d->host.engine, &pipeline);
}

/* Subscribers, and clients that wait for the end of a job, need not wait for the next tick. */
static void on_news(void *self)
{
	struct daemon *d = self;

	if (serve_is_listened_to(d->serve) || engine_jobs(d->host.engine)->roster.rows.len)
		engine_tell_events(d->host.engine);
	loop_timer_set(d->news, clock_mono_ns() + NEWS_NS);
}

static int bring_news(struct daemon *d, struct err *err)
{
	if (!d->host.engine)
		return 0;
	return loop_add_timer(d->loop, clock_mono_ns() + NEWS_NS, on_news, d, &d->news, err);
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

static int watch_over(struct daemon *d, struct err *err)
{
	d->watchdog_ns = supervisor_watchdog_ns();
	if (!d->watchdog_ns)
		return 0;
	return loop_add_timer(d->loop, clock_mono_ns(), on_watchdog, d, &d->watchdog, err);
}

static void tell_ready(const struct daemon *d)
{
	char tier[JOB_TIER_MAX], text[200];

	daemon_answers_tier(d, tier);
	snprintf(text, sizeof text, "READY=1\nSTATUS=%s%s%s",
	         d->host.engine ? "watching" : "not enabled", *tier ? " by " : "", tier);
	supervisor_notify(text);
}

static void say_ready(const struct daemon *d)
{
	const struct engine_options *engine = &d->options->engine;

	if (d->host.engine)
		log_info("recording to %s every %g s", engine->recorder.store.path,
		         (double)engine->interval_ns / (double)NS_PER_S);
	else
		log_info("profiler.enabled is false: answering clients, recording nothing");
	tell_ready(d);
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
		if (d->host.engine)
			engine_tune(d->host.engine, &tuning);
		log_info("configuration reloaded: one tick every %g s",
		         (double)tuning.interval_ns / (double)NS_PER_S);
	}
	tell_ready(d);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct daemon *d = self;

	if (info->ssi_signo == SIGHUP)
		reload(d);
	else
		loop_stop(d->loop);
}

static int take_signals(struct daemon *d, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return loop_add_signals(d->loop, &signals, on_signal, d, err);
}

/* ---- from start to end ----------------------------------------------------------------------- */

static void tell_readopted(struct readopted n)
{
	if (n.go_on)
		log_info("%zu job%s of the previous daemon continue%s", n.go_on,
		         n.go_on == 1 ? "" : "s", n.go_on == 1 ? "s" : "");
	if (n.ended)
		log_info("%zu job%s ended while no daemon was running", n.ended,
		         n.ended == 1 ? "" : "s");
}

static int begin_watching(struct daemon *d, struct err *err)
{
	struct engine_options options = d->options->engine;

	if (!d->options->is_enabled)
		return 0;
	options.notice = on_notice;
	options.sampler.group_is_ours = supervisor_started_us();
	options.notice_self = d;
	if (engine_new(d->loop, &options, &d->host.engine, err) < 0)
		return -err->code;
	registry_begin(d->host.engine);
	set_pipeline(d);
	tell_readopted(restore_jobs(d->host.engine, options.recorder.store.path));
	return 0;
}

static int begin_answering(struct daemon *d, struct err *err)
{
	const struct serve_host host = daemon_answers_host(d);
	int fd;

	if (listener_open(&d->listener, d->options->socket_path, &fd, err) < 0)
		return -err->code;
	return serve_listen(d->loop, fd, &host, &d->serve, err);
}

/* Privileges are dropped before the first thread starts: capabilities belong to threads. */
static int begin(struct daemon *d, struct err *err)
{
	d->listener.dir_fd = -1;
	if (privileges_drop(err) < 0 || loop_new(&d->loop, err) < 0 || take_signals(d, err) < 0 ||
	    begin_watching(d, err) < 0 || begin_answering(d, err) < 0 || bring_news(d, err) < 0 ||
	    watch_over(d, err) < 0)
		return -err->code;
	return 0;
}

static void end(struct daemon *d, struct engine_totals *ret)
{
	listener_close(&d->listener);
	serve_close(d->serve);
	d->serve = NULL;
	loop_remove(d->watchdog);
	loop_remove(d->news);
	*ret = (struct engine_totals){ .recorder.is_storing = true };
	if (d->host.engine)
		engine_stop(d->host.engine, ret);
	latest_snapshot_done(&d->host.latest);
	loop_free(d->loop);
}

int daemon_run(const struct daemon_options *options, struct engine_totals *ret, struct err *err)
{
	struct daemon d = { .options = options };
	int r = begin(&d, err);

	if (r == 0) {
		say_ready(&d);
		r = loop_run(d.loop, err);
		supervisor_notify("STOPPING=1");
	}
	end(&d, ret);
	return r;
}
