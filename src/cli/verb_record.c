/* SPDX-License-Identifier: MIT */
/* verb_record.c - `proctor record`: the engine in the foreground, into the store, until stopped. */
#include <signal.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/machine_engine.h"

#define INTERVAL_MIN_NS (50 * NS_PER_MS)

static const char about[] =
	"Watches every process of this machine and stores snapshots and events in the state directory\n"
	"(proctor.db, and one JSON line per snapshot in monitor.jsonl) until Ctrl-C or SIGTERM.";

static void on_notice(void *self, const char *text)
{
	(void)self;
	log_warn("%s", text);
}

static void on_stop(void *self)
{
	loop_stop(self);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	(void)info;
	loop_stop(self);
}

/* SIGINT, SIGTERM and a hangup of the terminal end the loop in an orderly way. */
static int add_signals(struct loop *loop, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	return loop_add_signals(loop, &signals, on_signal, loop, err);
}

/* The stages and sinks of each snapshot. */
static void set_pipeline(struct engine *engine)
{
	const struct pipeline pipeline = {
		.stages = { { "pressure", ON_TICKS, engine_stage_pressure, engine },
		            { "anomalies", ON_BOTH, engine_stage_anomalies, engine } },
		.sinks = { engine_sink_recorder(engine) },
	};

	engine_set_pipeline(engine, &pipeline);
}

static int record(const struct engine_options *options, uint64_t for_ns)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	struct engine *engine = NULL;
	struct engine_totals totals;
	struct err err;
	uint64_t began_ns = clock_mono_ns();
	int result;

	if (loop_new(&loop, &err) < 0 || add_signals(loop, &err) < 0 ||
	    engine_new(loop, options, &engine, &err) < 0)
		return machine_engine_failed(&err);
	set_pipeline(engine);
	if (for_ns != UINT64_MAX)
		loop_add_timer(loop, clock_mono_ns() + for_ns, on_stop, loop);
	log_info("recording into %s every %g s; Ctrl-C ends it", options->recorder.store.path,
	         (double)options->interval_ns / (double)NS_PER_S);
	result = loop_run(loop, &err);
	engine_stop(engine, &totals);
	if (result < 0)
		return cli_failed(&err);
	machine_engine_log_end(&totals, clock_mono_ns() - began_ns);
	return totals.recorder.is_storing ? CLI_OK : CLI_FAILED;
}

static int record_run(struct cli *cli, int argc, char **argv)
{
	struct machine_engine m = { .interval_ns = UINT64_MAX };
	uint64_t for_ns = UINT64_MAX;
	int words, status;
	const struct opt opts[] = {
		MACHINE_ENGINE_OPTS(&m),
		{ "for", 0, OPT_DURATION, &for_ns, "TIME", "stop after 30s, 10m, 2h, …" },
		CLI_COMMON_OPTS(cli),
	};

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "record takes no command; to record one: proctor run -- %s …",
		                 argv[1]);
	if (m.interval_ns < INTERVAL_MIN_NS)
		return cli_usage(cli, "--interval must be 0.05 s or more");
	if (for_ns == 0)
		return cli_usage(cli, "--for must be greater than 0");
	status = machine_engine_open(cli, "record", &m);
	m.engine.notice = on_notice;
	if (status == CLI_OK)
		status = record(&m.engine, for_ns);
	machine_engine_done(&m);
	return status;
}

const struct verb verb_record = {
	.name = "record",
	.summary = "record the whole machine into the store",
	.usage = "[--interval SECONDS] [--for TIME]",
	.about = about,
	.instead_of_json = "snapshots are written to monitor.jsonl in the state directory",
	.example = "proctor record --interval 1 --for 8h",
	.run = record_run,
};
