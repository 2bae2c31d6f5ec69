/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/pressure.h"
#include "kernel/own_memory.h"
#include "model/snapshot_json.h"
#include "model/record_fields.h"
#include "rpc/rpc_message.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"

#define EVENTS_DEFAULT 50

METHOD(method_hello)
{
	(void)self, (void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_put_u64(result, "protocol", SERVE_PROTOCOL);
	json_put_str(result, "version", PROCTOR_VERSION);
	json_open_array(result, "capabilities");
	for (const struct rpc_server_method *m = serve_methods; m->name; m++)
		json_str(result, m->name);
	json_end_array(result);
	json_end_object(result);
	return 0;
}

/* ---- daemon.status --------------------------------------------------------------------------- */

static void write_job_counts(struct json *j, const struct resource_context_jobs *jobs)
{
	json_put_u64(j, "running_jobs", jobs->running);
	json_put_u64(j, "total_jobs_active", jobs->running);
	json_put_u64(j, "active_sheets", jobs->active_sheets);
}

/* Those that the caller may see and that run: whose, how old, and what they used up to the last tick. */
static void write_running(struct json *j, const struct methods *m,
                          const struct rpc_server_peer *peer)
{
	const struct snapshot *snap = methods_latest(m);
	uint64_t now_ns = clock_wall_ns();
	size_t known = snap ? MIN(snap->sums.len, snap->jobs.len) : 0, at = 0;

	json_open_array(j, "jobs");
	vec_each(&methods_jobs(m)->rows, row) {
		const struct job *job = &(*row)->job;
		const struct job_sum *sum;

		/* Both are in the order in which jobs came; some are gone since the tick, or are new. */
		while (at < known && snap->jobs.at[at].handle != job->handle)
			at++;
		sum = at < known ? &snap->sums.at[at++] : NULL;
		if (job->status != JOB_RUNNING || !methods_has_job(peer, job))
			continue;
		json_begin_object(j);
		json_put_str(j, "job_id", job->id);
		json_put_u64(j, "uid", job->uid);
		json_put_fixed(j, "age_seconds",
		               (now_ns - MIN(job->started_ns, now_ns)) / NS_PER_MS, 3);
		json_key(j, "cpu_percent");
		sum ? json_double(j, sum->cpu_ratio * 100, 3) : json_nil(j);
		json_key(j, "used_mb");
		field_figure_json(j, UNIT_MIB, sum ? sum->used : (struct figure){ 0 });
		json_end_object(j);
	}
	json_end_array(j);
}

/* Open episodes: those of the caller, and those of the whole machine. */
static void write_anomalies(struct json *j, const struct snapshot *snap,
                            const struct rpc_server_peer *peer)
{
	struct peer_scope visible;
	const struct snapshot_scope *scope = methods_scope(peer, &visible);
	cleanup(buf_done) struct buf text = { 0 };

	json_open_array(j, "anomalies_active");
	for (size_t i = 0; snap && i < snap->anomalies.len; i++) {
		const struct anomaly *a = &snap->anomalies.at[i];
		struct anomaly_record record;

		if (a->news == ANOMALY_ENDED || !snapshot_scope_has_anomaly(scope, snap, a))
			continue;
		record = history_record_of_anomaly(a, snap, &text);
		if (!snapshot_scope_has_job(scope, snap, a->job)) {
			record.job_id = NULL;
			record.has_job_uid = false;
		}
		field_table_json_object(j, &anomaly_fields, &record);
	}
	json_end_array(j);
}

/* Read now: a client may ask before the first tick. */
static void write_own_memory(struct json *j)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	uint64_t bytes;

	json_key(j, "memory_usage_mb");
	own_memory_read(root_fd, &bytes) ? field_metric_json(j, UNIT_MIB, bytes) : json_nil(j);
}

static void write_store(struct json *j, const struct methods *m, const struct serve_status *s)
{
	const struct recorder_status *r = &s->engine.totals.recorder;

	json_open_object(j, "store");
	json_put_str(j, "path", m->host.db_path);
	json_put_u64(j, "bytes", s->sizes.store);
	json_put_u64(j, "wal_bytes", s->sizes.wal);
	json_put_u64(j, "jsonl_bytes", s->sizes.jsonl);
	json_put_bool(j, "is_storing", s->is_enabled && r->is_storing);
	json_put_str(j, "reason", s->is_enabled && !r->is_storing ? r->reason : NULL);
	json_put_u64(j, "snapshots", r->stored);
	json_end_object(j);
	json_open_object(j, "losses");
	json_put_u64(j, "snapshots", r->lost);
	json_put_u64(j, "events", r->events_lost);
	json_put_u64(j, "unread_events", s->engine.totals.unread_events);
	json_put_u64(j, "missed_ticks", s->engine.totals.missed_ticks);
	json_put_u64(j, "hanging_processes", s->engine.totals.hangs.found);
	json_put_u64(j, "refused_reads", s->engine.totals.hangs.refused);
	json_open_object(j, "over_quota");
	json_put_u64(j, "samples", r->left_out.samples);
	json_put_u64(j, "events", r->left_out.events);
	json_put_u64(j, "processes", r->left_out.processes);
	json_end_object(j);
	json_end_object(j);
}

static void write_cost(struct json *j, const struct snapshot *snap, const struct serve_status *s)
{
	json_put_fixed(j, "cpu_seconds", s->engine.totals.cpu_ns / NS_PER_MS, 3);
	json_key(j, "cpu_percent");
	snap ? json_double(j, snap->self_cpu_ratio * 100, 2) : json_nil(j);
	json_key(j, "rss_mb");
	if (snap && readings_has(&snap->host, HOST_SELF_RSS))
		field_metric_json(j, UNIT_MIB, snap->host.value[HOST_SELF_RSS]);
	else
		json_nil(j);
}

static void write_daemon(struct json *j, const struct methods *m,
                         const struct rpc_server_peer *peer)
{
	const struct snapshot *snap = methods_latest(m);
	const struct pressure *p = m->host.engine ? engine_pressure(m->host.engine) : NULL;
	struct serve_status s = { 0 };

	m->host.daemon->status(m->host.daemon_self, &s);
	json_put_text(j, "tier", s.tier);
	json_put_bool(j, "enabled", s.is_enabled);
	json_put_fixed(j, "interval_seconds", s.engine.interval_ns / NS_PER_MS, 3);
	json_put_fixed(j, "configured_interval_seconds",
	               s.engine.configured_interval_ns / NS_PER_MS, 3);
	json_put_str(j, "left_out", s.engine.left_out);
	write_cost(j, snap, &s);
	json_key(j, "processes");
	snap ? json_u64(j, snap->procs.len) : json_nil(j);
	json_put_u64(j, "events", s.engine.totals.events);
	json_put_str(j, "pressure_level", p ? pressure_name(p->level) : NULL);
	json_put_text(j, "pressure_reason", p ? p->why : "");
	write_running(j, m, peer);
	json_put_u64(j, "clients", rpc_server_clients(m->server));
	write_store(j, m, &s);
	json_put_str(j, "config_problem", s.config_problem);
}

static void write_door(struct json *j, const struct job *job)
{
	json_put_str(j, "job_id", job ? job->id : NULL);
	json_put_text(j, "tier", job ? job->tier : "");
}

METHOD(method_status)
{
	struct methods *m = self;
	const struct job_roster *t = methods_jobs(m);
	struct resource_context_jobs jobs = methods_count_jobs(m, peer);

	(void)params, (void)err;
	json_begin_object(result);
	json_put_str(result, "kind",
	             m->host.kind     ? m->host.kind
	             : m->host.daemon ? "daemon"
	                              : "run");
	json_put_i64(result, "pid", getpid());
	json_put_str(result, "version", PROCTOR_VERSION);
	json_put_u64(result, "protocol", SERVE_PROTOCOL);
	json_put_fixed(result, "uptime_seconds", (clock_mono_ns() - m->opened_mono_ns) / NS_PER_MS,
	               3);
	write_job_counts(result, &jobs);
	write_own_memory(result);
	write_anomalies(result, methods_latest(m), peer);
	if (m->host.daemon)
		write_daemon(result, m, peer);
	else
		write_door(result, t->rows.len ? &t->rows.at[0]->job : NULL);
	json_end_object(result);
	return 0;
}

METHOD(method_health)
{
	const struct methods *m = self;

	(void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_put_str(result, "status", "ok");
	json_put_i64(result, "pid", getpid());
	json_put_fixed(result, "uptime_seconds", (clock_mono_ns() - m->opened_mono_ns) / NS_PER_MS,
	               3);
	json_put_bool(result, "shutting_down", false); /* then the socket is closed */
	json_end_object(result);
	return 0;
}

/* ---- daemon.top ------------------------------------------------------------------------------ */

static void write_top(struct methods *m, const struct rpc_server_peer *peer, struct json *j)
{
	const struct snapshot *snap = methods_latest(m);
	struct peer_scope visible;

	if (snap)
		snapshot_json(j, snap, methods_scope(peer, &visible));
	else
		json_nil(j);
}

METHOD(method_top)
{
	(void)params, (void)err;
	write_top(self, peer, result);
	return 0;
}

/* A slow reader gets the latest snapshot when it reads, and skips those in between. */
struct top_feed {
	struct methods *methods;
	struct rpc_server_peer peer;
	uint64_t seq; /* of the last one sent */
};

static bool next_top(void *self, struct json *out)
{
	struct top_feed *f = self;
	const struct snapshot *snap = methods_latest(f->methods);

	if (!snap || snap->seq == f->seq)
		return false;
	f->seq = snap->seq;
	rpc_message_begin_notification(out, "daemon.top");
	write_top(f->methods, &f->peer, out);
	rpc_message_end(out);
	return true;
}

static void subscribe_top(struct methods *m, const struct rpc_server_peer *peer)
{
	struct top_feed *f = xcalloc(1, sizeof *f);
	const struct rpc_server_feed feed = { f, next_top, free, .is_large = true };

	f->methods = m;
	f->peer = *peer;
	rpc_session_set_feed(peer->session, &feed);
}

METHOD(method_top_stream)
{
	struct methods *m = self;
	bool subscribes = false;

	if (rpc_params_bool(params, "subscribe", &subscribes, err) < 0)
		return -err->code;
	if (subscribes)
		subscribe_top(m, peer);
	json_begin_object(result);
	json_put_str(result, "jsonl_path", m->host.jsonl_path);
	json_end_object(result);
	return 0;
}

METHOD(method_events)
{
	struct methods *m = self;
	uint64_t limit = EVENTS_DEFAULT;
	bool is_notable = false;

	if (rpc_params_u64(params, "limit", 0, INT32_MAX, &limit, err) < 0 ||
	    rpc_params_bool(params, "notable", &is_notable, err) < 0)
		return -err->code;
	json_begin_object(result);
	json_key(result, "events");
	recent_events_json(result, is_notable ? &m->notable : &m->recent,
	                   methods_trusts(peer) ? RECENT_EVENTS_OF_ALL : peer->uid, limit);
	json_end_object(result);
	return 0;
}
