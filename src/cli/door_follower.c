/* SPDX-License-Identifier: MIT */
#include "cli/door_follower.h"

#include <dirent.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "serve/job_from_json.h"
#include "engine/job_input.h"
#include "engine/registry.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_client.h"

#define DOORS_MAX 256
#define PATIENCE_NS (200 * NS_PER_MS)

struct door {
	char id[JOB_ID_MAX];
	struct rpc_client *client;
	job_handle job; /* -1: not registered yet */
	bool is_seen;
};

struct door_follower {
	struct engine *engine;
	char *dir;
	VEC(struct door) doors;
};

struct door_follower *door_follower_new(struct engine *engine, const char *jobs_dir)
{
	struct door_follower *f = xcalloc(1, sizeof *f);

	f->engine = engine;
	f->dir = xstrdup(jobs_dir);
	return f;
}

static json_t *ask(struct door *d, const char *method)
{
	json_t *answer = NULL;
	struct err err;

	if (rpc_client_call(d->client, method, NULL, clock_mono_ns() + PATIENCE_NS, &answer, &err) <
	    0)
		return NULL;
	return answer;
}

/* The first process of the job is the recorder's child. */
static pid_t first_process(struct door *d, pid_t recorder)
{
	json_t *top = ask(d, "daemon.top");
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
	json_t *status = ask(d, "daemon.status");
	pid_t recorder = (pid_t)rpc_answer_u64(status, "pid"), pid;
	struct job job = job_from_json(listed);
	struct err err;

	json_decref(status);
	pid = recorder ? first_process(d, recorder) : 0;
	if (!pid || job.status != JOB_RUNNING)
		return;
	job.handle = -1;
	job.current_sheet = job.last_completed_sheet = 0;
	job.registrar.pid = recorder;
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
	json_t *answer = ask(d, "job.list"), *sheet;
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

static void open_door(struct door_follower *f, const char *id)
{
	cleanup(freep) char *path = xasprintf("%s/%s/sock", f->dir, id);
	struct rpc_client *client = NULL;
	struct door *d;
	struct err err;

	vec_each(&f->doors, known)
		if (strcmp(known->id, id) == 0) {
			known->is_seen = true;
			return;
		}
	if (rpc_client_open(path, clock_mono_ns() + PATIENCE_NS, &client, &err) < 0)
		return;
	d = vec_push(&f->doors, DOORS_MAX);
	if (!d) {
		rpc_client_close(client);
		return;
	}
	memcpy(d->id, id, strlen(id) + 1);
	d->client = client;
	d->job = -1;
	d->is_seen = true;
}

void door_follower_look(struct door_follower *f)
{
	DIR *dir = opendir(f->dir);
	const struct dirent *entry;

	vec_each(&f->doors, d)
		d->is_seen = false;
	while (dir && (entry = readdir(dir)))
		if (entry->d_name[0] != '.' && strlen(entry->d_name) < JOB_ID_MAX)
			open_door(f, entry->d_name);
	if (dir)
		closedir(dir);
	for (size_t i = f->doors.len; i-- > 0;) {
		struct door *d = &f->doors.at[i];

		if (d->is_seen) {
			follow(f, d);
			continue;
		}
		rpc_client_close(d->client);
		*d = f->doors.at[--f->doors.len];
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
