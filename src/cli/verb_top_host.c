/* SPDX-License-Identifier: MIT */
/* verb_top_host.c - internal: samples for `proctor top` where no daemon answers (top/top_host.h). */
#include <errno.h>
#include <signal.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/door_follower.h"
#include "cli/machine_engine.h"
#include "engine/latest_snapshot.h"
#include "engine/registry.h"
#include "serve/serve.h"
#include "top/top_host.h"

#define NEWS_NS NS_PER_S

struct top_host {
	struct loop *loop;
	struct engine *engine;
	struct latest_snapshot latest;
	struct serve *serve;
	struct door_follower *doors;
	struct loop_source *news;
};

static void get_status(void *self, struct serve_status *ret)
{
	struct top_host *h = self;

	*ret = (struct serve_status){ .is_enabled = true };
	snprintf(ret->tier, sizeof ret->tier, "%s", jobs_describe_sources(engine_jobs(h->engine)));
	engine_status(h->engine, &ret->engine);
}

static int refuse_job(struct err *err)
{
	return err_set(err, EACCES, "this server only samples; jobs are registered with a daemon");
}

static int start_job(void *self, struct job *job, pid_t pid, struct err *err)
{
	(void)self, (void)job, (void)pid;
	return refuse_job(err);
}

static int end_job(void *self, job_handle job, const struct job_end *how, struct err *err)
{
	(void)self, (void)job, (void)how;
	return refuse_job(err);
}

static void lose_job(void *self, job_handle job)
{
	(void)self, (void)job;
}

static void publish(void *self, const struct snapshot *snap)
{
	struct top_host *h = self;

	if (h->serve)
		serve_publish(h->serve, snap);
}

/* As the daemon's, but nothing is stored. */
static void set_pipeline(struct top_host *h)
{
	const struct pipeline pipeline = {
		.stages = { { "pressure", ON_TICKS, engine_stage_pressure, h->engine },
		            { "job figures", ON_BOTH, engine_stage_jobs, h->engine },
		            { "anomalies", ON_BOTH, engine_stage_anomalies, h->engine } },
		.sinks = { { "latest", ON_TICKS, latest_snapshot_take, .self = &h->latest },
		           { "bus", ON_BOTH, publish, .self = h } },
	};

	engine_set_pipeline(h->engine, &pipeline);
}

static void on_left(void *self)
{
	struct top_host *h = self;

	loop_stop(h->loop);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	(void)info;
	on_left(self);
}

/* The terminal's signals are for the screen, which ends us by closing the socket. */
static int catch_signals(struct top_host *h, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGTERM);
	signal(SIGINT, SIG_IGN);
	signal(SIGQUIT, SIG_IGN);
	signal(SIGHUP, SIG_IGN);
	return loop_add_signals(h->loop, &signals, on_signal, h, err);
}

static void on_news(void *self)
{
	struct top_host *h = self;

	door_follower_ask(h->doors);
	loop_timer_set(h->news, clock_mono_ns() + NEWS_NS);
}

static int begin(struct top_host *h, const struct machine_engine *m, struct err *err)
{
	static const struct serve_daemon answers = { .status = get_status,
		                                     .start_job = start_job,
		                                     .end_job = end_job,
		                                     .lose_job = lose_job };
	const struct serve_host host = { .latest = &h->latest,
		                         .kind = TOP_HOST_KIND,
		                         .daemon = &answers,
		                         .daemon_self = h,
		                         .clients_max = 1 };
	struct serve_host watching = host;
	cleanup(freep) char *jobs_dir = xasprintf("%s/jobs", m->state_dir);

	if (loop_new(&h->loop, err) < 0 || catch_signals(h, err) < 0 ||
	    engine_new(h->loop, &m->engine, &h->engine, err) < 0)
		return -err->code;
	registry_begin(h->engine);
	set_pipeline(h);
	watching.engine = h->engine;
	if (serve_attach(h->loop, TOP_HOST_FD, &watching, on_left, h, &h->serve, err) < 0)
		return -err->code;
	h->doors = door_follower_new(h->engine, jobs_dir);
	h->news = loop_add_timer(h->loop, clock_mono_ns(), on_news, h);
	return 0;
}

static void end(struct top_host *h)
{
	struct engine_totals totals;

	loop_remove(h->news);
	serve_close(h->serve);
	h->serve = NULL;
	door_follower_free(h->doors);
	if (h->engine)
		engine_stop(h->engine, &totals);
	latest_snapshot_done(&h->latest);
	loop_free(h->loop);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct machine_engine m = { .interval_ns = UINT64_MAX };
	const struct opt opts[] = { MACHINE_ENGINE_OPTS(&m), CLI_COMMON_OPTS(cli) };
	struct top_host h = { 0 };
	struct err err;
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	status = machine_engine_open_unstored(cli, &m);
	if (status != CLI_OK)
		return status;
	if (begin(&h, &m, &err) < 0 || loop_run(h.loop, &err) < 0)
		status = cli_failed(&err);
	end(&h);
	machine_engine_done(&m);
	return status;
}

const struct verb verb_top_host = {
	.name = TOP_HOST_VERB,
	.run = run,
};
