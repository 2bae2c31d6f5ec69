/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "base/json.h"
#include "probe/procstat.h"

static struct event *add_word(struct jobhost *h, enum event_kind kind, const char *name,
                              const char *data)
{
	struct sample *s = sampler_sample(engine_sampler(h->engine));
	struct event *e = sample_add_event(s, kind);

	if (!e)
		return NULL;
	e->boot_ns = clock_boot_ns();
	e->job = 0;
	e->name = sample_add_text(s, name, strlen(name));
	if (data)
		e->text = sample_add_text(s, data, strlen(data));
	return e;
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
static void tell_attempt(struct jobhost *h, const struct sheet *was)
{
	struct buf data = { 0 };
	struct json j = { .out = &data };
	struct event *e;

	put_attempt(&j, was, clock_wall_ns());
	e = add_word(h, EVENT_MARK, "sheet.retried", data.at);
	if (e)
		e->sheet = was->num;
	buf_done(&data);
}

/* Whoever opened it died without closing it, or opens it again: the next attempt. Two at a time
 * would close each other's. */
static bool is_open_elsewhere(struct jobhost *h, const struct sheet *sheet, pid_t pid)
{
	struct proc_id id = { .pid = sheet->pid };

	return sheet->status == JOB_RUNNING && sheet->pid != pid &&
	       map_get(&engine_members(h->engine)->living, (uint64_t)id.pid, &id.start_ticks) &&
	       procstat_is_alive(h->root_fd, id);
}

static int look_at_former(struct jobhost *h, uint32_t num, pid_t pid, struct err *err)
{
	const struct sheet *was = jobtab_sheet(engine_jobs(h->engine), 0, num);

	if (!was)
		return 0;
	if (is_open_elsewhere(h, was, pid))
		return err_set(err, EALREADY, "sheet %u is open already, by process %d", num,
		               was->pid);
	tell_attempt(h, was);
	return 0;
}

int jobhost_begin_sheet(struct jobhost *h, uint32_t num, uint32_t total, const char *label,
                        pid_t pid, uint32_t *ret_num, struct err *err)
{
	struct jobtab *jobs = engine_jobs(h->engine);
	struct proc_id id = { .pid = pid };
	struct sheet *sheet;

	if (num && look_at_former(h, num, pid, err) < 0)
		return -err->code;
	sheet = jobtab_begin_sheet(jobs, 0, num, label, clock_wall_ns());
	if (!sheet)
		return err_set(err, ENOSPC, "a job has at most %d sheets", SHEETS_MAX);
	sheet->pid = pid;
	jobs->jobs.at[0].total_sheets = MAX(jobs->jobs.at[0].total_sheets, total);
	procstat_start(h->root_fd, &id);
	engine_learn(h->engine);
	members_add(engine_members(h->engine), jobs, id, (struct job_ref){ 0, sheet->num });
	*ret_num = sheet->num;
	return 0;
}

int jobhost_end_sheet(struct jobhost *h, uint32_t num, const struct sheet *how, struct err *err)
{
	struct jobtab *jobs = engine_jobs(h->engine);
	struct sheet *sheet = jobtab_sheet(jobs, 0, num);

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

int jobhost_say(struct jobhost *h, enum event_kind kind, const char *name, int64_t count,
                const char *data, struct err *err)
{
	struct event *e = add_word(h, kind, name, data);

	if (!e)
		return err_set(err, ENOSPC, "too many events wait to be stored");
	e->count = count;
	return 0;
}
