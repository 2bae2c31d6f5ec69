/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include <errno.h>
#include <string.h>

#include "base/clock.h"
#include "probe/procstat.h"

int jobhost_begin_sheet(struct jobhost *h, uint32_t num, uint32_t total, const char *label,
                        pid_t pid, uint32_t *ret_num, struct err *err)
{
	struct jobtab *jobs = engine_jobs(h->engine);
	struct proc_id id = { .pid = pid };
	struct sheet *sheet = jobtab_begin_sheet(jobs, 0, num, label, clock_wall_ns());

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
	struct sample *s = sampler_sample(engine_sampler(h->engine));
	struct event *e = sample_add_event(s, kind);

	if (!e)
		return err_set(err, ENOSPC, "too many events wait to be stored");
	e->boot_ns = clock_boot_ns();
	e->job = 0;
	e->count = count;
	e->name = sample_add_text(s, name, strlen(name));
	if (data)
		e->text = sample_add_text(s, data, strlen(data));
	return 0;
}
