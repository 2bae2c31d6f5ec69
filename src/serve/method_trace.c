/* SPDX-License-Identifier: MIT */
/* Traces of processes, by strace: only at the daemon's socket. */
#include <errno.h>

#include "base/clock.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"

#define SECONDS_DEFAULT 60
#define SECONDS_MAX (24 * 3600)

static int check_daemon(const struct methods *m, struct err *err)
{
	return m->traces ? 0
	                 : err_set(err, EALREADY,
	                           "this socket serves a single job; connect to the daemon's");
}

static int id_param(const struct methods *m, const json_t *params, uint64_t *ret, struct err *err)
{
	*ret = 0;
	if (check_daemon(m, err) < 0 ||
	    rpc_params_u64(params, "trace_id", 1, INT64_MAX, ret, err) < 0)
		return -err->code;
	return *ret ? 0 : err_set(err, EINVAL, "trace_id is needed");
}

METHOD(method_trace_start)
{
	struct methods *m = self;
	struct traces_request rq = { .for_ns = SECONDS_DEFAULT * NS_PER_S,
		                     .is_trusted = methods_trusts(peer) };
	uid_t uid;

	(void)result;
	if (check_daemon(m, err) < 0 ||
	    rpc_params_text(params, "filter", STRACE_FILTER_MAX, &rq.filter, err) < 0 ||
	    rpc_params_seconds(params, "seconds", &rq.for_ns, err) < 0)
		return -err->code;
	if (!rpc_params_has(params, "pid"))
		return err_set(err, EINVAL, "pid is needed");
	if (!rq.for_ns || rq.for_ns > SECONDS_MAX * NS_PER_S)
		return err_set(err, EINVAL, "seconds must be greater than 0 and at most %d",
		               SECONDS_MAX);
	if (methods_find_pid(m, peer, params, &rq.pid, &uid, err) < 0)
		return -err->code;
	return traces_start(m->traces, peer, &rq, err);
}

METHOD(method_trace_stop)
{
	struct methods *m = self;
	uint64_t id;

	if (id_param(m, params, &id, err) < 0)
		return -err->code;
	return traces_stop(m->traces, peer, id, methods_trusts(peer), result, err);
}

METHOD(method_trace_read)
{
	struct methods *m = self;
	uint64_t id, offset = 0;

	if (id_param(m, params, &id, err) < 0 ||
	    rpc_params_u64(params, "offset", 0, INT64_MAX, &offset, err) < 0)
		return -err->code;
	(void)result;
	return traces_read(m->traces, peer, id, methods_trusts(peer), offset, err);
}

METHOD(method_trace_list)
{
	struct methods *m = self;

	(void)params;
	if (check_daemon(m, err) < 0)
		return -err->code;
	traces_list(m->traces, peer, methods_trusts(peer), result);
	return 0;
}
