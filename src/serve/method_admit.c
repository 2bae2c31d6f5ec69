/* SPDX-License-Identifier: MIT */
/* Whether a job or a sheet may start: by the level of pressure, and by whether there is room for the memory that it is expected to
 * need. A caller who gives no estimate gets that of the job's type, from the caller's own history. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "job/pressure.h"
#include "model/field.h"
#include "report/type_estimate.h"
#include "rpc/rpc_params.h"
#include "serve/methods.h"

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

/* All that the answer needs: it may be written on the store worker's thread. */
struct question {
	struct rpc_server_peer peer; /* its session belongs to the loop */
	const char *db_path;
	char type[JOB_ID_MAX]; /* "": not given */
	bool is_job;
	uint64_t estimated_mb;  /* 0: not known */
	const char *known_from; /* the estimate; NULL: there is none */
	struct pressure pressure;
};

static void write_answer(const struct question *q, struct json *to)
{
	static const struct field_table facts = FIELD_TABLE(fact_rows);
	const struct pressure *p = &q->pressure;
	uint64_t available = 0;
	char why[PRESSURE_WHY_MAX];
	bool has_room = pressure_has_room(&p->facts, q->estimated_mb << 20, &available);

	if (!has_room)
		pressure_no_room_words(q->estimated_mb << 20, available, why);
	json_begin_object(to);
	json_put_bool(to, "allowed", pressure_admits(p->level, q->is_job) && has_room);
	json_put_u64(to, "delay_seconds",
	             pressure_delay_s(has_room ? p->level : MAX(p->level, PRESSURE_MEDIUM)));
	json_put_str(to, "pressure_level", pressure_name(p->level));
	json_put_text(to, "reason", has_room ? p->why : why);
	json_key(to, "estimated_memory_mb");
	if (q->known_from)
		json_u64(to, q->estimated_mb);
	else
		json_nil(to);
	json_put_str(to, "estimate_from", q->known_from);
	json_key(to, "based_on");
	field_table_json_object(to, &facts, &p->facts);
	json_end_object(to);
}

/* ---- the estimate of its type ---- */

/* On the store worker's thread. Without an estimate the level decides alone. */
static int estimate(void *self, const struct history_cancel *cancel, struct json *result,
                    struct err *err)
{
	struct question *q = self;
	const struct estimate_query query = {
		.type = q->type, .policy = PEAK_LOW_WASTE, .uid = q->peer.uid, .attempt = 1
	};
	cleanup(history_closep) struct history *past = NULL;
	struct type_estimate e = { 0 };

	if (history_open(q->db_path, &past, err) == 0) {
		history_obey_cancel(past, cancel);
		if (type_estimate_gather(past, &query, &e, err) == 0 && e.runs) {
			q->estimated_mb = (uint64_t)e.memory.value >> 20;
			q->known_from = "history";
		}
	}
	write_answer(q, result);
	return 0;
}

static void send_answer(void *self, int r, const struct buf *result, const struct err *err)
{
	struct question *q = self;

	rpc_session_answer(q->peer.session, r, result, err);
}

static void drop_request(void *self)
{
	store_worker_drop(self);
}

static int answer_later(const struct methods *m, const struct rpc_server_peer *peer,
                        const struct question *asked, struct err *err)
{
	struct store_worker_task task = {
		.uid = peer->uid, .work = estimate, .done = send_answer, .free = free
	};
	struct rpc_server_work later = { .abandon = drop_request };
	struct store_request *request;
	struct question *q;

	if (!rpc_session_may_defer(peer->session))
		return RPC_SERVER_WAIT;
	q = xmalloc(sizeof *q);
	*q = *asked;
	q->peer = *peer;
	q->db_path = m->host.db_path;
	task.self = q;
	if (store_worker_take(m->worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return RPC_SERVER_LATER;
}

/* ---- the method ---- */

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

METHOD(method_admit)
{
	const struct methods *m = self;
	const struct pressure *p = methods_pressure(m, err);
	const char *type = NULL;
	struct question q = { 0 };

	if (!p || what_param(params, &q.is_job, err) < 0 ||
	    rpc_params_text(params, "job_type", sizeof q.type - 1, &type, err) < 0 ||
	    rpc_params_u64(params, "estimated_memory_mb", 0, UINT32_MAX, &q.estimated_mb, err) < 0)
		return -err->code;
	q.pressure = *p;
	q.known_from = q.estimated_mb ? "caller" : NULL;
	if (type)
		snprintf(q.type, sizeof q.type, "%s", type);
	if (*q.type && q.is_job && !q.estimated_mb && m->host.db_path)
		return answer_later(m, peer, &q, err);
	write_answer(&q, result);
	return 0;
}
