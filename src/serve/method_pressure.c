/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>

#include "job/pressure.h"
#include "kernel/blocked_reader.h"
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

const struct pressure *methods_pressure(const struct methods *m, struct err *err)
{
	const struct pressure *p = m->host.engine ? engine_pressure(m->host.engine) : NULL;

	if (!p)
		(void)err_set(err, EAGAIN, "there was no tick yet");
	return p;
}

METHOD(method_pressure_get)
{
	const struct pressure *p = methods_pressure(self, err);

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
