/* SPDX-License-Identifier: MIT */
#include "cli/machine_engine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "view/format.h"

#define BUDGET_RATIO 0.01 /* of one core */

struct engine_tuning machine_engine_tuning(const struct machine_engine *m,
                                           const struct config *config)
{
	return (struct engine_tuning){
		.interval_ns = m->interval_ns != UINT64_MAX ? m->interval_ns
		                                            : config->profiler.interval_ns,
		.anomaly = config->anomaly,
		.limits = cli_pressure_limits(config),
		.retention = cli_retention(config),
		.traces_syscalls = config->profiler.strace_enabled,
	};
}

static void set_options(struct machine_engine *m, const char *kind)
{
	struct engine_options *o = &m->engine;
	struct engine_tuning tuning = machine_engine_tuning(m, &m->config);

	cli_sampler_options(&m->config, &o->sampler);
	o->sampler.no_bpf = m->no_bpf;
	o->sampler.traces_syscalls = tuning.traces_syscalls;
	o->interval_ns = tuning.interval_ns;
	o->keep_interval = m->interval_ns != UINT64_MAX;
	o->anomaly = tuning.anomaly;
	o->limits = tuning.limits;
	o->budget_ratio = BUDGET_RATIO;
	o->recorder.retention = tuning.retention;
	o->recorder.jsonl_max_bytes = m->config.profiler.jsonl_max_bytes;
	o->recorder.jsonl_processes = m->config.profiler.jsonl_processes;
	o->recorder.jsonl_path = m->jsonl_path;
	o->recorder.store.path = m->place.path;
	o->recorder.store.has_rollback_journal = m->place.is_per_host;
	o->recorder.store.kind = kind;
	o->recorder.store.is_owner = true; /* two recorders would store everything twice */
	o->recorder.store.interval_ns = o->interval_ns;
}

int machine_engine_open(const struct cli *cli, const char *kind, struct machine_engine *m)
{
	int status = cli_config(cli, &m->config);
	struct err err;

	if (status != CLI_OK)
		return status;
	if (cli_make_state_dir(cli, m->state_dir, &err) < 0 ||
	    cli_make_store_place(&m->config, m->state_dir, &m->place, &err) < 0)
		return cli_failed(&err);
	m->jsonl_path = cli_jsonl_path(&m->config, m->state_dir, &m->place);
	set_options(m, kind);
	return CLI_OK;
}

int machine_engine_open_unstored(const struct cli *cli, struct machine_engine *m)
{
	int status = cli_config_to_read(cli, &m->config);

	if (status == CLI_OK)
		status = cli_state_dir(cli, m->state_dir);
	if (status != CLI_OK)
		return status;
	set_options(m, "top");
	m->engine.recorder = (struct recorder_options){ .opens_later = true };
	m->engine.budget_ratio = 0;
	return CLI_OK;
}

void machine_engine_done(struct machine_engine *m)
{
	store_place_done(&m->place);
	free(m->jsonl_path);
	m->jsonl_path = NULL;
}

static void log_losses(const struct engine_totals *t)
{
	const struct recorder_status *r = &t->recorder;

	if (r->lost)
		log_warn("%s snapshot%s could not be stored: %s", format_count(r->lost).at,
		         r->lost == 1 ? "" : "s", r->reason);
	if (r->events_lost)
		log_warn("%s event%s could not be stored: %s", format_count(r->events_lost).at,
		         r->events_lost == 1 ? "" : "s", r->reason);
	if (t->unread_events)
		log_warn("%s event%s arrived too fast to be read",
		         format_count(t->unread_events).at, t->unread_events == 1 ? "" : "s");
}

int machine_engine_failed(const struct err *err)
{
	bool has_remedy = err->code != EBUSY || strchr(err->msg, ';');

	return has_remedy ? cli_failed(err)
	                  : cli_failed_then(err, "stop it, or choose another --state-dir DIR");
}

void machine_engine_log_end(const struct engine_totals *t, uint64_t wall_ns)
{
	log_info("recorded %s snapshot%s and %s event%s in %s; own CPU time %s (%s of a core)",
	         format_count(t->recorder.stored).at, t->recorder.stored == 1 ? "" : "s",
	         format_count(t->events).at, t->events == 1 ? "" : "s", format_duration(wall_ns).at,
	         format_duration(t->cpu_ns).at,
	         format_percent((double)t->cpu_ns / (double)MAX(wall_ns, UINT64_C(1))).at);
	log_losses(t);
}
