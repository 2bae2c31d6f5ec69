/* SPDX-License-Identifier: MIT */
#include "serve/door_follower.h"

#include <dirent.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/job_input.h"
#include "engine/registry.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_client.h"
#include "serve/job_from_json.h"

#define DOORS_MAX 256
#define PATIENCE_NS (200 * NS_PER_MS)
#define PAUSE_MIN_NS (2 * NS_PER_S)
#define PAUSE_MAX_NS (16 * NS_PER_S)

struct door {
	char id[JOB_ID_MAX];
	struct rpc_client *client; /* NULL: not open */
	job_handle job;            /* -1: not registered yet */
	bool is_seen;
	/* It did not answer: its recorder was stopped, say. It is not asked before `after_ns`. */
	uint64_t pause_ns, after_ns;
};

struct door_follower {
	struct engine *engine;
	char *dir;
	VEC(struct door) doors;
	size_t asked; /* the one that was asked last */
};

struct door_follower *door_follower_new(struct engine *engine, const char *jobs_dir)
{
	struct door_follower *f = xcalloc(1, sizeof *f);

	f->engine = engine;
	f->dir = xstrdup(jobs_dir);
	return f;
}

/* Waiting for it holds up the caller's loop: a door that does not answer is left alone for ever longer pauses. */
static void pause_door(struct door *d)
{
	rpc_client_close(d->client);
	d->client = NULL;
	d->pause_ns = d->pause_ns ? MIN(2 * d->pause_ns, PAUSE_MAX_NS) : PAUSE_MIN_NS;
	d->after_ns = clock_mono_ns() + d->pause_ns;
}

static json_t *ask(const struct door_follower *f, struct door *d, const char *method)
{
	uint64_t now_ns = clock_mono_ns(), deadline_ns = now_ns + PATIENCE_NS;
	cleanup(freep) char *path = xasprintf("%s/%s/sock", f->dir, d->id);
	json_t *answer = NULL;
	struct err err;

	if (now_ns < d->after_ns)
		return NULL;
	if ((!d->client && rpc_client_open(path, deadline_ns, &d->client, &err) < 0) ||
	    rpc_client_call(d->client, method, NULL, deadline_ns, &answer, &err) < 0)
		pause_door(d);
	else
		d->pause_ns = 0;
	return answer;
}

/* The first process of the job is the recorder's child. */
static pid_t first_process(const struct door_follower *f, struct door *d, pid_t recorder)
{
	json_t *top = ask(f, d, "daemon.top");
	size_t i;
	json_t *p;
	pid_t found = 0;

	json_array_foreach(json_object_get(top, "processes"), i, p)
	{
		if ((pid_t)rpc_answer_u64(p, "ppid") == recorder && !found)
			found = (pid_t)rpc_answer_u64(p, "pid");
	}
	json_decref(top);
	return found;
}

static void register_job(struct door_follower *f, struct door *d, const json_t *listed)
{
	json_t *status = ask(f, d, "daemon.status");
	pid_t recorder = (pid_t)rpc_answer_u64(status, "pid"), pid;
	struct job job = job_from_json(listed);
	struct err err;

	json_decref(status);
	pid = recorder ? first_process(f, d, recorder) : 0;
	if (!pid || job.status != JOB_RUNNING)
		return;
	job.handle = -1;
	job.current_sheet = job.last_completed_sheet = 0;
	job.registrar.pid = recorder;
	job.started_ns = registry_bound_start(f->engine, &job);
	if (registry_start(f->engine, &job, pid, &d->job, &err) < 0)
		d->job = -1;
}

static void end_sheet(struct door_follower *f, const struct door *d, uint32_t num,
                      const char *status, const json_t *listed)
{
	const json_t *code = json_object_get(listed, "exit_code");
	struct job_end how = {
		.status = strcmp(status, "completed") == 0 ? JOB_COMPLETED
		          : strcmp(status, "lost") == 0    ? JOB_LOST
		                                           : JOB_FAILED,
		.has_exit_code = json_is_integer(code),
		.exit_code = (int)json_integer_value(code),
		.signal = (int)rpc_answer_u64(listed, "signal_num"),
		.ended_ns = rpc_answer_ns(listed, "ended_at"),
	};
	struct err ignored;

	(void)!job_input_end_sheet(f->engine, d->job, num, &how, NULL, &ignored);
}

/* As the door lists it, against what we know of it. */
static void follow_sheet(struct door_follower *f, const struct door *d, const json_t *listed,
                         uint32_t total)
{
	const struct job_row *row = job_roster_get(&engine_jobs(f->engine)->roster, d->job);
	uint32_t num = (uint32_t)rpc_answer_u64(listed, "sheet_num"), opened;
	const struct sheet *known = row && num ? job_row_sheet(row, num) : NULL;
	const char *label = rpc_answer_text(listed, "label");
	const char *status = rpc_answer_text(listed, "status");
	const struct job_input_sheet begun = {
		.job = d->job,
		.num = num,
		.total = total,
		.label = label ? label : "",
		.opener.pid = (pid_t)rpc_answer_u64(listed, "pid"),
		.started_ns = rpc_answer_ns(listed, "started_at"),
	};
	bool runs = status && strcmp(status, "running") == 0;
	struct err err;

	if (!row || !num || !status)
		return;
	if (!known && job_input_begin_sheet(f->engine, &begun, &opened, &err) < 0)
		return;
	if (!runs && (!known || known->status == JOB_RUNNING))
		end_sheet(f, d, num, status, listed);
}

static void follow(struct door_follower *f, struct door *d)
{
	json_t *answer = ask(f, d, "job.list"), *sheet;
	const json_t *listed = json_array_get(json_object_get(answer, "jobs"), 0);
	uint32_t total = (uint32_t)rpc_answer_u64(listed, "total_sheets");
	size_t i;

	if (listed && d->job < 0)
		register_job(f, d, listed);
	if (listed && d->job >= 0)
		json_array_foreach(json_object_get(listed, "sheets"), i, sheet)
			follow_sheet(f, d, sheet, total);
	json_decref(answer);
}

static void see_door(struct door_follower *f, const char *id)
{
	struct door *d;

	vec_each(&f->doors, known)
		if (strcmp(known->id, id) == 0) {
			known->is_seen = true;
			return;
		}
	d = vec_push(&f->doors, DOORS_MAX);
	if (!d)
		return;
	*d = (struct door){ .job = -1, .is_seen = true };
	memcpy(d->id, id, strlen(id) + 1);
}

static void see_doors(struct door_follower *f)
{
	DIR *dir = opendir(f->dir);
	const struct dirent *entry;

	vec_each(&f->doors, d)
		d->is_seen = false;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < JOB_ID_MAX)
			see_door(f, entry->d_name);
	if (dir)
		closedir(dir);
}

static void forget_removed_doors(struct door_follower *f)
{
	for (size_t i = f->doors.len; i-- > 0;) {
		struct door *d = &f->doors.at[i];

		if (d->is_seen)
			continue;
		rpc_client_close(d->client);
		*d = f->doors.at[--f->doors.len];
	}
}

void door_follower_ask(struct door_follower *f)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	see_doors(f);
	forget_removed_doors(f);
	for (size_t n = f->doors.len; n && clock_mono_ns() < end_ns; n--) {
		f->asked = (f->asked + 1) % f->doors.len;
		follow(f, &f->doors.at[f->asked]);
	}
}

void door_follower_free(struct door_follower *f)
{
	if (!f)
		return;
	vec_each(&f->doors, d)
		rpc_client_close(d->client);
	vec_done(&f->doors);
	free(f->dir);
	free(f);
}
