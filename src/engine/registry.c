/* SPDX-License-Identifier: MIT */
#include "engine/registry_self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/cgroup/own_cgroup.h"
#include "job/signature.h"
#include "kernel/process_reader.h"

static void on_scan(void *self, const struct sample *s)
{
	struct registry *d = self;

	adoption_look(d->strangers, s, engine_jobs(d->engine), engine_members(d->engine));
}

struct registry *registry_new(struct engine *engine)
{
	struct registry *d = xcalloc(1, sizeof *d);

	d->engine = engine;
	d->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	d->strangers = adoption_new(d->root_fd, engine_process_reader(engine));
	engine_on_scan(engine, on_scan, d);
	(void)engine_births(engine); /* from now on */
	return d;
}

void registry_free(struct registry *d)
{
	if (!d)
		return;
	vec_each(&d->entries, e)
		accounting_done(&e->tally);
	vec_done(&d->entries);
	adoption_free(d->strangers);
	closep(&d->root_fd);
	free(d);
}

void registry_remove(struct registry *d, int32_t job)
{
	size_t behind = d->entries.len - (size_t)job - 1;

	accounting_done(&d->entries.at[job].tally);
	memmove(&d->entries.at[job], &d->entries.at[job + 1], behind * sizeof *d->entries.at);
	d->entries.len--;
	adoption_remove(d->strangers, job);
	engine_remove_job(d->engine, job);
}

/* One of his that has ended, and that was told: it is shown only while there is room. */
static bool forget_one(struct registry *d, uint32_t uid)
{
	int32_t oldest = -1;

	for (int32_t i = 0; (size_t)i < d->entries.len; i++) {
		const struct registry_entry *e = &d->entries.at[i];

		if (registry_job(d, i)->uid == uid && e->over_mono_ns && e->is_told &&
		    (oldest < 0 || e->over_mono_ns < d->entries.at[oldest].over_mono_ns))
			oldest = i;
	}
	if (oldest >= 0)
		registry_remove(d, oldest);
	return oldest >= 0;
}

static int check_share(struct registry *d, uint32_t uid, struct err *err)
{
	size_t n = 0;

	vec_each(&engine_jobs(d->engine)->jobs, job)
		n += job->uid == uid;
	if (uid == 0 || n < REGISTRY_JOBS_PER_UID_MAX || forget_one(d, uid))
		return 0;
	return err_set(err, ENOSPC, "a user may have %d jobs at a time", REGISTRY_JOBS_PER_UID_MAX);
}

static int make_room(struct registry *d, const struct job *job, struct err *err)
{
	int32_t old = jobtab_index(engine_jobs(d->engine), job->id);

	if (old < 0)
		return check_share(d, job->uid, err);
	if (registry_job(d, old)->status == JOB_RUNNING || !job->is_foreign)
		return err_set(err, EALREADY, "there is a job '%s' already", job->id);
	registry_remove(d, old);
	return 0;
}

static void describe_tier(const struct registry *d, struct job *job)
{
	const struct sampler *s = engine_sampler(d->engine);

	if (!job->tier[0])
		snprintf(job->tier, sizeof job->tier, "%s",
		         sampler_tells_totals(s)   ? "BPF tracepoints"
		         : sampler_tells_births(s) ? "proc connector"
		                                   : "looks at /proc");
}

/* A job that has a recorder has its own idea of who belongs to it. */
static void claim(struct registry *d, const struct job *job, struct proc_id root)
{
	struct adoption_claim claim = { .root = root, .registrar = job->registrar };
	cleanup(freep) char *group = NULL;
	char workspace[JOB_CWD_MAX];

	if (!job->is_foreign)
		claim.group = group = own_cgroup_find(d->root_fd, engine_process_reader(d->engine),
		                                      root.pid, job->registrar);
	if (!job->is_foreign && signature_workspace_find(job->tags, workspace))
		claim.workspace = workspace;
	adoption_add(d->strangers, &claim);
}

int32_t registry_enter(struct registry *d, const struct job *job, struct proc_id root)
{
	int32_t at = jobtab_add(engine_jobs(d->engine), job->id, job->type, 0);
	struct registry_entry *entry = at < 0 ? NULL : vec_push(&d->entries, JOBS_MAX);

	if (!entry)
		return -1;
	*registry_job(d, at) = *job;
	registry_job(d, at)->status = JOB_RUNNING;
	registry_job(d, at)->root = root;
	if (!job->started_ns)
		registry_job(d, at)->started_ns = clock_wall_ns();
	describe_tier(d, registry_job(d, at));
	entry->root = root;
	claim(d, job, root);
	entry->tally.started_boot_ns = clock_boot_ns();
	return at;
}

/* A process is in one job: a second one would take it and all it starts from the first. */
static int check_root(const struct registry *d, struct proc_id root, struct err *err)
{
	if (!root.start_ticks || !process_reader_is_alive(engine_process_reader(d->engine), root))
		return err_set(err, ENOENT, "there is no process with pid %d", root.pid);
	vec_each(&engine_jobs(d->engine)->jobs, job)
		if (job->status == JOB_RUNNING && proc_id_eq(job->root, root))
			return err_set(err, EALREADY, "process %d is that of job '%s' already",
			               root.pid, job->id);
	return 0;
}

int registry_start(struct registry *d, const struct job *job, pid_t pid, struct err *err)
{
	struct proc_id root = { .pid = pid };
	int32_t at;

	process_reader_find_start(engine_process_reader(d->engine), &root);
	if (check_root(d, root, err) < 0 || make_room(d, job, err) < 0)
		return -err->code;
	at = registry_enter(d, job, root);
	if (at < 0)
		return err_set(err, ENOSPC, "there is room for %d jobs at most", JOBS_MAX);
	engine_learn(d->engine);
	registry_add_members(d, at, root);
	engine_adopt(d->engine);
	return 0;
}

static void close_sheets(struct registry *d, int32_t job, uint64_t ended_ns)
{
	struct jobtab *jobs = engine_jobs(d->engine);

	vec_each(&jobs->sheets, sheet)
		if (sheet->job == job && sheet->status == JOB_RUNNING) {
			jobtab_end_sheet(jobs, sheet, JOB_FAILED, MAX(ended_ns, sheet->started_ns));
			sheet->ends_now = true;
		}
}

uint64_t registry_count_living(const struct registry *d, int32_t job)
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

void registry_put_end(struct registry *d, int32_t at, const struct sheet *how)
{
	struct registry_entry *entry = &d->entries.at[at];
	struct job *job = registry_job(d, at);

	job->status = how->status;
	job->has_exit_code = how->has_exit_code;
	job->exit_code = how->exit_code;
	job->signal = how->signal;
	if (!entry->over_mono_ns) {
		entry->over_mono_ns = clock_mono_ns();
		job->ended_ns = MAX(how->ended_ns ? how->ended_ns : clock_wall_ns(),
		                    job->started_ns);
		job->took_ns = job->ended_ns - job->started_ns;
		entry->outlived = registry_count_living(d, at);
		close_sheets(d, at, job->ended_ns);
	}
	entry->is_told = false;
}

struct of_job {
	const struct jobtab *jobs;
	int32_t job;
};

static bool is_of_job(void *self, struct proc_id id)
{
	const struct of_job *of = self;

	return jobtab_find(of->jobs, id).job == of->job;
}

/* Who says that a job has ended has often just waited for it, and asks for its figures next. While
 * its process is there, nobody has waited. */
static void take_in_ends(struct registry *d, int32_t job)
{
	struct of_job of = { engine_jobs(d->engine), job };

	if (process_reader_exists(engine_process_reader(d->engine), d->entries.at[job].root))
		engine_learn(d->engine);
	else
		engine_await_totals(d->engine, is_of_job, &of);
}

int registry_end(struct registry *d, int32_t job, const struct sheet *how, struct err *err)
{
	struct registry_entry *entry = &d->entries.at[job];

	if (entry->over_mono_ns && !entry->is_concluded)
		return err_set(err, EALREADY, "job '%s' ended before", registry_job(d, job)->id);
	take_in_ends(d, job);
	registry_put_end(d, job, how);
	entry->is_concluded = false;
	return 0;
}

void registry_lose(struct registry *d, int32_t job)
{
	if (!d->entries.at[job].over_mono_ns)
		registry_put_end(d, job, &(struct sheet){ .status = JOB_LOST });
}

int registry_begin_sheet(struct registry *d, const struct job_input_sheet *begun, uint32_t *ret_num,
                         struct err *err)
{
	const struct job *job = registry_job(d, begun->job);

	if (job->status != JOB_RUNNING)
		return err_set(err, EALREADY, "job '%s' ended before", job->id);
	return job_input_begin_sheet(d->engine, begun, ret_num, err);
}
