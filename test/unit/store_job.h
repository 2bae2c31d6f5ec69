/* SPDX-License-Identifier: MIT */
/* store_job.h - a few jobs for a store, and questions about them. */
#pragma once

#include <errno.h>
#include <sqlite3.h>

#include "store/store_handle.h"
#include "history/job_query.h"
#include "store_world.h"

static inline struct history *open_reader(const char *dir)
{
	char *path = xasprintf("%s/proctor.db", dir);
	struct history *r = NULL;
	struct err err = { 0 };

	if (history_open(path, &r, &err) < 0)
		fail_msg("%s", err.msg);
	free(path);
	return r;
}

static inline struct job find(const char *dir, const char *name)
{
	struct history *r = open_reader(dir);
	struct err err = { 0 };
	struct job job;

	if (history_find_job(r, name, &job, &err) < 0)
		fail_msg("%s", err.msg);
	history_close(r);
	return job;
}

static inline int find_error(const char *dir, const char *name, struct err *err)
{
	struct history *r = open_reader(dir);
	struct job job;
	int result = history_find_job(r, name, &job, err);

	history_close(r);
	return result;
}

static inline void run_sql(const char *dir, const char *sql)
{
	char *path = xasprintf("%s/proctor.db", dir), *message = NULL;
	sqlite3 *db = NULL;

	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	if (sqlite3_exec(db, sql, NULL, NULL, &message) != SQLITE_OK)
		fail_msg("%s", message);
	sqlite3_close(db);
	free(path);
}

static inline int64_t ask_int(const char *dir, const char *sql)
{
	char *path = xasprintf("%s/proctor.db", dir);
	cleanup(db_closep) sqlite3 *db = NULL;
	struct err err = { 0 };
	int64_t value = 0;

	if (db_open(path, DB_READ, &db, &err) < 0 || db_int(db, sql, &value, &err) < 0)
		fail_msg("%s: %s", sql, err.msg);
	free(path);
	return value;
}

static inline void put_job(struct store *st, const struct job *job)
{
	struct err err = { 0 };

	if (store_put_job(st, job, &err) < 0)
		fail_msg("%s", err.msg);
}

static inline void end(struct job *job, enum job_status status)
{
	job->status = status;
	job->ended_ns = job->started_ns + 90 * NS_PER_S;
	job->took_ns = 89 * NS_PER_S;
	job->has_exit_code = status == JOB_COMPLETED;
	job->signal = status == JOB_COMPLETED ? 0 : 11;
	job->core_dumped = status != JOB_COMPLETED;
}

static inline struct job some_job(struct world *w, const char *id, const char *type)
{
	struct job job = { .started_ns = w->wall_ns };

	snprintf(job.id, sizeof job.id, "%s", id);
	snprintf(job.type, sizeof job.type, "%s", type);
	w->wall_ns += NS_PER_S;
	return job;
}
