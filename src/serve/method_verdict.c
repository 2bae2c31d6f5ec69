/* SPDX-License-Identifier: MIT */
/* job.verdict: what killed processes of the caller's user. Its recorder sees that they died of SIGKILL,
 * but not why. */
#include <errno.h>

#include "rpc/rpc_params.h"
#include "serve/methods.h"

#define PROCESSES_MAX 16

static int process_param(const json_t *one, struct proc_id *ret, struct err *err)
{
	uint64_t pid = 0, start_ticks = 0;

	if (!json_is_object(one))
		return err_set(err, EINVAL, "processes: each is an object with a pid");
	if (rpc_params_u64(one, "pid", 1, INT32_MAX, &pid, err) < 0 ||
	    rpc_params_u64(one, "start_ticks", 0, INT64_MAX, &start_ticks, err) < 0)
		return -err->code;
	if (!pid)
		return err_set(err, EINVAL, "processes: each needs a pid");
	*ret = (struct proc_id){ (pid_t)pid, start_ticks };
	return 0;
}

static int processes_param(const json_t *params, struct proc_id ret[static PROCESSES_MAX],
                           size_t *ret_n, struct err *err)
{
	const json_t *list = json_object_get(params, "processes");
	size_t n = json_array_size(list);

	if (!json_is_array(list) || n > PROCESSES_MAX)
		return err_set(err, EINVAL, "processes: a list of at most %d is needed",
		               PROCESSES_MAX);
	for (size_t i = 0; i < n; i++)
		if (process_param(json_array_get(list, i), &ret[i], err) < 0)
			return -err->code;
	*ret_n = n;
	return 0;
}

static void write_sender(struct json *j, const struct recent_death *d)
{
	json_key(j, "sender");
	if (d->is_oom || d->kill.pid < 0) {
		json_nil(j);
		return;
	}
	json_begin_object(j);
	json_key(j, "pid");
	d->kill.pid ? json_i64(j, d->kill.pid) : json_nil(j);
	json_key(j, "uid");
	d->kill.pid ? json_u64(j, d->kill.uid) : json_nil(j);
	json_put_str(j, "name", d->kill.pid ? d->kill.comm : "kernel");
	json_end_object(j);
}

METHOD(method_job_verdict)
{
	struct methods *m = self;
	uint32_t uid = methods_trusts(peer) ? RECENT_DEATHS_OF_ALL : peer->uid;
	struct proc_id ids[PROCESSES_MAX];
	bool sees;
	size_t n = 0;

	if (!m->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (processes_param(params, ids, &n, err) < 0)
		return -err->code;
	sees = engine_jobs(m->host.engine)->sources.totals;
	if (sees && n)
		engine_flush(m->host.engine);
	json_begin_object(result);
	json_put_str(result, "source", sees ? cause_source_name(CAUSE_SOURCE_BPF) : NULL);
	json_open_array(result, "processes");
	for (size_t i = 0; i < n; i++) {
		const struct recent_death *d = recent_deaths_find(&m->deaths, ids[i], uid);

		if (!d)
			continue;
		json_begin_object(result);
		json_put_i64(result, "pid", d->id.pid);
		json_put_i64(result, "start_ticks", (int64_t)d->id.start_ticks);
		json_put_bool(result, "oom", d->is_oom);
		write_sender(result, d);
		json_end_object(result);
	}
	json_end_array(result);
	json_end_object(result);
	return 0;
}
