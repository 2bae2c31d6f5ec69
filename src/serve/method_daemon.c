/* SPDX-License-Identifier: MIT */
#include <unistd.h>

#include "base/clock.h"
#include "model/codec.h"
#include "rpc/params.h"
#include "serve/methods.h"

#define EVENTS_DEFAULT 50

METHOD(method_hello)
{
	(void)self, (void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_key(result, "protocol");
	json_u64(result, SERVE_PROTOCOL);
	json_key(result, "version");
	json_str(result, PROCTOR_VERSION);
	json_key(result, "capabilities");
	json_begin_array(result);
	for (const struct server_method *m = serve_methods; m->name; m++)
		json_str(result, m->name);
	json_end_array(result);
	json_end_object(result);
	return 0;
}

static uint32_t count_running(const struct jobtab *t)
{
	uint32_t n = 0;

	vec_each(&t->sheets, sheet)
		n += sheet->status == JOB_RUNNING;
	return n;
}

METHOD(method_status)
{
	const struct methods *m = self;
	const struct jobtab *t = m->host.jobs(m->host.self);
	const struct job *job = t->jobs.len ? &t->jobs.at[0] : NULL;

	(void)peer, (void)params, (void)err;
	json_begin_object(result);
	json_key(result, "kind");
	json_str(result, "run");
	json_key(result, "pid");
	json_i64(result, getpid());
	json_key(result, "version");
	json_str(result, PROCTOR_VERSION);
	json_key(result, "protocol");
	json_u64(result, SERVE_PROTOCOL);
	json_key(result, "job_id");
	json_str(result, job ? job->id : NULL);
	json_key(result, "uptime_seconds");
	json_fixed(result, (clock_mono_ns() - m->opened_mono_ns) / NS_PER_MS, 3);
	json_key(result, "tier");
	json_str(result, job && job->tier[0] ? job->tier : NULL);
	json_key(result, "active_sheets");
	json_u64(result, count_running(t));
	json_end_object(result);
	return 0;
}

METHOD(method_top)
{
	const struct methods *m = self;
	const struct snapshot *snap = m->host.latest(m->host.self);

	(void)peer, (void)params, (void)err;
	if (snap)
		codec_snapshot(result, snap);
	else
		json_nil(result);
	return 0;
}

METHOD(method_events)
{
	const struct methods *m = self;
	uint64_t limit = EVENTS_DEFAULT;
	int r = params_u64(params, "limit", 0, INT32_MAX, &limit, err);

	(void)peer;
	if (r < 0)
		return r;
	json_begin_object(result);
	json_key(result, "events");
	recent_put(&m->recent, limit, result);
	json_end_object(result);
	return 0;
}
