/* SPDX-License-Identifier: MIT */
/* verb_daemon.c - `proctor daemon`: watches the whole machine and answers on a socket, until stopped. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/daemon_client.h"
#include "cli/machine_engine.h"
#include "config/config_key.h"
#include "config/socket_path.h"
#include "daemon/daemon.h"

#define INTERVAL_MIN_NS NS_PER_S

static const char about[] =
	"Records every process of this machine into the store, and answers on a socket: `proctor status`,\n"
	"`pressure`, jobs that announce themselves, and any program (docs/rpc.md). It stays in the\n"
	"foreground, and supports socket activation (LISTEN_FDS) and notification (NOTIFY_SOCKET).\n"
	"SIGTERM ends it, SIGHUP reloads the configuration. Exit status 1: it could not start, or its last\n"
	"snapshot could not be stored; a disk that was full for a while leaves a gap, and is no failure.";

struct hosted {
	const struct cli *cli;
	struct machine_engine machine;
	const char *socket;
	char socket_path[CONFIG_PATH_MAX];
};

/* Some settings are read only at the start; a change of one must not seem to be in force. */
static void warn_waiting(const struct config *in_force, const struct config *read)
{
	cleanup(buf_done) struct buf names = { 0 };

	for (const struct config_key *key = config_keys; key->section; key++)
		if (key->at_start && !config_key_eq(key, in_force, read))
			buf_printf(&names, "%s%s.%s", names.len ? ", " : "", key->section,
			           key->name);
	if (names.len)
		log_warn("changed, effective after a restart: %.*s", (int)names.len, names.at);
}

static int reload(void *self, struct engine_tuning *ret, struct err *err)
{
	struct hosted *h = self;
	struct config config;

	if (cli_reload(h->cli, &config, err) < 0)
		return -err->code;
	*ret = machine_engine_tuning(&h->machine, &config);
	warn_waiting(&h->machine.config, &config);
	return 0;
}

static int find_socket(struct hosted *h)
{
	const struct socket_path_env env = socket_path_environment(h->socket);
	struct err err;

	/* One that is inherited needs no place. */
	if (socket_path_own(&env, h->socket_path, &err) == 0 || getenv("LISTEN_FDS"))
		return CLI_OK;
	return cli_failed(&err);
}

static int host(struct hosted *h)
{
	const struct config_limits *limits = &h->machine.config.limits;
	cleanup(freep) char *trace_dir = xasprintf("%s/traces", h->machine.state_dir);
	const struct daemon_options options = {
		.engine = h->machine.engine,
		.is_enabled = h->machine.config.profiler.enabled,
		.socket_path = h->socket_path,
		.reload = reload,
		.self = h,
		.pattern_interval_ns = h->machine.config.correlation.interval_ns,
		.pattern_jobs_min = h->machine.config.correlation.min_sample_size,
		.clients_max = (unsigned)limits->max_clients,
		.clients_per_uid_max = (unsigned)limits->max_clients_per_user,
		.traces = { .is_allowed = h->machine.config.profiler.strace_full_on_demand,
		            .dir = trace_dir,
		            .max_running = (unsigned)limits->max_traces,
		            .max_running_per_uid = (unsigned)limits->max_traces_per_user,
		            .max_files = (unsigned)limits->max_trace_files,
		            .max_bytes = limits->max_trace_bytes },
	};
	uint64_t began_ns = clock_mono_ns();
	struct engine_totals totals;
	struct err err;

	if (daemon_run(&options, &totals, &err) < 0)
		return machine_engine_failed(&err);
	machine_engine_log_end(&totals, clock_mono_ns() - began_ns);
	return totals.recorder.is_storing ? CLI_OK : CLI_FAILED;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct hosted h = { .cli = cli, .machine.interval_ns = UINT64_MAX };
	const struct opt opts[] = {
		MACHINE_ENGINE_OPTS(&h.machine),
		{ "socket", 0, OPT_PATH, &h.socket, "PATH", "socket to answer on" },
		CLI_COMMON_OPTS(cli),
	};
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "takes options only");
	if (h.machine.interval_ns < INTERVAL_MIN_NS)
		return cli_usage(cli, "--interval must be 1 s or more");
	status = find_socket(&h);
	if (status == CLI_OK)
		status = machine_engine_open(cli, "daemon", &h.machine);
	if (status == CLI_OK)
		status = host(&h);
	machine_engine_done(&h.machine);
	return status;
}

const struct verb verb_daemon = {
	.name = "daemon",
	.summary = "watch the whole machine and answer on a socket",
	.usage = "[--interval SECONDS] [--socket PATH]",
	.about = about,
	.instead_of_json = "ask it: proctor status --json",
	.example = "proctor daemon --interval 1",
	.run = run,
};
