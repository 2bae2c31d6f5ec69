/* SPDX-License-Identifier: MIT */
#include "engine/desk.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/own_group.h"
#include "job/sign.h"
#include "job/strangers.h"
#include "job/tally.h"
#include "probe/procstat.h"

#define OVER_NS (60 * NS_PER_S) /* so long an ended job is shown */

/* What we know of a job besides its row in the engine's table; in the same order. */
struct entry {
	struct tally tally;
	struct proc_id root;
	uint64_t started_mono_ns, over_mono_ns; /* over 0: it runs */
	uint64_t outlived;
	bool is_told;      /* its end went into a snapshot */
	bool is_concluded; /* nobody told its end: its process ended */
	bool is_past;      /* it ended before us: its figures are those that were stored */
};

struct desk {
	struct engine *engine;
	int root_fd;
	struct strangers *strangers; /* its claims are in the order of the entries */
	VEC(struct entry) entries;
};

static void on_scan(void *self, const struct sample *s)
{
	struct desk *d = self;

	strangers_look(d->strangers, s, engine_jobs(d->engine), engine_members(d->engine));
}

struct desk *desk_new(struct engine *engine)
{
	struct desk *d = xcalloc(1, sizeof *d);

	d->engine = engine;
	d->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	d->strangers = strangers_new(d->root_fd);
	engine_on_scan(engine, on_scan, d);
	return d;
}

void desk_free(struct desk *d)
{
	if (!d)
		return;
	vec_each(&d->entries, e)
		tally_done(&e->tally);
	vec_done(&d->entries);
	strangers_free(d->strangers);
	closep(&d->root_fd);
	free(d);
}

static struct job *job_at(const struct desk *d, int32_t job)
{
	return &engine_jobs(d->engine)->jobs.at[job];
}

static void remove_job(struct desk *d, int32_t job)
{
	size_t behind = d->entries.len - (size_t)job - 1;

	tally_done(&d->entries.at[job].tally);
	memmove(&d->entries.at[job], &d->entries.at[job + 1], behind * sizeof *d->entries.at);
	d->entries.len--;
	strangers_remove(d->strangers, job);
	engine_remove_job(d->engine, job);
}

static int check_share(const struct desk *d, uint32_t uid, struct err *err)
{
	size_t n = 0;

	vec_each(&engine_jobs(d->engine)->jobs, job)
		n += job->uid == uid;
	if (uid == 0 || n < DESK_JOBS_PER_UID_MAX)
		return 0;
	return err_set(err, ENOSPC, "a user may have %d jobs at a time", DESK_JOBS_PER_UID_MAX);
}

static int make_room(struct desk *d, const struct job *job, struct err *err)
{
	int32_t old = jobtab_index(engine_jobs(d->engine), job->id);

	if (old < 0)
		return check_share(d, job->uid, err);
	if (job_at(d, old)->status == JOB_RUNNING || !job->is_foreign)
		return err_set(err, EALREADY, "there is a job '%s' already", job->id);
	remove_job(d, old);
	return 0;
}

static void describe_tier(const struct desk *d, struct job *job)
{
	const struct sampler *s = engine_sampler(d->engine);

	if (!job->tier[0])
		snprintf(job->tier, sizeof job->tier, "%s",
		         sampler_tells_totals(s)   ? "BPF tracepoints"
		         : sampler_tells_births(s) ? "proc connector"
		                                   : "looks at /proc");
}

/* A job that has a recorder has its own idea of who belongs to it. */
static void claim(struct desk *d, const struct job *job, struct proc_id root)
{
	struct stranger_claim claim = { .root = root, .registrar = job->registrar };
	cleanup(freep) char *group = NULL;
	char workspace[JOB_CWD_MAX];

	if (!job->is_foreign)
		claim.group = group = own_group_find(d->root_fd, root.pid, job->registrar);
	if (!job->is_foreign && sign_workspace_find(job->tags, workspace))
		claim.workspace = workspace;
	strangers_add(d->strangers, &claim);
}

/* Its row and its entry; -1: there is no room. */
static int32_t enter(struct desk *d, const struct job *job, struct proc_id root)
{
	int32_t at = jobtab_add(engine_jobs(d->engine), job->id, job->type, 0);
	struct entry *entry = at < 0 ? NULL : vec_push(&d->entries, JOBS_MAX);

	if (!entry)
		return -1;
	*job_at(d, at) = *job;
	job_at(d, at)->status = JOB_RUNNING;
	job_at(d, at)->root = root;
	if (!job->started_ns)
		job_at(d, at)->started_ns = clock_wall_ns();
	describe_tier(d, job_at(d, at));
	entry->root = root;
	claim(d, job, root);
	entry->started_mono_ns = clock_mono_ns();
	entry->tally.started_boot_ns = clock_boot_ns();
	return at;
}

/* A process is in one job: a second one would take it and all it starts from the first. */
static int check_root(const struct desk *d, struct proc_id root, struct err *err)
{
	if (!root.start_ticks || !procstat_is_alive(d->root_fd, root))
		return err_set(err, ENOENT, "there is no process with pid %d", root.pid);
	vec_each(&engine_jobs(d->engine)->jobs, job)
		if (job->status == JOB_RUNNING && proc_id_eq(job->root, root))
			return err_set(err, EALREADY, "process %d is that of job '%s' already",
			               root.pid, job->id);
	return 0;
}

int desk_start(struct desk *d, const struct job *job, pid_t pid, struct err *err)
{
	struct proc_id root = { .pid = pid };
	int32_t at;

	procstat_start(d->root_fd, &root);
	if (check_root(d, root, err) < 0 || make_room(d, job, err) < 0)
		return -err->code;
	at = enter(d, job, root);
	if (at < 0)
		return err_set(err, ENOSPC, "there is room for %d jobs at most", JOBS_MAX);
	engine_learn(d->engine);
	members_add(engine_members(d->engine), engine_jobs(d->engine), root,
	            (struct job_ref){ .job = at });
	engine_adopt(d->engine);
	return 0;
}

/* ---- what was before us ---------------------------------------------------------------------- */

static uint64_t figure_of(const struct job *job, enum job_figure id)
{
	const struct figure *f = &job->figures[id];

	return f->quality == QUALITY_MISSING ? 0 : f->value;
}

/* What those took that are gone. The living tell what they took at the next look. */
static void remember(struct tally *t, const struct job *job, uint64_t ended_cpu_ns)
{
	t->told_cpu_ns = ended_cpu_ns;
	t->exited = figure_of(job, JOB_FIGURE_EXITED);
	t->failed = figure_of(job, JOB_FIGURE_FAILED);
	t->signalled = figure_of(job, JOB_FIGURE_SIGNALLED);
	t->oom_kills = figure_of(job, JOB_FIGURE_OOM_KILLS);
	t->peak_rss_bytes = figure_of(job, JOB_FIGURE_PEAK_RSS);
	t->hungriest_pid = job->hungriest_pid;
	memcpy(t->hungriest, job->hungriest, sizeof t->hungriest);
	t->peak_total_bytes = figure_of(job, JOB_FIGURE_PEAK_TOTAL);
	t->peak_at_ns = figure_of(job, JOB_FIGURE_PEAK_AT);
	t->lost = true; /* nobody looked in between */
}

/* Those of a job that goes on go on: that they are lost was true only while nobody watched. */
static void restore_sheets(struct desk *d, int32_t job, const struct desk_past *past)
{
	struct jobtab *jobs = engine_jobs(d->engine);
	bool goes_on = !d->entries.at[job].is_past;

	vec_each(&past->sheets, was) {
		struct sheet *sheet = jobtab_begin_sheet(jobs, job, was->num, was->label,
		                                         was->started_ns);

		if (!sheet)
			return;
		sheet->pid = was->pid;
		sheet->attempt = was->attempt;
		sheet->has_exit_code = was->has_exit_code;
		sheet->exit_code = was->exit_code;
		sheet->signal = was->signal;
		if (!goes_on || was->status != JOB_LOST)
			jobtab_end_sheet(jobs, sheet, was->status, was->ended_ns);
		sheet->is_stored = true;
	}
}

/* Its end was seen by nobody: who registered it may know, and come to say so. */
static void show_past(struct desk *d, int32_t at, const struct job *job,
                      const struct desk_past *past)
{
	struct entry *entry = &d->entries.at[at];

	*job_at(d, at) = *job;
	job_at(d, at)->took_ns = MAX(job->took_ns, job->ended_ns - job->started_ns);
	entry->is_past = entry->is_concluded = true;
	entry->over_mono_ns = clock_mono_ns();
	restore_sheets(d, at, past);
}

static void go_on(struct desk *d, int32_t at, const struct job *job, const struct desk_past *past)
{
	struct entry *entry = &d->entries.at[at];

	vec_each(&past->processes, p) {
		if (!procstat_is_alive(d->root_fd, p->id))
			continue;
		members_add(engine_members(d->engine), engine_jobs(d->engine), p->id,
		            (struct job_ref){ at, p->sheet });
	}
	remember(&entry->tally, job, past->ended_cpu_ns);
	entry->tally.started_boot_ns -= MIN(entry->tally.started_boot_ns,
	                                    clock_wall_ns() - job->started_ns);
	restore_sheets(d, at, past);
	engine_adopt(d->engine);
}

enum desk_restored desk_restore(struct desk *d, const struct job *job, const struct desk_past *past)
{
	bool goes_on = past->root.pid && procstat_is_alive(d->root_fd, past->root);
	int32_t at;

	if (jobtab_index(engine_jobs(d->engine), job->id) >= 0 ||
	    (!goes_on && job->ended_ns + DESK_PAST_NS < clock_wall_ns()))
		return DESK_LEFT;
	at = enter(d, job, past->root);
	if (at < 0)
		return DESK_LEFT;
	if (goes_on)
		go_on(d, at, job, past);
	else
		show_past(d, at, job, past);
	return goes_on ? DESK_GOES_ON : DESK_ENDED;
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void close_sheets(struct desk *d, int32_t job, uint64_t ended_ns)
{
	struct jobtab *jobs = engine_jobs(d->engine);

	vec_each(&jobs->sheets, sheet)
		if (sheet->job == job && sheet->status == JOB_RUNNING)
			jobtab_end_sheet(jobs, sheet, JOB_FAILED, MAX(ended_ns, sheet->started_ns));
}

static uint64_t count_living(const struct desk *d, int32_t job)
{
	const struct jobtab *jobs = engine_jobs(d->engine);
	struct map_slot slot;
	uint64_t n = 0;

	for (size_t it = 0; map_next(&engine_members(d->engine)->living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };

		n += jobtab_find(jobs, id).job == job;
	}
	return n;
}

static void put_end(struct desk *d, int32_t at, const struct sheet *how)
{
	struct entry *entry = &d->entries.at[at];
	struct job *job = job_at(d, at);

	job->status = how->status;
	job->has_exit_code = how->has_exit_code;
	job->exit_code = how->exit_code;
	job->signal = how->signal;
	if (!entry->over_mono_ns) {
		entry->over_mono_ns = clock_mono_ns();
		job->ended_ns = MAX(clock_wall_ns(), job->started_ns);
		job->took_ns = job->ended_ns - job->started_ns;
		entry->outlived = count_living(d, at);
		close_sheets(d, at, job->ended_ns);
	}
	entry->is_told = false;
}

int desk_end(struct desk *d, int32_t job, const struct sheet *how, struct err *err)
{
	struct entry *entry = &d->entries.at[job];

	if (entry->over_mono_ns && !entry->is_concluded)
		return err_set(err, EALREADY, "job '%s' ended before", job_at(d, job)->id);
	engine_learn(d->engine);
	put_end(d, job, how);
	entry->is_concluded = false;
	return 0;
}

void desk_lose(struct desk *d, int32_t job)
{
	if (!d->entries.at[job].over_mono_ns)
		put_end(d, job, &(struct sheet){ .status = JOB_LOST });
}

int desk_begin_sheet(struct desk *d, const struct saying_sheet *begun, uint32_t *ret_num,
                     struct err *err)
{
	const struct job *job = job_at(d, begun->job);

	if (job->status != JOB_RUNNING)
		return err_set(err, EALREADY, "job '%s' ended before", job->id);
	return saying_begin_sheet(d->engine, d->root_fd, begun, ret_num, err);
}

/* Who registered a job may have died with it. */
static void conclude_end(struct desk *d, int32_t at, const struct event *e)
{
	bool is_ok = e->has_exit_code && e->exit_code == 0;
	bool is_known = e->has_exit_code || e->signal;
	struct sheet how = { .status = is_ok      ? JOB_COMPLETED
		                       : is_known ? JOB_FAILED
		                                  : JOB_LOST,
		             .has_exit_code = e->has_exit_code,
		             .exit_code = e->exit_code,
		             .signal = e->signal };

	put_end(d, at, &how);
	d->entries.at[at].is_concluded = true;
}

/* A foreign job's end is its recorder's to tell. */
static void find_ends(struct desk *d, const struct snapshot *snap)
{
	vec_each(&snap->events, e) {
		int32_t at = e->kind == EVENT_EXIT ? e->job : -1;

		if (at < 0 || (size_t)at >= d->entries.len || d->entries.at[at].over_mono_ns ||
		    job_at(d, at)->is_foreign || !proc_id_eq(d->entries.at[at].root, e->id))
			continue;
		conclude_end(d, at, e);
	}
}

/* ---- figures --------------------------------------------------------------------------------- */

static void put_figures(struct desk *d, int32_t at, const struct snapshot *snap)
{
	const struct sampler *s = engine_sampler(d->engine);
	struct entry *entry = &d->entries.at[at];
	struct job *job = job_at(d, at);
	uint64_t living = count_living(d, at);
	struct tally_sources from = {
		.processes = entry->tally.exited + living,
		.living = living,
		.births_are_told = sampler_tells_births(s),
		.ooms_are_told = sampler_tells_totals(s),
		.outlived = entry->outlived,
		.has_ended = entry->over_mono_ns != 0,
	};

	tally_feed(&entry->tally, snap, at);
	from.processes = entry->tally.exited + living;
	if (!snap->events_only && snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	tally_figures(&entry->tally, &from, job);
}

static void forget_old(struct desk *d)
{
	uint64_t now_ns = clock_mono_ns();

	for (int32_t i = (int32_t)d->entries.len - 1; i >= 0; i--) {
		const struct entry *e = &d->entries.at[i];

		if (e->over_mono_ns && e->is_told && now_ns - e->over_mono_ns >= OVER_NS)
			remove_job(d, i);
	}
}

/* Sheets that ended with their job in this very snapshot. */
static void show_sheets(const struct desk *d, int32_t job, struct snapshot *snap)
{
	vec_each(&engine_jobs(d->engine)->sheets, sheet) {
		struct sheet *shown = NULL;

		if (sheet->job != job || sheet->is_stored)
			continue;
		vec_each(&snap->sheets, s)
			if (s->job == job && s->num == sheet->num)
				shown = s;
		if (!shown)
			shown = vec_push(&snap->sheets, SHEETS_MAX);
		if (shown)
			*shown = *sheet;
		sheet->is_stored = true;
	}
}

void desk_note(struct desk *d, struct snapshot *snap)
{
	if (!d->entries.len)
		return;
	find_ends(d, snap);
	for (int32_t i = 0; (size_t)i < d->entries.len && (size_t)i < snap->jobs.len; i++) {
		struct entry *entry = &d->entries.at[i];

		if (!job_at(d, i)->is_foreign && !entry->is_past)
			put_figures(d, i, snap);
		if (entry->over_mono_ns && !entry->is_told)
			show_sheets(d, i, snap);
		entry->is_told = entry->over_mono_ns != 0;
		snap->jobs.at[i] = *job_at(d, i);
	}
	forget_old(d);
}
