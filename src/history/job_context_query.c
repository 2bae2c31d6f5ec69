/* SPDX-License-Identifier: MIT */
/* The context of a job beside its own figures: anomalies, the load when it started, its system
 * calls. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "history/history_handle.h"
#include "history/job_query.h"

static unsigned anomaly_bit(const char *key)
{
	for (unsigned i = 0; key && i < ANOMALY_KIND_COUNT; i++)
		if (strcmp(anomaly_kinds[i].key, key) == 0)
			return 1u << i;
	return 0;
}

static int read_anomalies(struct history *r, struct job_key key, struct job_context *ret,
                          struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result;

	if (!db_has_column(r->db, "anomaly", "kind"))
		return 0;
	result = history_prepare_for_job(r, "SELECT DISTINCT kind FROM anomaly WHERE job = ?1", key,
	                                 &stmt, err);
	while (result >= 0 && (result = db_step(stmt, err)) > 0)
		ret->anomalies |= anomaly_bit((const char *)sqlite3_column_text(stmt, 0));
	return result;
}

/* At the first snapshot of the job that its recorder stored the machine with. */
static int read_load(struct history *r, struct job_key key, struct job_context *ret,
                     struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result;

	ret->load = NAN;
	if (!db_has_column(r->db, "host", "load_avg_1") ||
	    !db_has_column(r->db, "job", "first_snapshot"))
		return 0;
	result = history_prepare_for_job(
		r,
		"SELECT h.load_avg_1 FROM job j JOIN host h ON h.id BETWEEN j.first_snapshot AND"
		" coalesce(j.last_snapshot, j.first_snapshot) WHERE j.id = ?1 ORDER BY h.id LIMIT 1",
		key, &stmt, err);
	if (result >= 0)
		result = db_step(stmt, err);
	if (result > 0 && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		ret->load = sqlite3_column_double(stmt, 0) / 1000;
	return MIN(result, 0);
}

/* The first is the one with the most time. */
static int take_call(void *self, const struct syscall_record *s)
{
	struct job_context *to = self;

	if (*to->call)
		return 0;
	snprintf(to->call, sizeof to->call, "%s", s->name);
	to->call_ratio = s->time_ratio;
	return 0;
}

int history_job_context(struct history *r, struct job_key key, struct job_context *ret,
                        struct err *err)
{
	cleanup(history_endp) struct history *scope = NULL;
	struct job_context found = { 0 };
	int result = history_begin(r, &scope, err);

	if (result >= 0)
		result = read_anomalies(r, key, &found, err);
	if (result >= 0)
		result = read_load(r, key, &found, err);
	if (result >= 0)
		result = history_each_syscall(r, key, 0, take_call, &found, err);
	if (result < 0)
		return result;
	*ret = found;
	return 0;
}
