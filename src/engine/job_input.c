/* SPDX-License-Identifier: MIT */
#include "engine/job_input.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "kernel/process_reader.h"

static struct event *add_word(struct engine *e, int32_t job, enum event_kind kind, const char *name,
                              const char *data)
{
	struct sample *s = sampler_sample(engine_sampler(e));
	struct event *word = sample_add_event(s, kind);

	if (!word)
		return NULL;
	word->boot_ns = clock_boot_ns();
	word->job = job;
	word->name = sample_add_text(s, name, strlen(name));
	if (data)
		word->text = sample_add_text(s, data, strlen(data));
	return word;
}

static void put_attempt(struct json *j, const struct sheet *was, uint64_t now_ns)
{
	bool has_ended = was->status != JOB_RUNNING;

	json_begin_object(j);
	json_key(j, "sheet");
	json_u64(j, was->num);
	json_key(j, "attempt");
	json_u64(j, was->attempt);
	json_key(j, "label");
	json_str(j, *was->label ? was->label : NULL);
	json_key(j, "status");
	json_str(j, job_status_name(has_ended ? was->status : JOB_LOST));
	if (was->has_exit_code) {
		json_key(j, "exit_code");
		json_i64(j, was->exit_code);
	}
	if (was->signal) {
		json_key(j, "signal");
		json_i64(j, was->signal);
	}
	json_key(j, "seconds");
	json_double(j, (double)((has_ended ? was->ended_ns : now_ns) - was->started_ns) / 1e9, 3);
	json_end_object(j);
}

/* A sheet has one row, that of its last attempt: how the one before went is said here. */
static void tell_attempt(struct engine *e, const struct sheet *was)
{
	struct buf data = { 0 };
	struct json j = { .out = &data };
	struct event *word;

	put_attempt(&j, was, clock_wall_ns());
	word = add_word(e, was->job, EVENT_MARK, "sheet.retried", data.at);
	if (word)
		word->sheet = was->num;
	buf_done(&data);
}

/* Whoever opened it died without closing it, or opens it again: the next attempt. Two at a time
 * would close each other's. */
static bool is_open_elsewhere(struct engine *e, const struct sheet *sheet, pid_t pid)
{
	struct proc_id id = { .pid = sheet->pid };

	return sheet->status == JOB_RUNNING && sheet->pid != pid &&
	       map_get(&engine_members(e)->living, (uint64_t)id.pid, &id.start_ticks) &&
	       process_reader_is_alive(engine_process_reader(e), id);
}

static int look_at_former(struct engine *e, const struct job_input_sheet *begun, struct err *err)
{
	const struct sheet *was = jobtab_sheet(engine_jobs(e), begun->job, begun->num);

	if (!was)
		return 0;
	if (is_open_elsewhere(e, was, begun->pid))
		return err_set(err, EALREADY, "sheet %u is open already, by process %d", begun->num,
		               was->pid);
	tell_attempt(e, was);
	return 0;
}

int job_input_begin_sheet(struct engine *e, const struct job_input_sheet *begun, uint32_t *ret_num,
                          struct err *err)
{
	struct jobtab *jobs = engine_jobs(e);
	struct proc_id id = { .pid = begun->pid };
	struct sheet *sheet;
	struct job *job;

	if (begun->num && look_at_former(e, begun, err) < 0)
		return -err->code;
	sheet = jobtab_begin_sheet(jobs, begun->job, begun->num, begun->label, clock_wall_ns());
	if (!sheet)
		return err_set(err, ENOSPC, "there is room for %d sheets at most", SHEETS_MAX);
	job = &jobs->jobs.at[begun->job];
	sheet->pid = begun->pid;
	job->total_sheets = MAX(job->total_sheets, begun->total);
	*ret_num = sheet->num;
	if (!begun->pid)
		return 0;
	process_reader_find_start(engine_process_reader(e), &id);
	engine_learn(e);
	members_add(engine_members(e), jobs, id, (struct job_ref){ begun->job, *ret_num });
	return 0;
}

int job_input_end_sheet(struct engine *e, int32_t job, uint32_t num, const struct sheet *how,
                        struct err *err)
{
	struct jobtab *jobs = engine_jobs(e);
	struct sheet *sheet = jobtab_sheet(jobs, job, num);

	if (!sheet)
		return err_set(err, ENOENT, "sheet %u was never opened", num);
	if (sheet->status != JOB_RUNNING)
		return err_set(err, EALREADY, "sheet %u ended before", num);
	sheet->has_exit_code = how->has_exit_code;
	sheet->exit_code = how->exit_code;
	sheet->signal = how->signal;
	jobtab_end_sheet(jobs, sheet, how->status, clock_wall_ns());
	return 0;
}

int job_input_event(struct engine *e, int32_t job, enum event_kind kind, const char *name,
                    int64_t count, const char *data, struct err *err)
{
	struct event *word = add_word(e, job, kind, name, data);

	if (!word)
		return err_set(err, ENOSPC, "too many events wait to be stored");
	word->count = count;
	return 0;
}
