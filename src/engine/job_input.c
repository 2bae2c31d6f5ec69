/* SPDX-License-Identifier: MIT */
#include "engine/job_input.h"

#include <errno.h>
#include <math.h>

#include "base/clock.h"
#include "base/json.h"
#include "engine/watch_target.h"
#include "kernel/process_lookup.h"

void job_input_attempt_json(struct json *j, const struct sheet *was, uint64_t now_ns)
{
	bool has_ended = was->status != JOB_RUNNING;

	json_begin_object(j);
	json_put_u64(j, "sheet", was->num);
	json_put_u64(j, "attempt", was->attempt);
	json_put_text(j, "label", was->label);
	json_put_str(j, "status", job_status_name(has_ended ? was->status : JOB_LOST));
	if (was->has_exit_code)
		json_put_u64(j, "exit_code", (uint64_t)was->exit_code);
	json_put_any_u64(j, "signal", (uint64_t)was->signal);
	json_put_double(j, "seconds",
	                (double)((has_ended ? was->ended_ns : now_ns) - was->started_ns) / 1e9, 3);
	json_end_object(j);
}

/* A sheet has one row, that of its last attempt: the mark records the one before. */
static void emit_attempt(struct engine *e, const struct sheet *was)
{
	const struct event mark = { .kind = EVENT_MARK, .job = was->job, .sheet = was->num };
	cleanup(buf_done) struct buf data = { 0 };
	struct json j = { .out = &data };

	job_input_attempt_json(&j, was, clock_wall_ns());
	(void)engine_emit(e, &mark, JOB_INPUT_RETRIED, data.at);
}

/* If its opener died without closing it, or opens it again, that begins the next attempt. Two openers
 * at a time would close each other's. */
static bool is_open_elsewhere(const struct jobs *jobs, const struct sheet *sheet, pid_t pid)
{
	struct proc_id id = { .pid = sheet->pid };

	return sheet->status == JOB_RUNNING && sheet->pid != pid &&
	       map_get(&jobs->members.living, (uint64_t)id.pid, &id.start_ticks) &&
	       process_lookup_is_alive(jobs->reader, id);
}

static int end_former_attempt(struct engine *e, const struct job_row *row,
                              const struct job_input_sheet *begun, struct err *err)
{
	const struct sheet *was = job_row_sheet(row, begun->num);

	if (!was)
		return 0;
	if (is_open_elsewhere(engine_jobs(e), was, begun->opener.pid))
		return err_set(err, EALREADY, "sheet %u is open already, by process %d", begun->num,
		               was->pid);
	emit_attempt(e, was);
	return 0;
}

/* ---- the process that opens it --------------------------------------------------------------- */

/* A job lasts as long as its first process, which therefore stays in it. */
static int check_opener(const struct jobs *jobs, const struct job_row *row, struct proc_id opener,
                        struct err *err)
{
	if (watch_target_check_member(jobs->reader, opener.pid, err) < 0)
		return -err->code;
	if (!opener.start_ticks)
		process_lookup_find_start(jobs->reader, &opener);
	vec_each(&jobs->roster.rows, other) {
		const struct job *job = &(*other)->job;

		if (*other != row && !job->has_recorder && job->status == JOB_RUNNING &&
		    proc_id_eq(job->root, opener))
			return err_set(err, EALREADY,
			               "process %d is the first process of job '%s'", opener.pid,
			               job->id);
	}
	return 0;
}

/* A wrapper reports what its command used at the end; any other process works in the sheet itself, and
 * its counters are read. A job that another recorder writes into our store is accounted for there. */
static void begin_account(struct engine *e, struct job_row *row, struct sheet *sheet,
                          const struct job_input_sheet *begun, const struct sheet_use *former,
                          bool overlaps)
{
	struct watched_job *w = row->watched;
	struct proc_readings now;
	struct sheet_account *account;
	bool is_read, has_children;

	sheet->own = *former;
	if (row->job.is_stored_by_other || sheet->is_wrapper)
		return;
	is_read = process_lookup_usage(engine_jobs(e)->reader, begun->opener, &now);
	account = sheet_accounts_begin(&w->sheet_accounts, sheet->num, begun->opener,
	                               is_read ? &now : NULL, clock_boot_ns());
	if (!account)
		return;
	if (overlaps)
		account->lack = SHEET_LACKS_OVERLAP;
	account->is_late = begun->started_ns > 0;
	account->counts_waited = !account->is_late &&
	                         process_lookup_waited(engine_jobs(e)->reader, begun->opener,
	                                               &account->waited_begin_ns, &has_children) &&
	                         !has_children;
	if (sheet->attempt == 1)
		return;
	account->before = *former;
	account->has_before = true;
}

/* It and its descendants belong to the sheet from its start on. */
static void enter_sheet(struct engine *e, struct job_row *row, struct sheet *sheet,
                        struct job_input_sheet begun, const struct sheet *former)
{
	struct jobs *jobs = engine_jobs(e);
	const struct job_ref to = { row->job.handle, sheet->num };
	struct watched_job *other;
	bool overlaps = false;
	struct job_ref was;
	struct proc_id id;

	if (!begun.opener.start_ticks)
		process_lookup_find_start(jobs->reader, &begun.opener);
	id = begun.opener;
	engine_read_events(e);
	was = job_roster_find(&jobs->roster, id);
	other = was.job == to.job ? NULL : jobs_get(jobs, was.job);
	if (was.job == to.job)
		sheet->outer = was.sheet == sheet->num ? former->outer : was.sheet;
	if (other) {
		overlaps = sheet_accounts_overlap(&other->sheet_accounts, id);
		jobs_leave(jobs, id, sampler_last(engine_sampler(e)));
	}
	members_add(&jobs->members, &jobs->roster, id, to);
	begin_account(e, row, sheet, &begun, &former->own, overlaps);
	if (was.job != to.job)
		jobs_join(jobs, to, id, sampler_last(engine_sampler(e)));
	if (begun.started_ns && was.job == to.job)
		jobs_move_to_sheet(jobs, id, was, to, clock_boot_at(sheet->started_ns),
		                   sampler_last(engine_sampler(e)));
}

/* The sheet that the opener was in before, or around that, if it is still open. */
static uint32_t outer_sheet(const struct job_row *row, const struct sheet *sheet)
{
	const struct sheet *outer = sheet;

	for (size_t i = 0; i < row->sheets.len; i++) {
		uint32_t num = outer->outer;

		outer = num ? job_row_sheet(row, num) : NULL;
		if (!outer || outer->pid != sheet->pid || outer->status == JOB_RUNNING)
			return num;
	}
	return 0;
}

/* Its usage from now on is not part of the sheet; its children stay where they were born. Its end,
 * which may be reported a moment after it was reaped, was in the sheet. */
static void leave_sheet(struct engine *e, const struct job_row *row, const struct sheet *sheet)
{
	struct jobs *jobs = engine_jobs(e);
	struct proc_id id = { .pid = sheet->pid };
	struct job_ref now;

	engine_read_events(e);
	if (!map_get(&jobs->members.living, (uint64_t)id.pid, &id.start_ticks) ||
	    !process_lookup_is_alive(jobs->reader, id))
		return;
	now = job_roster_find(&jobs->roster, id);
	if (now.job == row->job.handle && now.sheet == sheet->num)
		members_add(&jobs->members, &jobs->roster, id,
		            (struct job_ref){ now.job, outer_sheet(row, sheet) });
}

/* ---------------------------------------------------------------------------------------------- */

int job_input_begin_sheet(struct engine *e, const struct job_input_sheet *begun, uint32_t *ret_num,
                          struct err *err)
{
	struct jobs *jobs = engine_jobs(e);
	struct job_row *row = job_roster_get(&jobs->roster, begun->job);
	const struct sheet *known = begun->num ? job_row_sheet(row, begun->num) : NULL;
	struct sheet former = { .own.max_cpu_ratio = (double)NAN }, *sheet;

	if (row->job.status != JOB_RUNNING)
		return err_set(err, EALREADY, "job '%s' ended before", row->job.id);
	if (begun->opener.pid && check_opener(jobs, row, begun->opener, err) < 0)
		return -err->code;
	if (known && end_former_attempt(e, row, begun, err) < 0)
		return -err->code;
	if (known)
		former = *known;
	sheet = job_roster_begin_sheet(&jobs->roster, row, begun->num, begun->label,
	                               begun->started_ns ? begun->started_ns : clock_wall_ns());
	if (!sheet)
		return err_set(err, ENOSPC, "at most %d sheets can be recorded at a time",
		               SHEETS_MAX);
	sheet->pid = begun->opener.pid;
	sheet->is_wrapper = begun->is_wrapper;
	row->job.total_sheets = MAX(row->job.total_sheets, begun->total);
	*ret_num = sheet->num;
	if (begun->opener.pid)
		enter_sheet(e, row, sheet, *begun, &former);
	else if (!row->job.has_recorder)
		jobs_gather_in_sheet(jobs, row->watched, sheet->num);
	return 0;
}

/* Its processes may all have been too short-lived to be seen busy. */
static void take_use(struct sheet *sheet, struct sheet_use used)
{
	uint64_t now_ns = clock_wall_ns(), took_ns = now_ns - MIN(now_ns, sheet->started_ns);

	used.max_cpu_ratio = fmax(used.max_cpu_ratio,
	                          sheet_use_mean_cpu(used.figures[SHEET_FIGURE_CPU], took_ns));
	if (sheet->attempt == 1)
		sheet->own = used;
	else
		sheet_use_add(&sheet->own, &used);
}

static void end_account(struct engine *e, const struct job_row *row, struct sheet *sheet,
                        const struct sheet_use *used)
{
	struct sheet_accounts *accounts = &row->watched->sheet_accounts;
	struct proc_readings now;
	uint64_t waited_ns;

	if (used)
		take_use(sheet, *used);
	vec_each(accounts, a) {
		bool is_read = a->num == sheet->num && !a->closed_boot_ns && !a->is_final &&
		               process_lookup_usage(engine_jobs(e)->reader, a->id, &now);

		if (is_read &&
		    process_lookup_waited(engine_jobs(e)->reader, a->id, &waited_ns, NULL))
			a->waited_ns = MAX(a->waited_ns, waited_ns);
		if (a->num == sheet->num)
			sheet_account_end(a, is_read ? &now : NULL, clock_boot_ns());
	}
}

int job_input_end_sheet(struct engine *e, job_handle job, uint32_t num, const struct job_end *how,
                        const struct sheet_use *used, struct err *err)
{
	struct job_row *row = job_roster_get(&engine_jobs(e)->roster, job);
	struct sheet *sheet = job_row_sheet(row, num);

	if (!sheet)
		return err_set(err, ENOENT, "sheet %u was never opened", num);
	if (sheet->status != JOB_RUNNING)
		return err_set(err, EALREADY, "sheet %u ended before", num);
	sheet->has_exit_code = how->has_exit_code;
	sheet->exit_code = how->exit_code;
	sheet->signal = how->signal;
	end_account(e, row, sheet, used);
	job_row_end_sheet(row, sheet, how->status, how->ended_ns ? how->ended_ns : clock_wall_ns());
	leave_sheet(e, row, sheet);
	return 0;
}

int job_input_event(struct engine *e, const struct job_input_event *added, struct err *err)
{
	const struct event event = { .kind = added->kind,
		                     .job = added->job,
		                     .count = added->count,
		                     .boot_ns = added->at_ns ? clock_boot_at(added->at_ns) : 0 };

	if (!engine_emit(e, &event, added->name, added->data))
		return err_set(err, ENOSPC, "too many events wait to be stored");
	return 0;
}
