/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "base/mem.h"
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

/* The request for what a process waits for: all that the worker needs. */
struct blocked_query {
	struct methods *methods; /* on the worker's thread only for its reader */
	struct rpc_server_peer peer; /* its session belongs to the loop */
	pid_t pid;
	struct proc_id ids[BLOCKED_PROCESSES_MAX];
	size_t n;
	struct blocked_call found;
};

/* On the worker's thread, for it reads many files of processes. Only callers that may trace a process can see what it
 * does. */
static int find_blocked(void *self, const struct history_cancel *cancel, struct json *result,
                        struct err *err)
{
	struct blocked_query *q = self;
	struct process_reader *reader = store_worker_process_reader(q->methods->process_worker);
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);

	(void)cancel, (void)result, (void)err;
	if (methods_may_trace(&q->peer, reader, root_fd, q->pid))
		(void)blocked_reader_one(reader, root_fd, q->ids, q->n, &q->found);
	return 0;
}

static void write_context(const struct methods *m, const struct rpc_server_peer *peer, pid_t pid,
                          const struct blocked_call *blocked, struct json *result)
{
	struct resource_context_jobs jobs = methods_count_jobs(m, peer);
	struct peer_scope visible;

	resource_context_json(result, methods_latest(m), methods_scope(peer, &visible), pid,
	                      m->host.engine ? &jobs : NULL, blocked);
}

static void send_context(void *self, int r, const struct buf *result, const struct err *err)
{
	struct blocked_query *q = self;
	cleanup(buf_done) struct buf text = { 0 };

	(void)result;
	write_context(q->methods, &q->peer, q->pid, &q->found, &(struct json){ .out = &text });
	rpc_session_answer(q->peer.session, r, &text, err);
}

static void drop_request(void *self)
{
	store_worker_drop(self);
}

static int answer_later(struct methods *m, const struct rpc_server_peer *peer,
                        const struct proc_snap *p, struct err *err)
{
	struct store_worker_task task = {
		.uid = peer->uid, .work = find_blocked, .done = send_context, .free = free
	};
	struct rpc_server_work later = { .abandon = drop_request };
	struct store_request *request;
	struct blocked_query *q;

	if (!rpc_session_may_defer(peer->session))
		return RPC_SERVER_WAIT;
	task.self = q = xcalloc(1, sizeof *q);
	q->methods = m;
	q->peer = *peer;
	q->pid = p->s.id.pid;
	q->n = list_relatives(methods_latest(m), p, q->ids);
	if (store_worker_take(m->process_worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

METHOD(method_context_get)
{
	struct methods *m = self;
	const struct snapshot *snap = methods_latest(m);
	const struct proc_snap *p;
	struct peer_scope visible;
	uint64_t pid = 0;

	if (rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err) < 0)
		return -err->code;
	p = snap && pid ? snapshot_find(snap, (pid_t)pid) : NULL;
	if (p && m->host.engine && snapshot_scope_has_proc(methods_scope(peer, &visible), snap, p))
		return answer_later(m, peer, p, err);
	write_context(m, peer, (pid_t)pid, pid ? &(struct blocked_call){ 0 } : NULL, result);
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
