/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "job/pressure.h"
#include "model/snapshot_json.h"
#include "rpc/rpc_params.h"
#include "serve/peer_scope.h"
#include "serve/resource_context.h"
#include "serve/methods.h"

METHOD(method_context_get)
{
	struct peer_scope visible;
	uint64_t pid = 0;
	int r = rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err);

	if (r < 0)
		return r;
	resource_context_put(methods_latest(self), peer_scope(peer, &visible), (pid_t)pid, result);
	return 0;
}

static int judged(const struct methods *m, struct pressure *ret, struct err *err)
{
	const struct pressure *p = m->host.pressure ? m->host.pressure(m->host.self) : NULL;

	if (!p)
		return err_set(err, EAGAIN, "nothing was looked at yet");
	*ret = *p;
	return 0;
}

METHOD(method_pressure_get)
{
	struct pressure p;
	int r = judged(self, &p, err);

	(void)peer, (void)params;
	if (r < 0)
		return r;
	json_begin_object(result);
	json_put_str(result, "level", pressure_name(p.level));
	json_put_str(result, "reason", p.why[0] ? p.why : NULL);
	json_put_u64(result, "delay_seconds", pressure_delay_s(p.level));
	json_end_object(result);
	return 0;
}

/* "job" or "sheet": which of the two is to be started. */
static int is_job(const json_t *params, bool *ret, struct err *err)
{
	const char *what = "job";

	if (rpc_params_text(params, "what", 16, &what, err) < 0)
		return -err->code;
	if (strcmp(what, "job") != 0 && strcmp(what, "sheet") != 0)
		return err_set(err, EINVAL, "what is 'job' or 'sheet'");
	*ret = strcmp(what, "job") == 0;
	return 0;
}

static void put_limit(struct json *j, const char *key, uint64_t n, bool is_mib)
{
	json_key(j, key);
	if (!n)
		json_nil(j);
	else if (is_mib)
		metric_json(j, UNIT_MIB, n);
	else
		json_u64(j, n);
}

static void put_facts(struct json *j, const struct pressure_facts *f)
{
	json_open_object(j, "based_on");
	put_limit(j, "memory_used_mb", f->memory_used, true);
	put_limit(j, "memory_limit_mb", f->memory_limit, true);
	put_limit(j, "system_memory_used_mb", f->machine_used, true);
	put_limit(j, "system_memory_total_mb", f->machine_total, true);
	put_limit(j, "processes", f->processes, false);
	put_limit(j, "processes_limit", f->processes_limit, false);
	json_key(j, "psi_memory_percent");
	json_double(j, f->memory_stall_ratio * 100, 2);
	json_end_object(j);
}

METHOD(method_admit)
{
	struct pressure p;
	const char *job_type = NULL; /* what such jobs took before will count some day */
	bool is_new_job = true;

	(void)peer;
	if (rpc_params_text(params, "job_type", 128, &job_type, err) < 0 ||
	    judged(self, &p, err) < 0 || is_job(params, &is_new_job, err) < 0)
		return -err->code;
	json_begin_object(result);
	json_put_bool(result, "allowed", pressure_admits(p.level, is_new_job));
	json_put_u64(result, "delay_seconds", pressure_delay_s(p.level));
	json_put_str(result, "pressure_level", pressure_name(p.level));
	json_put_str(result, "reason", p.why[0] ? p.why : NULL);
	put_facts(result, &p.facts);
	json_end_object(result);
	return 0;
}
