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
#include "job/parent_job.h"
#include "kernel/pid_namespace.h"
#include "kernel/process_lookup.h"
#include "kernel/ptrace_access.h"
#include "rpc/rpc_params.h"
#include "serve/user_lookup.h"

#define BUS_BYTES ((size_t)2 << 20) /* of one user: about ten thousand events */
#define OTHERS_BYTES 160            /* of the users who have a job that is asked for */
#define ROW_BYTES 256               /* of a stored row or an event besides its texts */

/* clang-format off */
const struct rpc_server_method serve_methods[] = {
#define X(name, call, kind) { name, call, .only_reads = (kind) == READS },
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

bool methods_may_trace(const struct rpc_server_peer *peer, struct process_reader *reader,
                       int root_fd, pid_t pid)
{
	const struct ptrace_caller caller = { .uid = peer->uid, .gid = peer->gid };
	struct err ignored;
	int r = methods_trusts(peer) ? 0
	                             : ptrace_access_check(reader, root_fd, pid, &caller, &ignored);

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
		if (row->job.is_stored_by_other) /* else it is published once it is stored */
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
	rpc_session_set_feed(peer->session, &feed);
}

/* NULL: the connection is not that of a recorder, or its job is forgotten. */
static const struct recorder_link *recorder_link(const struct rpc_server_peer *peer)
{
	const struct rpc_server_feed *feed = rpc_session_feed(peer->session);
	const struct recorder_link *link = feed->next == next_nothing ? feed->self : NULL;

	return link && job_roster_get(methods_jobs(link->methods), link->job) ? link : NULL;
}

/* ---- what the parameters refer to ------------------------------------------------------------ */

/* The user whose jobs a bare id means. All jobs of a door are those of its user, by the id that the
 * job has outside of our user namespace. */
static uid_t own_uid(const struct methods *m, const struct rpc_server_peer *peer)
{
	const struct job_roster *t = methods_jobs(m);

	return !m->host.daemon && t->rows.len ? t->rows.at[0]->job.uid : peer->uid;
}

/* Never another user's job with the same id. -1: there is none. */
static job_handle find_own(const struct methods *m, const struct rpc_server_peer *peer,
                           const char *id)
{
	const struct recorder_link *link = recorder_link(peer);
	struct job_key key = { own_uid(m, peer), id };

	return link && strcmp(link->sent_id, id) == 0 ? link->job
	                                              : job_roster_find_key(methods_jobs(m), key);
}

/* "user:id", where the user is a number or a name: 1, or 0 if it is not that. */
static int parse_user(struct methods *m, const struct rpc_server_peer *peer, const char *text,
                      struct job_key *ret, struct err *err)
{
	const char *colon = methods_trusts(peer) ? strchr(text, ':') : NULL;
	int r = colon ? user_lookup(m, peer, text, (size_t)(colon - text), &ret->uid, err) : 0;

	if (r > 0)
		ret->id = colon + 1;
	return r;
}

/* *ret is -1 if there is none. */
static int find_by_id(struct methods *m, const struct rpc_server_peer *peer, const char *id,
                      job_handle *ret, struct err *err)
{
	struct job_key named;
	int r = 0;

	*ret = find_own(m, peer, id);
	if (*ret < 0)
		r = parse_user(m, peer, id, &named, err);
	if (r > 0)
		*ret = job_roster_find_key(methods_jobs(m), named);
	return MIN(r, 0);
}

void methods_note_other(struct buf *others, const struct job *job)
{
	others->max = OTHERS_BYTES;
	buf_printf(others, "%s%u:%s", others->len ? ", " : "", job->uid, job->id);
}

int methods_report_missing(const char *id, const struct buf *others, struct err *err)
{
	return err_set(err, ENOENT, "there is no job '%s'%s%s", id,
	               others->len ? " of yours; other users have: " : "",
	               others->len ? others->at : "");
}

static int report_missing(const struct methods *m, const struct rpc_server_peer *peer,
                          const char *id, struct err *err)
{
	cleanup(buf_done) struct buf others = { 0 };

	if (methods_trusts(peer))
		vec_each(&methods_jobs(m)->rows, row)
			if (strcmp((*row)->job.id, id) == 0)
				methods_note_other(&others, &(*row)->job);
	return methods_report_missing(id, &others, err);
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
		return report_missing(m, peer, id ? id : "", err);
	return 0;
}

int methods_name_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     uid_t *ret_uid, char ret_id[static JOB_ID_MAX], struct err *err)
{
	struct job_key key = { own_uid(m, peer), "" };
	const char *id = "";
	job_handle own;

	if (rpc_params_text(params, "job_id", JOB_ID_MAX - 1, &id, err) < 0)
		return -err->code;
	key.id = id;
	own = *id ? find_own(m, peer, id) : -1;
	if (own >= 0)
		key = job_key_of(methods_job(m, own));
	else if (parse_user(m, peer, id, &key, err) < 0)
		return -err->code;
	snprintf(ret_id, JOB_ID_MAX, "%s", key.id);
	*ret_uid = key.uid;
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
static int check_owner(const struct methods *m, const struct rpc_server_peer *peer, pid_t pid,
                       uid_t *ret, struct err *err)
{
	if (process_lookup_owner(engine_jobs(m->host.engine)->reader, pid, ret) < 0)
		return err_set(err, ENOENT, "there is no process with pid %d", pid);
	if (!methods_trusts(peer) && *ret != peer->uid)
		return err_set(err, EACCES, "process %d is not yours", pid);
	return 0;
}

int methods_find_pid(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, pid_t *ret, uid_t *ret_uid, struct err *err)
{
	if (!m->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (pid_param(m, peer, params, ret, err) < 0)
		return -err->code;
	return check_owner(m, peer, *ret, ret_uid, err);
}

/* When it began is read before its owner: a process that gets its pid meanwhile is another one. */
int methods_find_member(const struct methods *m, const struct rpc_server_peer *peer,
                        const json_t *params, struct proc_id *ret, uid_t *ret_uid, struct err *err)
{
	const struct job *outer;

	if (!m->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	*ret = (struct proc_id){ 0 };
	if (pid_param(m, peer, params, &ret->pid, err) < 0)
		return -err->code;
	process_lookup_find_start(engine_jobs(m->host.engine)->reader, ret);
	if (check_owner(m, peer, ret->pid, ret_uid, err) < 0)
		return -err->code;
	if (methods_trusts(peer))
		return 0;
	engine_read_events(m->host.engine);
	outer = parent_job_of(engine_jobs(m->host.engine), ret->pid);
	if (outer && outer->status == JOB_RUNNING && outer->uid != peer->uid)
		return err_set(err, EALREADY, "process %d belongs to a running job of another user",
		               ret->pid);
	return 0;
}

uint64_t methods_clamp_time(const struct job *job, uint64_t claimed_ns)
{
	return claimed_ns ? MIN(MAX(claimed_ns, job->started_ns), clock_wall_ns()) : 0;
}

static int report_quota(const char *done, struct err *err)
{
	return err_set(err, ENOSPC,
	               "quota exceeded: %u MiB may be %s at once, and after that %u KiB per second",
	               QUOTA_BURST_BYTES >> 20, done, QUOTA_BYTES_PER_S >> 10);
}

int methods_check_quota(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                        size_t bytes, struct err *err)
{
	bool is_stored = job < 0 || !methods_job(m, job)->is_stored_by_other;

	if (methods_trusts(peer) || !is_stored ||
	    quota_take(&m->quota, peer->uid, ROW_BYTES + bytes, clock_mono_ns()))
		return 0;
	return report_quota("stored", err);
}

int methods_check_publishing(struct methods *m, const struct rpc_server_peer *peer, size_t bytes,
                             struct err *err)
{
	if (methods_trusts(peer) ||
	    quota_take(&m->publishing, peer->uid, ROW_BYTES + bytes, clock_mono_ns()))
		return 0;
	return report_quota("published", err);
}

/* ---- the bus --------------------------------------------------------------------------------- */

void methods_begin_bus(struct methods *m)
{
	if (!m->bus)
		m->bus = bus_new(BUS_BYTES, clock_wall_ns() / NS_PER_US);
}

void methods_publish(struct methods *m, const struct bus_event *event)
{
	struct bus_event e = *event;

	if (!m->bus)
		return;
	e.wall_ns = clock_wall_ns();
	(void)bus_publish(m->bus, &e);
	rpc_server_wake(m->server);
}

void methods_publish_of_job(struct methods *m, const char *name, const struct job *job,
                            uint32_t sheet, const char *text)
{
	methods_publish(m, &(struct bus_event){ .name = name,
	                                        .job_id = job->id,
	                                        .text = text,
	                                        .sheet = sheet,
	                                        .uid = job->uid,
	                                        .process_uid = job->uid });
}
