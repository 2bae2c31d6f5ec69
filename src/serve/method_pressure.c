/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <string.h>

#include "job/pressure.h"
#include "model/field.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"
#include "serve/resource_context.h"

METHOD(method_context_get)
{
	struct peer_scope visible;
	uint64_t pid = 0;
	int r = rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err);

	if (r < 0)
		return r;
	resource_context_json(result, methods_latest(self), methods_scope(peer, &visible),
	                      (pid_t)pid);
	return 0;
}

/* NULL: see err. */
static const struct pressure *get_pressure(const struct methods *m, struct err *err)
{
	const struct pressure *p = m->host.engine ? engine_pressure(m->host.engine) : NULL;

	if (!p)
		(void)err_set(err, EAGAIN, "there was no tick yet");
	return p;
}

METHOD(method_pressure_get)
{
	const struct pressure *p = get_pressure(self, err);

	(void)peer, (void)params;
	if (!p)
		return -err->code;
	json_begin_object(result);
	json_put_str(result, "level", pressure_name(p->level));
	json_put_text(result, "reason", p->why);
	json_put_u64(result, "delay_seconds", pressure_delay_s(p->level));
	json_end_object(result);
	return 0;
}

/* Whether a job or a sheet is to be started. */
static int what_param(const json_t *params, bool *ret_is_job, struct err *err)
{
	const char *what = "job";

	if (rpc_params_text(params, "what", 16, &what, err) < 0)
		return -err->code;
	*ret_is_job = strcmp(what, "job") == 0;
	if (!*ret_is_job && strcmp(what, "sheet") != 0)
		return err_set(err, EINVAL, "what is 'job' or 'sheet'");
	return 0;
}

#define RECORD struct pressure_facts
static const struct field fact_rows[] = {
	{ "memory_used_mb", FIELD(ORDINAL, memory_used), .unit = UNIT_MIB },
	{ "memory_limit_mb", FIELD(ORDINAL, memory_limit), .unit = UNIT_MIB },
	{ "system_memory_used_mb", FIELD(ORDINAL, machine_used), .unit = UNIT_MIB },
	{ "system_memory_total_mb", FIELD(ORDINAL, machine_total), .unit = UNIT_MIB },
	{ "processes", FIELD(ORDINAL, processes) },
	{ "processes_limit", FIELD(ORDINAL, processes_limit) },
	{ "psi_memory_percent", FIELD(RATIO, memory_stall_ratio), .decimals = 2 },
};
#undef RECORD

METHOD(method_admit)
{
	static const struct field_table facts = FIELD_TABLE(fact_rows);
	const struct pressure *p;
	const char *job_type = NULL; /* checked, and reserved for estimates by type */
	bool is_job;

	(void)peer;
	if (rpc_params_text(params, "job_type", 128, &job_type, err) < 0 ||
	    !(p = get_pressure(self, err)) || what_param(params, &is_job, err) < 0)
		return -err->code;
	json_begin_object(result);
	json_put_bool(result, "allowed", pressure_admits(p->level, is_job));
	json_put_u64(result, "delay_seconds", pressure_delay_s(p->level));
	json_put_str(result, "pressure_level", pressure_name(p->level));
	json_put_text(result, "reason", p->why);
	json_key(result, "based_on");
	fields_json_object(result, &facts, &p->facts);
	json_end_object(result);
	return 0;
}
