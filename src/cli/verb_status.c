/* SPDX-License-Identifier: MIT */
/* verb_status.c - `proctor status`: the health of the daemon. */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/user_names.h"
#include "cli/daemon_client.h"
#include "cli/storage_estimate.h"
#include "model/anomaly.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_message.h"
#include "view/status_view.h"

static double mib(double v)
{
	return v * (1 << 20);
}

/* The worst first. */
static void add_anomalies(const json_t *list, struct status_facts *to)
{
	size_t n = 0;

	to->anomalies_active = json_array_size(list);
	for (int severity = SEVERITY_COUNT - 1; severity >= 0; severity--)
		for (size_t i = 0; i < json_array_size(list) && n < STATUS_ANOMALIES; i++) {
			const json_t *a = json_array_get(list, i);
			const char *name = rpc_answer_text(a, "severity");

			if (name ? strcmp(name, anomaly_severity_name(severity)) != 0
			         : severity > 0)
				continue;
			to->anomalies[n++] = (struct status_anomaly){
				.type = rpc_answer_text(a, "anomaly_type"),
				.job_id = rpc_answer_text(a, "job_id"),
				.pid = (pid_t)rpc_answer_u64(a, "pid"),
			};
		}
}

static void add_jobs(const json_t *list, struct user_names *users, struct status_facts *to)
{
	to->n_jobs = MIN(json_array_size(list), (size_t)STATUS_JOBS);
	for (size_t i = 0; i < to->n_jobs; i++) {
		const json_t *job = json_array_get(list, i);
		uint32_t uid = (uint32_t)rpc_answer_u64(job, "uid");

		to->jobs[i] = (struct status_job){
			.id = rpc_answer_text(job, "job_id"),
			.user = user_names_name(users, uid),
			.uid = uid,
			.age_ns = rpc_answer_ns(job, "age_seconds"),
			.cpu_ratio = rpc_answer_number(job, "cpu_percent") / 100,
			.used_bytes = mib(rpc_answer_number(job, "used_mb")),
		};
	}
}

static struct status_facts facts_of(const json_t *a, const char *socket)
{
	const json_t *store = json_object_get(a, "store"), *losses = json_object_get(a, "losses");
	const json_t *quota = json_object_get(losses, "over_quota");

	return (struct status_facts){
		.socket = socket,
		.version = rpc_answer_text(a, "version"),
		.tier = rpc_answer_text(a, "tier"),
		.pressure = rpc_answer_text(a, "pressure_level"),
		.pressure_reason = rpc_answer_text(a, "pressure_reason"),
		.store_path = rpc_answer_text(store, "path"),
		.trouble = rpc_answer_text(store, "reason"),
		.config_problem = rpc_answer_text(a, "config_problem"),
		.pid = (pid_t)rpc_answer_u64(a, "pid"),
		.is_enabled = rpc_answer_is(a, "enabled"),
		.uptime_ns = rpc_answer_ns(a, "uptime_seconds"),
		.interval_ns = rpc_answer_ns(a, "interval_seconds"),
		.configured_interval_ns = rpc_answer_ns(a, "configured_interval_seconds"),
		.left_out = rpc_answer_text(a, "left_out"),
		.cpu_ns = rpc_answer_ns(a, "cpu_seconds"),
		.storage = { .store_bytes = rpc_answer_u64(store, "bytes"),
		             .wal_bytes = rpc_answer_u64(store, "wal_bytes"),
		             .jsonl_bytes = rpc_answer_u64(store, "jsonl_bytes") },
		.cpu_ratio = rpc_answer_number(a, "cpu_percent") / 100,
		.rss_bytes = mib(rpc_answer_number(a, "rss_mb")),
		.processes = rpc_answer_u64(a, "processes"),
		.running_jobs = rpc_answer_u64(a, "running_jobs"),
		.active_sheets = rpc_answer_u64(a, "active_sheets"),
		.clients = rpc_answer_u64(a, "clients"),
		.lost_snapshots = rpc_answer_u64(losses, "snapshots"),
		.lost_events = rpc_answer_u64(losses, "events"),
		.unread_events = rpc_answer_u64(losses, "unread_events"),
		.missed_ticks = rpc_answer_u64(losses, "missed_ticks"),
		.hanging_processes = rpc_answer_u64(losses, "hanging_processes"),
		.refused_reads = rpc_answer_u64(losses, "refused_reads"),
		.over_quota_samples = rpc_answer_u64(quota, "samples"),
		.over_quota_events = rpc_answer_u64(quota, "events"),
	};
}

/* For users who can read the daemon's store: root, and the owner of their own daemon. */
static struct history_storage estimate(const struct cli *cli, const json_t *answer)
{
	struct history_storage found = { (double)NAN, (double)NAN };
	const char *path = rpc_answer_text(json_object_get(answer, "store"), "path");
	struct config config;

	if (path && cli_config_to_read(cli, &config) == CLI_OK)
		found = storage_estimate(path, &config);
	return found;
}

/* The same document whether it answers or not; `problem` is why not. */
static void put_json(struct json *j, const struct daemon_client *ask, const char *problem,
                     const json_t *answer, struct history_storage growth)
{
	json_begin_object(j);
	json_put_u64(j, "schema", 1);
	json_put_bool(j, "running", ask->is_there);
	json_put_str(j, "socket", ask->path);
	json_key(j, "pid");
	ask->pid ? json_i64(j, ask->pid) : json_nil(j);
	json_put_str(j, "problem", problem);
	json_key(j, "status");
	rpc_message_put_value(j, answer);
	json_put_double(j, "growth_bytes_per_day_estimate", growth.growth_bytes_per_day, 0);
	json_put_double(j, "retention_frees_bytes_per_day_estimate", growth.freed_bytes_per_day, 0);
	json_end_object(j);
}

static int show(const struct cli *cli, const struct daemon_client *ask, const char *problem,
                const json_t *answer)
{
	struct cli_page page;
	cleanup(user_names_done) struct user_names users = { 0 };
	struct history_storage growth = estimate(cli, answer);
	struct status_facts facts;

	cli_page_begin(&page, cli);
	if (cli->json) {
		put_json(&page.json, ask, problem, answer, growth);
	} else if (answer) {
		facts = facts_of(answer, ask->path);
		facts.storage.growth_bytes_per_day = growth.growth_bytes_per_day;
		facts.storage.freed_bytes_per_day = growth.freed_bytes_per_day;
		add_anomalies(json_object_get(answer, "anomalies_active"), &facts);
		add_jobs(json_object_get(answer, "jobs"), &users, &facts);
		status_view(&facts, &page.canvas);
	}
	return cli_page_end(&page);
}

static int ask_status(const struct cli *cli, const char *socket)
{
	struct daemon_client ask;
	json_t *answer = NULL;
	struct err err;
	int r = daemon_client_open(socket, &ask, &err), status;

	if (r == 0)
		r = daemon_client_call(&ask, "daemon.status", NULL, &answer, &err);
	status = show(cli, &ask, r < 0 ? err.msg : NULL, answer);
	if (r < 0)
		status = daemon_client_log(&err);
	json_decref(answer);
	daemon_client_close(&ask);
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const char *socket = NULL;
	const struct opt opts[] = { DAEMON_CLIENT_OPT(&socket), CLI_COMMON_OPTS(cli) };
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words)
		return cli_usage(cli, "takes options only; one job: proctor report %s", argv[1]);
	return ask_status(cli, socket);
}

const struct verb verb_status = {
	.name = "status",
	.summary = "daemon health: tier, cost, store, losses, jobs",
	.usage = "[--socket PATH] [--json]",
	.about =
		"Asks the daemon that PROCTOR_SOCKET names, else your own, else the machine's. Exit status 4: there\n"
		"is none, or it does not answer; --json then has the reason in `problem`.",
	.example = "proctor status",
	.run = run,
};
