/* SPDX-License-Identifier: MIT */
#include "serve/methods.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/pid_namespace.h"
#include "rpc/rpc_params.h"
#include "serve/announced_job.h"

#define RING_BYTES ((size_t)2 << 20) /* some ten thousand events */

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

const struct job *methods_job(const struct methods *m, job_handle job)
{
	return &job_roster_get(m->host.jobs(m->host.self), job)->job;
}

bool methods_has_job(const struct rpc_server_peer *peer, const struct job *job)
{
	return methods_trusts(peer) || job->uid == peer->uid;
}

const struct snapshot *methods_latest(const struct methods *m)
{
	return m->host.latest ? m->host.latest(m->host.self) : NULL;
}

static bool is_door(const struct methods *m)
{
	return !m->host.daemon;
}

/* Where the process that asks belongs; -1: nowhere. */
static job_handle job_of_caller(const struct methods *m, const struct rpc_server_peer *peer)
{
	return m->host.job_of && peer->pid ? m->host.job_of(m->host.self, peer->pid) : -1;
}

/* "user:id", where the user is a name or a number. */
static bool parse_key(const char *text, struct job_key *ret)
{
	const char *colon = strchr(text, ':');
	cleanup(freep) char *user = colon ? xstrndup(text, (size_t)(colon - text)) : NULL;
	struct scan number = scan_str(user ? user : "");
	const struct passwd *known;
	uint64_t uid;

	if (!colon)
		return false;
	known = getpwnam(user);
	if (!known && !(scan_u64(&number, &uid) && scan_left(&number) == 0 && uid < UINT32_MAX))
		return false;
	*ret = (struct job_key){ known ? known->pw_uid : (uint32_t)uid, colon + 1 };
	return true;
}

/* One of this id, whoever's it is, for a caller that may see all of them. */
static int find_anyones(const struct job_roster *t, const char *id, job_handle *ret,
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

/* A bare id means the caller's own job. *ret is -1 if there is none. */
static int find_by_id(const struct job_roster *t, const struct rpc_server_peer *peer,
                      const char *id, job_handle *ret, struct err *err)
{
	struct job_key key = { peer->uid, id };
	bool has_user = methods_trusts(peer) && parse_key(id, &key);

	*ret = announced_job_find(peer, id);
	if (*ret < 0)
		*ret = job_roster_find_key(t, key);
	return *ret >= 0 || has_user || !methods_trusts(peer) ? 0 : find_anyones(t, id, ret, err);
}

/* A job of another user does not exist for the caller. */
int methods_find_any_job(struct methods *m, const struct rpc_server_peer *peer,
                         const json_t *params, job_handle *ret, struct err *err)
{
	const struct job_roster *t = m->host.jobs(m->host.self);
	const char *id = NULL;

	if (rpc_params_text(params, "job_id", JOB_ID_MAX - 1, &id, err) < 0)
		return -err->code;
	if (id && find_by_id(t, peer, id, ret, err) < 0)
		return -err->code;
	if (!id)
		*ret = is_door(m) && t->rows.len ? t->rows.at[0]->job.handle
		                                 : job_of_caller(m, peer);
	if (*ret >= 0 ? !methods_has_job(peer, methods_job(m, *ret)) : id != NULL)
		return err_set(err, ENOENT, "there is no job '%s'", id ? id : "");
	return 0;
}

int methods_find_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                     job_handle *ret, struct err *err)
{
	int r = methods_find_any_job(m, peer, params, ret, err);

	if (r == 0 && *ret < 0)
		return err_set(err, EINVAL, "job_id is needed: the caller is in no job");
	return r;
}

int methods_claim_job(struct methods *m, const struct rpc_server_peer *peer, const json_t *params,
                      job_handle *ret, struct err *err)
{
	int r = methods_find_job(m, peer, params, ret, err);
	const struct job *job;

	if (r < 0)
		return r;
	job = methods_job(m, *ret);
	if (job->is_foreign && !announced_job_is(peer, job->handle))
		return err_set(err, EALREADY,
		               "job '%s' has a recorder of its own: ask the door of the job",
		               job->id);
	return 0;
}

/* As the caller counts, which may be in a container. */
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
	return pid_namespace_find(root_fd, m->host.reader, peer->pid, (pid_t)pid, ret, err);
}

/* Whose a process is, the kernel says by the owner of its directory; one that may not be looked
 * into (setuid) is root's. */
int methods_find_pid(const struct methods *m, const struct rpc_server_peer *peer,
                     const json_t *params, pid_t *ret, uid_t *ret_uid, struct err *err)
{
	int r;

	if (!m->host.reader)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	r = pid_param(m, peer, params, ret, err);

	if (r == 0 && process_reader_owner(m->host.reader, *ret, ret_uid) < 0)
		r = err_set(err, ENOENT, "there is no process with pid %d", *ret);
	if (r == 0 && !methods_trusts(peer) && *ret_uid != peer->uid)
		r = err_set(err, EACCES, "process %d is not yours", (int)*ret);
	return r;
}

#define ROW_BYTES 256 /* what a row takes besides its texts */

int methods_take_room(struct methods *m, const struct rpc_server_peer *peer, job_handle job,
                      size_t bytes, struct err *err)
{
	bool is_stored = job < 0 || !methods_job(m, job)->is_foreign;

	if (methods_trusts(peer) || !is_stored ||
	    quota_take(&m->ration, peer->uid, ROW_BYTES + bytes, clock_mono_ns()))
		return 0;
	return err_set(
		err, ENOSPC,
		"you had %u MiB stored in a short time: after that %u KiB a second are taken",
		QUOTA_BURST_BYTES >> 20, QUOTA_BYTES_PER_S >> 10);
}

/* ---- the bus --------------------------------------------------------------------------------- */

void methods_begin_bus(struct methods *m)
{
	if (!m->bus)
		m->bus = bus_new(RING_BYTES, clock_wall_ns() / NS_PER_US);
}

void methods_publish(struct methods *m, const char *name, const char *job_id, uid_t uid,
                     const char *text)
{
	struct bus_event e = {
		.name = name,
		.job_id = job_id,
		.text = text,
		.wall_ns = clock_wall_ns(),
		.uid = uid,
		.process_uid = uid,
	};

	if (!m->bus)
		return;
	(void)bus_publish(m->bus, &e);
	rpc_server_wake(m->server);
}
