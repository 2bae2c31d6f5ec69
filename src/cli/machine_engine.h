/* SPDX-License-Identifier: MIT */
/* machine_engine.h - the engine for the whole machine, set up from the configuration: the common part
 * of `record` and `daemon`. */
#pragma once

#include "cli/cli.h"
#include "engine/engine.h"

struct machine_engine {
	struct config config;
	struct engine_options engine; /* without its hooks */
	char state_dir[CONFIG_PATH_MAX];
	struct store_place place;
	char *jsonl_path;
	uint64_t interval_ns; /* of --interval; UINT64_MAX: as configured */
	bool no_bpf;
};

/* Rows of their tables of options. */
/* clang-format off */
#define MACHINE_ENGINE_OPTS(m)                                                                             \
	{ "interval", 'i', OPT_DURATION, &(m)->interval_ns, "SECONDS",                              \
	  "time between two snapshots (default: configured, 5 s)" },                                \
	{ "no-bpf", 0, OPT_FLAG, &(m)->no_bpf, NULL, "do not use BPF" }
/* clang-format on */

/* Reads the configuration and creates the state directory. `kind` names the recorder in the store.
 * CLI_OK, or another status, logged. */
int machine_engine_open(const struct cli *cli, const char *kind, struct machine_engine *m);
/* The same for a host that stores nothing: the state directory is only looked at, and may be missing. Its interval
 * is kept, whatever it costs: someone is looking. */
int machine_engine_open_unstored(const struct cli *cli, struct machine_engine *m);
void machine_engine_done(struct machine_engine *m);
/* The settings that may change while it runs. */
struct engine_tuning machine_engine_tuning(const struct machine_engine *m,
                                           const struct config *config);
/* Logs why it could not start, and what to do about it. */
int machine_engine_failed(const struct err *err);
/* Logs what was recorded and what it cost. */
void machine_engine_log_end(const struct engine_totals *t, uint64_t wall_ns);
