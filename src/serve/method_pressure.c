/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "job/pressure.h"
#include "kernel/blocked_reader.h"
#include "model/field.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"
#include "serve/resource_context.h"

/* The process first, and then those of its job, among which its call may wait for one. */
static size_t list_relatives(const struct snapshot *snap, const struct proc_snap *of,
                             struct proc_id ret[static BLOCKED_PROCESSES_MAX])
{
	size_t n = 0;

	ret[n++] = of->s.id;
	vec_each(&snap->procs, p)
		if (of->job >= 0 && p->job == of->job && p != of && n < BLOCKED_PROCESSES_MAX)
			ret[n++] = p->s.id;
	return n;
}

/* Only callers that may trace a process can see what it does. */
static void find_blocked(const struct methods *m, const struct rpc_server_peer *peer,
                         const struct snapshot_scope *scope, pid_t pid, struct blocked_call *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	const struct snapshot *snap = methods_latest(m);
	const struct proc_snap *p = snap ? snapshot_find(snap, pid) : NULL;
	struct proc_id ids[BLOCKED_PROCESSES_MAX];

	if (!p || !m->host.engine || !snapshot_scope_has_proc(scope, snap, p) ||
	    !methods_may_trace(peer, root_fd, pid))
		return;
	(void)blocked_reader_one(engine_jobs(m->host.engine)->reader, root_fd, ids,
	                         list_relatives(snap, p, ids), ret);
}

METHOD(method_context_get)
{
	struct methods *m = self;
	struct blocked_call blocked = { 0 };
	struct resource_context_jobs jobs;
	const struct snapshot_scope *scope;
	struct peer_scope visible;
	uint64_t pid = 0;
	int r = rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err);

	if (r < 0)
		return r;
	scope = methods_scope(peer, &visible);
	jobs = methods_count_jobs(m, peer);
	if (pid)
		find_blocked(self, peer, scope, (pid_t)pid, &blocked);
	resource_context_json(result, methods_latest(m), scope, (pid_t)pid,
	                      m->host.engine ? &jobs : NULL, pid ? &blocked : NULL);
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
	const char *job_type =
		NULL; /* checked; estimates are the caller's, who knows its history */
	uint64_t estimated_mb = 0, available = 0;
	char why[PRESSURE_WHY_MAX];
	bool is_job, has_room;

	(void)peer;
	if (rpc_params_text(params, "job_type", 128, &job_type, err) < 0 ||
	    rpc_params_u64(params, "estimated_memory_mb", 0, UINT32_MAX, &estimated_mb, err) < 0 ||
	    !(p = get_pressure(self, err)) || what_param(params, &is_job, err) < 0)
		return -err->code;
	has_room = pressure_has_room(&p->facts, estimated_mb << 20, &available);
	if (!has_room)
		pressure_no_room_words(estimated_mb << 20, available, why);
	json_begin_object(result);
	json_put_bool(result, "allowed", pressure_admits(p->level, is_job) && has_room);
	json_put_u64(result, "delay_seconds",
	             pressure_delay_s(has_room ? p->level : MAX(p->level, PRESSURE_MEDIUM)));
	json_put_str(result, "pressure_level", pressure_name(p->level));
	json_put_text(result, "reason", has_room ? p->why : why);
	json_key(result, "based_on");
	fields_json_object(result, &facts, &p->facts);
	json_end_object(result);
	return 0;
}
