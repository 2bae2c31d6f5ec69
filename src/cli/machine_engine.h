/* SPDX-License-Identifier: MIT */
/* machine_engine.h - the engine for the whole machine as the configuration wants it: what `record` and
 * `daemon` have in common. */
#pragma once

#include "cli/cli.h"
#include "engine/engine.h"

struct machine_engine {
	struct config config;
	struct engine_options engine; /* without its hooks */
	char state_dir[CONFIG_PATH_MAX];
	char *db_path, *jsonl_path;
	uint64_t interval_ns; /* as asked for; UINT64_MAX: as configured */
	bool no_bpf;
};

/* The rows of both for their tables of options. */
/* clang-format off */
#define MACHINE_ENGINE_OPTS(m)                                                                             \
	{ "interval", 'i', OPT_DURATION, &(m)->interval_ns, "SECONDS",                              \
	  "time between two snapshots (default: configured, 5 s)" },                                \
	{ "no-bpf", 0, OPT_FLAG, &(m)->no_bpf, NULL, "stay off BPF, as on kernels without it" }
/* clang-format on */

/* Reads the configuration and makes the state directory. `kind` is who records. CLI_OK, or another
 * status: told. */
int machine_engine_open(const struct cli *cli, const char *kind, struct machine_engine *m);
void machine_engine_done(struct machine_engine *m);
/* What may change while it goes on, as this configuration has it. */
struct engine_tuning machine_engine_tuning(const struct machine_engine *m,
                                           const struct config *config);
/* The last words; what it did and cost. */
void machine_engine_tell_end(const struct engine_totals *t, uint64_t wall_ns);
