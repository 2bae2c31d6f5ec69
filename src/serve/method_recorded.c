/* SPDX-License-Identifier: MIT */
/* What was recorded. It is read on the loop, so it is bounded: by the reader's own time and by the
 * limits here. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "model/codec.h"
#include "rpc/params.h"
#include "serve/methods.h"
#include "store/reader_job.h"

#define POINTS_DEFAULT 1000
#define POINTS_MAX 10000

static int open_store(const struct methods *m, struct reader **ret, struct err *err)
{
	int r;

	if (!m->host.db_path)
		return err_set(err, ENOENT, "nothing is recorded here");
	r = reader_open(m->host.db_path, ret, err);
	return r == -ENOENT ? err_set(err, ENOENT, "nothing is recorded yet") : r;
}

/* One that is recorded here and is his; by its id in full, and at a door the door's own. */
static int find_recorded(const struct methods *m, struct reader *reader,
                         const struct server_peer *peer, const json_t *params, struct job *ret,
                         struct err *err)
{
	const struct jobtab *t = m->host.jobs(m->host.self);
	const char *id = !m->host.start_job && t->jobs.len ? t->jobs.at[0].id : NULL;
	int r = params_text(params, "job_id", JOB_ID_MAX - 1, &id, err);

	if (r == 0 && !id)
		return err_set(err, EINVAL, "job_id is needed");
	if (r == 0)
		r = reader_find_job(reader, id, ret, err);
	if (r == -EEXIST || (r == 0 && strcmp(ret->id, id) != 0) ||
	    (r == 0 && !methods_has_job(peer, ret)))
		r = -ENOENT;
	return r == -ENOENT ? err_set(err, ENOENT, "there is no job '%s'", id) : r;
}

METHOD(method_job_report)
{
	const struct methods *m = self;
	cleanup(reader_closep) struct reader *reader = NULL;
	struct job job;

	if (!m->host.report)
		return err_set(err, EAGAIN, "nobody can report here");
	if (open_store(m, &reader, err) < 0 ||
	    find_recorded(m, reader, peer, params, &job, err) < 0)
		return -err->code;
	return m->host.report(m->host.self, job.id, result, err);
}

static void put_mib(struct json *j, const char *key, uint64_t bytes)
{
	json_key(j, key);
	codec_value(j, UNIT_MIB, bytes);
}

static void put_profile(struct json *j, const struct profile *p)
{
	char num[16];

	json_begin_object(j);
	json_key(j, "job_id");
	json_str(j, p->job_id);
	put_mib(j, "peak_rss_mb", p->peak_rss_bytes);
	json_key(j, "total_cpu_seconds");
	codec_value(j, UNIT_NS, p->cpu_time_ns);
	json_key(j, "process_spawn_count");
	json_u64(j, p->spawns);
	json_key(j, "unique_pid_count");
	json_u64(j, p->unique_pids);
	json_key(j, "syscall_hotspots");
	json_begin_object(j);
	json_end_object(j);
	json_key(j, "sheet_metrics");
	json_begin_object(j);
	vec_each(&p->sheets, sheet) {
		snprintf(num, sizeof num, "%u", sheet->num);
		json_key_text(j, num);
		json_begin_object(j);
		put_mib(j, "peak_rss_mb", sheet->peak_rss_bytes);
		json_key(j, "max_cpu_pct");
		json_double(j, sheet->max_cpu_ratio * 100, 2);
		json_end_object(j);
	}
	json_end_object(j);
	json_end_object(j);
}

METHOD(method_job_profile)
{
	cleanup(reader_closep) struct reader *reader = NULL;
	cleanup(profile_done) struct profile profile = { 0 };
	struct job job;

	if (open_store(self, &reader, err) < 0 ||
	    find_recorded(self, reader, peer, params, &job, err) < 0 ||
	    reader_profile(reader, job.id, &profile, err) < 0)
		return -err->code;
	put_profile(result, &profile);
	return 0;
}

/* ---- process.history ------------------------------------------------------------------------- */

static int put_point(void *self, const struct reader_point *p)
{
	struct json *j = self;

	json_begin_object(j);
	json_key(j, "timestamp");
	json_fixed(j, p->wall_ns / NS_PER_US, 6);
	json_key(j, "snapshot_id");
	json_i64(j, p->snapshot);
	json_key(j, "start_ticks");
	json_u64(j, p->process.start_ticks);
	json_key(j, "state");
	json_strn(j, &p->state, 1);
	json_key(j, "cpu_percent");
	json_double(j, p->cpu_ratio * 100, 2);
	codec_readings(j, proc_metrics, PROC_METRIC_COUNT, p->r.present, p->r.value);
	json_end_object(j);
	return 0;
}

METHOD(method_process_history)
{
	cleanup(reader_closep) struct reader *reader = NULL;
	uint32_t uid = methods_trusts(peer) ? READER_ANY_UID : peer->uid;
	struct reader_cursor at = { 0 };
	uint64_t pid = 0, limit = POINTS_DEFAULT;
	int n;

	if (params_u64(params, "pid", 1, INT32_MAX, &pid, err) < 0 ||
	    params_time(params, "since", &at.since_ns, err) < 0 ||
	    params_u64(params, "limit", 1, POINTS_MAX, &limit, err) < 0)
		return -err->code;
	if (!pid)
		return err_set(err, EINVAL, "pid is needed");
	if (open_store(self, &reader, err) < 0)
		return -err->code;
	json_begin_object(result);
	json_key(result, "pid");
	json_u64(result, pid);
	json_key(result, "points");
	json_begin_array(result);
	n = reader_history(reader, (pid_t)pid, uid, &at, limit, put_point, result, err);
	json_end_array(result);
	json_key(result, "more");
	json_bool(result, n >= 0 && (uint64_t)n == limit);
	json_end_object(result);
	return MIN(n, 0);
}
