/* SPDX-License-Identifier: MIT */
/* record.c - `proctor record`: the engine in the foreground, into the store, until stopped. */
#include <signal.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "engine/engine.h"
#include "view/format.h"

#define BUDGET_RATIO 0.01 /* of one core */
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

/* --for, SIGINT, SIGTERM and a terminal that goes away all end the loop, in order. */
static int add_stops(struct loop *loop, uint64_t for_ns, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (loop_add_signals(loop, &signals, on_signal, loop, err) < 0)
		return -err->code;
	if (for_ns != UINT64_MAX &&
	    loop_add_timer(loop, clock_mono_ns() + for_ns, on_stop, loop, NULL, err) < 0)
		return -err->code;
	return 0;
}

static void tell_end(const struct engine_totals *t, uint64_t wall_ns)
{
	log_info("recorded %s snapshot%s and %s event%s in %s; own CPU time %s (%s of a core)",
	         format_count(t->recorder.stored).at, t->recorder.stored == 1 ? "" : "s",
	         format_count(t->events).at, t->events == 1 ? "" : "s", format_duration(wall_ns).at,
	         format_duration(t->cpu_ns).at,
	         format_percent((double)t->cpu_ns / (double)MAX(wall_ns, UINT64_C(1))).at);
	if (t->recorder.lost)
		log_warn("%s snapshot%s could not be stored: %s", format_count(t->recorder.lost).at,
		         t->recorder.lost == 1 ? "" : "s", t->recorder.reason);
}

static int record(const struct engine_options *options, uint64_t for_ns)
{
	cleanup(loop_freep) struct loop *loop = NULL;
	struct engine *engine = NULL;
	struct engine_totals totals;
	struct err err;
	uint64_t began_ns = clock_mono_ns();
	int result;

	if (loop_new(&loop, &err) < 0 || add_stops(loop, for_ns, &err) < 0 ||
	    engine_new(loop, options, &engine, &err) < 0)
		return cli_failed(&err);
	log_info("recording into %s every %g s; Ctrl-C ends it", options->recorder.store.path,
	         (double)options->interval_ns / (double)NS_PER_S);
	result = loop_run(loop, &err);
	engine_stop(engine, &totals);
	if (result < 0)
		return cli_failed(&err);
	tell_end(&totals, clock_mono_ns() - began_ns);
	return totals.recorder.is_storing ? CLI_OK : CLI_FAILED;
}

static void set_options(struct engine_options *o, const struct config *config)
{
	cli_sampler_options(config, &o->sampler);
	o->anomaly = cli_anomaly_config(config);
	o->budget_ratio = BUDGET_RATIO;
	o->notice = on_notice;
	o->recorder.jsonl_max_bytes = config->profiler.jsonl_max_bytes;
	o->recorder.retention = (struct store_retention){
		.full_resolution_ns = config->retention.full_resolution_ns,
		.downsampled_ns = config->retention.downsampled_ns,
		.events_ns = config->retention.events_ns,
	};
	o->recorder.store.kind = "record";
	o->recorder.store.is_owner = true; /* two recorders of one machine would store all twice */
	o->recorder.store.interval_ns = o->interval_ns;
}

static int record_run(struct cli *cli, int argc, char **argv)
{
	struct engine_options o = { 0 };
	uint64_t interval_ns = UINT64_MAX, for_ns = UINT64_MAX;
	char state_dir[CONFIG_PATH_MAX];
	cleanup(freep) char *db_path = NULL, *jsonl_path = NULL;
	struct config config;
	int words, status;
	const struct opt opts[] = {
		{ "interval", 'i', OPT_DURATION, &interval_ns, "SECONDS",
		  "time between two snapshots (default: configured, 5 s)" },
		{ "for", 0, OPT_DURATION, &for_ns, "TIME", "stop by itself after 30s, 10m, 2h, …" },
		{ "no-bpf", 0, OPT_FLAG, &o.sampler.no_bpf, NULL,
		  "stay off BPF, as on kernels without it" },
		CLI_COMMON_OPTS(cli),
	};

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "record takes no command; to record one: proctor run -- %s …",
		                 argv[1]);
	if (interval_ns < INTERVAL_MIN_NS)
		return cli_usage(cli, "--interval must be 0.05 s or more");
	if (for_ns == 0)
		return cli_usage(cli, "--for must be more than nothing");
	status = cli_config(cli, &config, NULL);
	if (status != CLI_OK || (status = cli_make_state_dir(cli, state_dir)) != CLI_OK)
		return status;
	o.keep_interval = interval_ns != UINT64_MAX;
	o.interval_ns = o.keep_interval ? interval_ns : config.profiler.interval_ns;
	set_options(&o, &config);
	o.recorder.store.path = db_path = cli_path(config.profiler.storage_path, state_dir,
	                                           "proctor.db");
	o.recorder.jsonl_path = jsonl_path = cli_path(config.profiler.jsonl_path, state_dir,
	                                              "monitor.jsonl");
	return record(&o, for_ns);
}

const struct verb verb_record = {
	.name = "record",
	.summary = "watch the whole machine, into the store",
	.usage = "[--interval SECONDS] [--for TIME]",
	.about = about,
	.instead_of_json = "snapshots are written to monitor.jsonl in the state directory",
	.run = record_run,
};
