/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/mem.h"
#include "daemon/daemon_self.h"
#include "history/job_query.h"

#define NAMES_MAX 1000 /* ID.2 … ID.1000 */

/* ---- status ---------------------------------------------------------------------------------- */

void daemon_answers_tier(const struct daemon *d, char ret[static JOB_TIER_MAX])
{
	struct role_health roles[ROLES_MAX];
	const char *tasks = NULL, *lifecycle = NULL;
	size_t n = d->host.engine ? sampler_health(engine_sampler(d->host.engine), roles) : 0;

	for (size_t i = 0; i < n; i++) {
		if (strcmp(roles[i].role, "tasks") == 0)
			tasks = roles[i].tier;
		else if (strcmp(roles[i].role, "lifecycle") == 0)
			lifecycle = roles[i].tier;
	}
	snprintf(ret, JOB_TIER_MAX, "%s%s%s", tasks ? tasks : "", tasks && lifecycle ? ", " : "",
	         lifecycle ? lifecycle : "");
}

static uint64_t size_of(const char *path, const char *suffix)
{
	cleanup(freep) char *name = xasprintf("%s%s", path, suffix);
	struct stat st;

	return stat(name, &st) == 0 ? (uint64_t)st.st_size : 0;
}

static void get_status(void *self, struct serve_status *ret)
{
	struct daemon *d = self;
	const char *path = d->options->engine.recorder.store.path;

	*ret = (struct serve_status){ .is_enabled = d->host.engine != NULL,
		                      .store_bytes = size_of(path, "") + size_of(path, "-wal"),
		                      .config_problem = d->problem[0] ? d->problem : NULL };
	if (!d->host.engine)
		return;
	daemon_answers_tier(d, ret->tier);
	ret->interval_ns = engine_interval_ns(d->host.engine);
	ret->asked_interval_ns = engine_asked_interval_ns(d->host.engine);
	ret->left_out = engine_left_out(d->host.engine);
	engine_totals(d->host.engine, &ret->totals);
}

/* ---- jobs ------------------------------------------------------------------------------------ */

static bool is_recorded(struct history *reader, struct job_key key)
{
	struct job found;
	struct err err;

	return history_get_job(reader, key, &found, &err) == 0;
}

static const struct job *find_job(const struct daemon *d, struct job_key key)
{
	const struct job_roster *t = &engine_jobs(d->host.engine)->roster;
	const struct job_row *row = job_roster_get(t, job_roster_find_key(t, key));

	return row ? &row->job : NULL;
}

/* A job with a recorder that is back after it was lost has its id again. */
static bool is_taken(const struct daemon *d, struct history *reader, const struct job *job)
{
	const struct job *other = find_job(d, job_key_of(job));

	if (other && (!job->is_foreign || other->status == JOB_RUNNING))
		return true;
	return reader && is_recorded(reader, job_key_of(job));
}

/* An id that the store knows already becomes ID.2, ID.3 …, as with `run`. What has a recorder of its
 * own is not in our store. */
static int find_free_id(const struct daemon *d, struct job *job, struct err *err)
{
	cleanup(history_closep) struct history *reader = NULL;
	cleanup(freep) char *wanted = xstrdup(job->id);

	if (!job->is_foreign &&
	    history_open(d->options->engine.recorder.store.path, &reader, err) < 0)
		reader = NULL; /* the recorder meets the same problem, and reports it */
	for (unsigned i = 2; is_taken(d, reader, job); i++) {
		if (i > NAMES_MAX)
			return err_set(err, EALREADY, "there are too many jobs '%s'", wanted);
		snprintf(job->id, sizeof job->id, "%.*s.%u", JOB_ID_MAX - 16, wanted, i);
	}
	return 0;
}

/* With two running jobs of one id a user could not say which is meant. A recorder can: it speaks for
 * one. */
static int check_runs_once(const struct daemon *d, const struct job *job, struct err *err)
{
	const struct job *other = find_job(d, job_key_of(job));

	if (job->is_foreign || !other || other->status != JOB_RUNNING)
		return 0;
	return err_set(err, EALREADY, "there is a job '%s' already", job->id);
}

/* 1: it is not on the disk. */
static int store(const struct daemon *d, const struct job *job)
{
	return job->is_foreign || !engine_store_jobs(d->host.engine);
}

static int start_job(void *self, struct job *job, pid_t pid, struct err *err)
{
	struct daemon *d = self;

	if (!d->host.engine)
		return err_set(err, EAGAIN, "profiler.enabled is false: nothing is watched");
	if (check_runs_once(d, job, err) < 0 || find_free_id(d, job, err) < 0)
		return -err->code;
	if (registry_start(d->host.engine, job, pid, &job->handle, err) < 0)
		return -err->code;
	return store(d, job); /* what was answered is not lost when we are killed */
}

static int end_job(void *self, job_handle job, const struct job_end *how, struct err *err)
{
	struct daemon *d = self;

	if (registry_end(d->host.engine, job, how, err) < 0)
		return -err->code;
	return store(d, &job_roster_get(&engine_jobs(d->host.engine)->roster, job)->job);
}

static void lose_job(void *self, job_handle job)
{
	struct daemon *d = self;

	registry_lose(d->host.engine, job);
}

struct serve_host daemon_answers_host(struct daemon *d)
{
	static const struct serve_daemon answers = {
		.status = get_status,
		.start_job = start_job,
		.end_job = end_job,
		.lose_job = lose_job,
	};
	struct serve_host host = engine_host_serve(&d->host);

	host.db_path = d->options->engine.recorder.store.path;
	host.jsonl_path = d->options->engine.recorder.jsonl_path;
	host.clients_max = d->options->clients_max;
	host.clients_per_uid_max = d->options->clients_per_uid_max;
	host.daemon = &answers;
	host.daemon_self = d;
	return host;
}
