/* SPDX-License-Identifier: MIT */
#include "serve/job_list.h"

#include <string.h>

#include "serve/methods.h"

static void put_text(struct json *j, const char *key, const char *text)
{
	json_put_str(j, key, text[0] ? text : NULL);
}

static void put_time(struct json *j, const char *key, uint64_t wall_ns)
{
	json_key(j, key);
	if (wall_ns)
		json_fixed(j, wall_ns / NS_PER_US, 6);
	else
		json_nil(j);
}

/* A code or a signal, never both; null is what it did not end by. */
static void put_end(struct json *j, bool has_exit_code, int exit_code, int signal)
{
	json_key(j, "exit_code");
	has_exit_code ? json_i64(j, exit_code) : json_nil(j);
	json_key(j, "signal_num");
	signal ? json_i64(j, signal) : json_nil(j);
}

static void put_sheets(struct json *j, const struct job_row *row)
{
	json_open_array(j, "sheets");
	vec_each(&row->sheets, sheet) {
		json_begin_object(j);
		json_put_u64(j, "sheet_num", sheet->num);
		put_text(j, "label", sheet->label);
		put_text(j, "status", job_status_name(sheet->status));
		put_time(j, "started_at", sheet->started_ns);
		put_time(j, "ended_at", sheet->ended_ns);
		put_end(j, sheet->has_exit_code, sheet->exit_code, sheet->signal);
		json_key(j, "pid");
		json_i64(j, sheet->pid);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_progress(struct json *j, const struct job *job)
{
	json_put_u64(j, "total_sheets", job->total_sheets);
	json_put_u64(j, "last_completed_sheet", job->last_completed_sheet);
	json_key(j, "current_sheet");
	job->current_sheet ? json_u64(j, job->current_sheet) : json_nil(j);
}

static void put_job(struct json *j, const struct job_row *row)
{
	const struct job *job = &row->job;

	json_begin_object(j);
	put_text(j, "job_id", job->id);
	put_text(j, "job_type", job->type);
	put_text(j, "parent_job_id", job->parent);
	put_text(j, "command", job->command);
	put_text(j, "cwd", job->cwd);
	json_put_u64(j, "uid", job->uid);
	json_key(j, "tags");
	json_raw(j, job->tags[0] ? job->tags : "{}", job->tags[0] ? strlen(job->tags) : 2);
	put_text(j, "tier", job->tier);
	put_text(j, "status", job_status_name(job->status));
	put_time(j, "started_at", job->started_ns);
	put_time(j, "ended_at", job->ended_ns);
	put_end(j, job->has_exit_code, job->exit_code, job->signal);
	put_progress(j, job);
	put_sheets(j, row);
	json_end_object(j);
}

void job_list_put(const struct job_roster *t, const struct rpc_server_peer *peer, struct json *j)
{
	json_begin_object(j);
	json_open_array(j, "jobs");
	vec_each(&t->rows, row)
		if (methods_has_job(peer, &(*row)->job))
			put_job(j, *row);
	json_end_array(j);
	json_end_object(j);
}
