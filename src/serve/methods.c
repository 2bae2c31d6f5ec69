/* SPDX-License-Identifier: MIT */
#include "serve/methods.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/pid_namespace.h"
#include "kernel/process_lookup.h"
#include "kernel/ptrace_access.h"
#include "rpc/rpc_params.h"
#include "serve/user_lookup.h"

#define RING_BYTES ((size_t)2 << 20) /* about ten thousand events */
#define ROW_BYTES 256                /* of a stored row besides its texts */

/* clang-format off */
const struct rpc_server_method serve_methods[] = {
#define X(name, call) { name, call },
	SERVE_METHODS(X)
#undef X
	{ NULL },
};
/* clang-format on */

/* ---- authorisation --------------------------------------------------------------------------- */

bool methods_trusts(const struct rpc_server_peer *peer)
{
	return peer->uid == 0 || peer->uid == geteuid();
}

bool methods_may_trace(const struct rpc_server_peer *peer, int root_fd, pid_t pid)
{
	const struct ptrace_caller caller = { .uid = peer->uid, .gid = peer->gid };
	struct err ignored;
	int r = methods_trusts(peer) ? 0 : ptrace_access_check(root_fd, pid, &caller, &ignored);

	return r == 0 || r == -EBUSY; /* another one traces it now */
}

const struct job_roster *methods_jobs(const struct methods *m)
{
	static const struct job_roster none;

	return m->host.engine ? &engine_jobs(m->host.engine)->roster : &none;
}

const struct job *methods_job(const struct methods *m, job_handle job)
{
	return &job_roster_get(methods_jobs(m), job)->job;
}

bool methods_has_job(const struct rpc_server_peer *peer, const struct job *job)
{
	return methods_trusts(peer) || job->uid == peer->uid;
}

struct resource_context_jobs methods_count_jobs(const struct methods *m,
                                                const struct rpc_server_peer *peer)
{
	struct resource_context_jobs n = { 0 };

	vec_each(&methods_jobs(m)->rows, row) {
		const struct job *job = &(*row)->job;

		if (job->status != JOB_RUNNING || (peer && !methods_has_job(peer, job)))
			continue;
		n.running++;
		n.active_sheets += job->running_sheets;
	}
	return n;
}

const struct snapshot *methods_latest(const struct methods *m)
{
	return m->host.latest ? m->host.latest->snap : NULL;
}

static bool scope_has_job(void *self, const struct job *job)
{
	const struct peer_scope *s = self;

	return job->uid == s->uid;
}

static bool scope_has_process(void *self, const struct job *job, uint32_t uid)
{
	const struct peer_scope *s = self;

	return uid == s->uid || (job && job->uid == s->uid);
}

const struct snapshot_scope *methods_scope(const struct rpc_server_peer *peer,
                                           struct peer_scope *ret)
{
	if (methods_trusts(peer))
		return NULL;
	*ret = (struct peer_scope){ .scope = { ret, scope_has_job, scope_has_process },
		                    .uid = peer->uid };
	return &ret->scope;
}

/* ---- the connection of a job's recorder ------------------------------------------------------ */

/* A feed that sends nothing: it only reports that the connection was closed. */
struct recorder_link {
	struct methods *methods;
	job_handle job;
	char sent_id[JOB_ID_MAX];
};

static bool next_nothing(void *self, struct json *out)
{
	(void)self, (void)out;
	return false;
}

static void on_recorder_gone(void *self)
{
	struct recorder_link *link = self;
	struct methods *m = link->methods;
	const struct job_row *row = job_roster_get(methods_jobs(m), link->job);

	if (row && row->job.status == JOB_RUNNING) {
		m->host.daemon->lose_job(m->host.daemon_self, link->job);
		methods_publish_job(m, &row->job, 0, STORED_UNKNOWN);
	}
	free(link);
}

void methods_set_recorder(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                          const char *sent_id)
{
	struct recorder_link *link = xcalloc(1, sizeof *link);
	const struct rpc_server_feed feed = { link, next_nothing, on_recorder_gone };

	link->methods = m;
	link->job = job;
	snprintf(link->sent_id, sizeof link->sent_id, "%s", sent_id);
	rpc_server_feed(peer, &feed);
}

/* NULL: the connection is not that of a recorder. */
static const struct recorder_link *recorder_link(const struct rpc_server_peer *peer)
{
	const struct rpc_server_feed *feed = rpc_server_feed_of(peer);

	return feed->next == next_nothing ? feed->self : NULL;
}

/* ---- what the parameters refer to ------------------------------------------------------------ */

static bool has_id(const struct job_roster *t, const char *id)
{
	vec_each(&t->rows, row)
		if (strcmp((*row)->job.id, id) == 0)
			return true;
	return false;
}

/* "user:id", where the user is a number or a name. *ret is left alone if there is no such job. */
static int find_by_user(struct methods *m, const struct rpc_server_peer *peer, const char *text,
                        job_handle *ret, struct err *err)
{
	const struct job_roster *t = methods_jobs(m);
	const char *colon = strchr(text, ':');
	uint32_t uid;
	int r;

	if (!colon || !has_id(t, colon + 1))
		return 0;
	r = user_lookup(m, peer, text, (size_t)(colon - text), &uid, err);
	if (r > 0)
		*ret = job_roster_find_key(t, (struct job_key){ uid, colon + 1 });
	return MIN(r, 0);
}

/* The only job of this id, of any user. */
static int find_of_any_user(const struct job_roster *t, const char *id, job_handle *ret,
                            struct err *err)
{
	cleanup(buf_done) struct buf found = { .max = 160 };
	size_t n = 0;

	vec_each(&t->rows, row) {
		if (strcmp((*row)->job.id, id) != 0)
			continue;
		*ret = (*row)->job.handle;
		buf_printf(&found, "%s%u:%s", n++ ? ", " : "", (*row)->job.uid, id);
	}
	return n < 2 ? 0 : err_set(err, EINVAL, "several users have a job '%s': %s", id, found.at);
}

/* An id means the caller's own job, for trusted callers also another user's. *ret is -1 if there is
 * none. */
static int find_by_id(struct methods *m, const struct rpc_server_peer *peer, const char *id,
                      job_handle *ret, struct err *err)
{
	const struct job_roster *t = methods_jobs(m);
	const struct recorder_link *link = recorder_link(peer);
	struct job_key key = { peer->uid, id };

	*ret = link && strcmp(link->sent_id, id) == 0 ? link->job : job_roster_find_key(t, key);
	if (*ret >= 0 || !methods_trusts(peer))
		return 0;
	if (find_by_user(m, peer, id, ret, err) < 0) /* an id may have a colon, too */
		return -err->code;
	return *ret >= 0 ? 0 : find_of_any_user(t, id, ret, err);
}

/* The process may be younger than the last tick. */
static job_handle job_of_process(struct engine *engine, pid_t pid)
{
	engine_read_events(engine);
	return jobs_find_process(engine_jobs(engine), pid);
}

/* A job of another user does not exist for the caller. */
int methods_find_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     job_handle *ret, struct err *err)
{
	const struct job_roster *t = methods_jobs(m);
	const char *id = NULL;

	if (rpc_params_text(params, "job_id", JOB_ID_MAX - 1, &id, err) < 0)
		return -err->code;
	*ret = -1;
	if (id && find_by_id(m, peer, id, ret, err) < 0)
		return -err->code;
	if (!id && !m->host.daemon && t->rows.len)
		*ret = t->rows.at[0]->job.handle;
	else if (!id && m->host.engine && peer->pid)
		*ret = job_of_process(m->host.engine, peer->pid);
	if (*ret >= 0 ? !methods_has_job(peer, methods_job(m, *ret)) : id != NULL)
		return err_set(err, ENOENT, "there is no job '%s'", id ? id : "");
	return 0;
}

/* "user:id" of a job that is not there yet. An id may have a colon, too. */
static int name_by_user(struct methods *m, const struct rpc_server_peer *peer, const char **id,
                        uid_t *uid, struct err *err)
{
	const char *colon = strchr(*id, ':');
	uint32_t other;
	int r = colon ? user_lookup(m, peer, *id, (size_t)(colon - *id), &other, err) : 0;

	if (r > 0) {
		*id = colon + 1;
		*uid = other;
	}
	return MIN(r, 0);
}

int methods_name_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     uid_t *ret_uid, char ret_id[static JOB_ID_MAX], struct err *err)
{
	uid_t uid = peer->uid;
	const char *id = "";
	job_handle at = -1;

	if (rpc_params_text(params, "job_id", JOB_ID_MAX - 1, &id, err) < 0 ||
	    (*id && find_by_id(m, peer, id, &at, err) < 0))
		return -err->code;
	if (at >= 0 && methods_has_job(peer, methods_job(m, at))) {
		id = methods_job(m, at)->id;
		uid = methods_job(m, at)->uid;
	} else if (methods_trusts(peer) && name_by_user(m, peer, &id, &uid, err) < 0) {
		return -err->code;
	}
	snprintf(ret_id, JOB_ID_MAX, "%s", id);
	*ret_uid = uid;
	return 0;
}

int methods_claim_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                      job_handle *ret, struct err *err)
{
	const struct recorder_link *link = recorder_link(peer);
	const struct job *job;

	if (methods_find_job(m, peer, params, ret, err) < 0)
		return -err->code;
	if (*ret < 0)
		return err_set(err, EINVAL, "job_id is needed: the caller is in no job");
	job = methods_job(m, *ret);
	if (job->has_recorder && !(link && link->job == *ret))
		return err_set(err, EALREADY,
		               "job '%s' has a recorder of its own: ask the door of the job",
		               job->id);
	return 0;
}

/* The pid is that of the caller's pid namespace, which may be a container's. */
static int pid_param(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, pid_t *ret, struct err *err)
{
	cleanup(closep) int root_fd = -1;
	uint64_t pid = 0;

	if (rpc_params_u64(params, "pid", 1, INT32_MAX, &pid, err) < 0)
		return -err->code;
	*ret = peer->pid;
	if (!peer->pid)
		return err_set(err, ENOENT, "the caller's pid namespace is not seen from here");
	if (!pid)
		return 0;
	root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return pid_namespace_find(root_fd, engine_jobs(m->host.engine)->reader, peer->pid,
	                          (pid_t)pid, ret, err);
}

/* The kernel gives the directory of a process to its user, or to root if it may not be inspected
 * (setuid). */
int methods_find_pid(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, pid_t *ret, uid_t *ret_uid, struct err *err)
{
	if (!m->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (pid_param(m, peer, params, ret, err) < 0)
		return -err->code;
	if (process_lookup_owner(engine_jobs(m->host.engine)->reader, *ret, ret_uid) < 0)
		return err_set(err, ENOENT, "there is no process with pid %d", *ret);
	if (!methods_trusts(peer) && *ret_uid != peer->uid)
		return err_set(err, EACCES, "process %d is not yours", (int)*ret);
	return 0;
}

int methods_check_quota(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                        size_t bytes, struct err *err)
{
	bool is_stored = job < 0 || !methods_job(m, job)->is_stored_by_other;

	if (methods_trusts(peer) || !is_stored ||
	    quota_take(&m->quota, peer->uid, ROW_BYTES + bytes, clock_mono_ns()))
		return 0;
	return err_set(err, ENOSPC,
	               "quota exceeded: %u MiB may be stored at once, and after that %u KiB per "
	               "second",
	               QUOTA_BURST_BYTES >> 20, QUOTA_BYTES_PER_S >> 10);
}

/* ---- the bus --------------------------------------------------------------------------------- */

void methods_begin_bus(struct methods *m)
{
	if (!m->bus)
		m->bus = bus_new(RING_BYTES, clock_wall_ns() / NS_PER_US);
}

void methods_publish(struct methods *m, const char *name, const char *job_id, uint32_t sheet,
                     uid_t uid, const char *text)
{
	struct bus_event e = {
		.name = name,
		.job_id = job_id,
		.text = text,
		.wall_ns = clock_wall_ns(),
		.sheet = sheet,
		.uid = uid,
		.process_uid = uid,
	};

	if (!m->bus)
		return;
	(void)bus_publish(m->bus, &e);
	rpc_server_wake(m->server);
}
