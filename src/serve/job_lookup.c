/* SPDX-License-Identifier: MIT */
#include "serve/job_lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "history/job_query.h"
#include "job/jobs.h"
#include "kernel/kernel_file.h"
#include "kernel/pid_namespace.h"
#include "model/job_numbering.h"

#define CLAIM_PATIENCE_NS (200 * NS_PER_MS) /* jobs of others wait for it, too */

struct watched_id {
	char id[JOB_ID_MAX];
	bool is_running;
};

/* All that the worker needs. */
struct job_lookup {
	struct methods *methods;
	struct rpc_session *session;
	const char *db_path; /* NULL: nothing is stored */
	struct job_start start;
	uid_t recorder_uid;
	pid_t recorder_pid, inner_pid; /* … in its own pid namespace; 0: not known */
	VEC(struct watched_id) watched; /* the user's */
	bool is_stored_by_other;
	bool goes_on; /* it is watched already, and keeps its id */
	char id[JOB_ID_MAX]; /* that is free */
	int r;
	struct err err;
};

bool job_lookup_is_running(const struct methods *m, const struct job *job)
{
	const struct job_roster *t = methods_jobs(m);
	const struct job_row *row = job_roster_get(t, job_roster_find_key(t, job_key_of(job)));

	return row && row->job.status == JOB_RUNNING;
}

/* ---- on the worker's thread ------------------------------------------------------------------ */

/* One in a container has stored its pid as it is there. */
static bool has_row(const struct job_lookup *l, struct history *reader, const char *boot_id)
{
	struct job_key key = job_key_of(&l->start.job);

	return history_has_recorder(reader, l->recorder_pid, boot_id, key) ||
	       (l->inner_pid && l->inner_pid != l->recorder_pid &&
	        history_has_recorder(reader, l->inner_pid, boot_id, key));
}

/* A short job may have ended there, and its recorder too, before we read of it: its pid in a container is no longer
 * known. */
static bool has_job(struct history *reader, const struct job *job)
{
	struct job found;
	struct err err;

	return *job->recording && history_get_job(reader, job_key_of(job), &found, &err) == 0 &&
	       strcmp(found.recording, job->recording) == 0;
}

/* Whoever owns the store could write anything into it; nobody else is believed. */
static bool shares_store(const struct job_lookup *l, struct history *reader)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	char boot_id[37];
	struct stat st;

	return l->start.job.has_recorder && l->recorder_pid && stat(l->db_path, &st) == 0 &&
	       st.st_uid == l->recorder_uid && st.st_dev == l->start.store_device &&
	       st.st_ino == l->start.store_inode && kernel_file_boot_id(root_fd, boot_id) &&
	       (has_row(l, reader, boot_id) ||
	        (!l->start.pid && has_job(reader, &l->start.job)));
}

struct wanted_id {
	const struct job_lookup *lookup;
	struct history *reader; /* NULL: only the jobs that are watched count */
};

/* A job with a recorder that is back after it was lost has its id again. */
static bool is_watched(const struct job_lookup *l, const char *id)
{
	vec_each(&l->watched, w)
		if (strcmp(w->id, id) == 0)
			return !l->is_stored_by_other || w->is_running;
	return false;
}

static int is_taken(void *self, const char *id, struct err *err)
{
	const struct wanted_id *w = self;
	struct err ignored;
	struct job found;

	(void)err;
	return is_watched(w->lookup, id) ||
	       (w->reader && history_get_job(w->reader,
	                                     (struct job_key){ w->lookup->start.job.uid, id },
	                                     &found, &ignored) == 0);
}

/* Other recorders may want the same id now. A job that the disk has no time for starts all the same. */
static void claim_id(struct job_lookup *l)
{
	struct err ignored;

	(void)!engine_claim_job_id(l->methods->host.engine, l->start.job.uid, l->id,
	                           CLAIM_PATIENCE_NS, &ignored);
}

/* An id that the store knows already becomes ID.2, ID.3 …, as with `run`. What another recorder writes into our store has
 * its id there. If the store cannot be read, the recorder meets the same problem, and reports it. */
static int look_up(void *self, const struct history_cancel *cancel, struct json *result,
                   struct err *err)
{
	struct job_lookup *l = self;
	cleanup(history_closep) struct history *reader = NULL;
	struct wanted_id wanted = { .lookup = l };
	struct err ignored;

	(void)result, (void)err;
	if (l->db_path && history_open(l->db_path, &reader, &ignored) < 0)
		reader = NULL;
	if (reader && cancel)
		history_obey_cancel(reader, cancel);
	l->is_stored_by_other = reader && shares_store(l, reader);
	wanted.reader = l->is_stored_by_other ? NULL : reader;
	l->r = job_numbering_find_free(l->start.job.id, is_taken, &wanted, l->id, &l->err);
	if (l->r == 0 && wanted.reader && !l->goes_on)
		claim_id(l);
	return 0;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void call_again(void *self, int r, const struct buf *result, const struct err *err)
{
	struct job_lookup *l = self;

	(void)r, (void)result, (void)err;
	l->methods->job_looked_up = l;
	rpc_session_call_again(l->session);
	l->methods->job_looked_up = NULL;
}

static void lookup_free(void *self)
{
	struct job_lookup *l = self;

	vec_done(&l->watched);
	free(l);
}

static void drop_request(void *self)
{
	store_worker_drop(self);
}

static struct job_lookup *lookup_new(struct methods *m, const struct rpc_server_peer *peer,
                                     const struct job_start *start)
{
	struct job_lookup *l = xcalloc(1, sizeof *l);

	*l = (struct job_lookup){ .methods = m, .session = peer->session, .start = *start };
	l->db_path = m->host.db_path;
	l->recorder_uid = peer->uid;
	l->recorder_pid = peer->pid;
	if (start->job.has_recorder && peer->pid)
		l->inner_pid = pid_namespace_inner(engine_jobs(m->host.engine)->reader, peer->pid);
	vec_each(&methods_jobs(m)->rows, row) {
		const struct job *job = &(*row)->job;
		struct watched_id *w = job->uid == start->job.uid ? vec_push(&l->watched, SIZE_MAX)
		                                                  : NULL;

		if (!w)
			continue;
		memcpy(w->id, job->id, sizeof w->id);
		w->is_running = job->status == JOB_RUNNING;
		l->goes_on |= w->is_running && *job->recording &&
		              strcmp(job->recording, start->job.recording) == 0;
	}
	return l;
}

static int defer(struct job_lookup *take_l, const struct rpc_server_peer *peer, struct err *err)
{
	const struct store_worker_task task = {
		.self = take_l, .uid = peer->uid, .work = look_up, .done = call_again, .free = lookup_free
	};
	struct methods *m = take_l->methods;
	struct rpc_server_work later = { .abandon = drop_request, .keeps_order = true };
	struct store_request *request;

	if (store_worker_take(m->start_worker, &task, &request, err) < 0)
		return -err->code;
	later.self = request;
	rpc_session_defer(peer->session, &later);
	return err_set(err, EINPROGRESS, "the store is being read");
}

/* Another job may have taken the id meanwhile. */
static bool is_still_free(const struct methods *m, const struct job_lookup *l)
{
	const struct job_roster *t = methods_jobs(m);
	struct job_key key = { l->start.job.uid, l->id };
	const struct job_row *row = job_roster_get(t, job_roster_find_key(t, key));

	return !row || (l->is_stored_by_other && row->job.status != JOB_RUNNING);
}

static int take_result(const struct job_lookup *l, struct job *ret, struct err *err)
{
	if (l->r < 0)
		return err_set(err, l->err.code, "%s", l->err.msg);
	ret->started_ns = l->start.job.started_ns;
	ret->is_stored_by_other = l->is_stored_by_other;
	memcpy(ret->id, l->id, sizeof ret->id);
	return 0;
}

int job_lookup(struct methods *m, const struct rpc_server_peer *peer, const struct job_start *start,
               struct job *ret, struct err *err)
{
	const struct job_lookup *known = m->job_looked_up;
	struct job_lookup *l;
	int r;

	if (known && known->start.job.uid == start->job.uid &&
	    (known->r < 0 || is_still_free(m, known)))
		return take_result(known, ret, err);
	l = lookup_new(m, peer, start);
	if (l->db_path)
		return defer(l, peer, err);
	(void)look_up(l, NULL, NULL, err);
	r = take_result(l, ret, err);
	lookup_free(l);
	return r;
}
