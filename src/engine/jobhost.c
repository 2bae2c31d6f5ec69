/* SPDX-License-Identifier: MIT */
#include "engine/jobhost_self.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/process_reader.h"

#define TOTALS_PATIENCE_NS (40 * NS_PER_MS) /* the kernel tells of the reaped some 10 ms later */
#define BUSY_PATIENCE_NS NS_PER_S           /* … on a busy machine 500 */

static void say(struct jobhost *h, const char *text)
{
	if (h->options.notice)
		h->options.notice(h->options.self, text);
}

/* In the child. */
static int prepare(void *self, bool is_inside, struct err *err)
{
	struct jobhost *h = self;
	const uint64_t *limit = h->options.job->limit;
	const char *where = "";
	int r = h->group ? job_cgroup_join(h->group, is_inside, &where) : 0;

	if (r < 0)
		return err_set(err, -r, "join '%s': %s", where, strerror(-r));
	if (job_cgroup_needs_rlimit_pids(h->group, limit)) {
		struct rlimit most = { limit[JOB_LIMIT_PIDS], limit[JOB_LIMIT_PIDS] };

		if (setrlimit(RLIMIT_NPROC, &most) < 0)
			return err_set(err, errno, "limit the number of processes: %s",
			               strerror(errno));
	}
	return 0;
}

static int fork_command(struct jobhost *h, struct err *err)
{
	struct job_cgroup_options group = { .job_id = h->options.job->id,
		                            .limit = h->options.job->limit };
	struct launch_options launch = { .argv = h->options.argv,
		                         .prepare = prepare,
		                         .on_dying = jobhost_on_dying,
		                         .on_reaped = jobhost_on_reaped,
		                         .on_ended = jobhost_on_ended,
		                         .on_forward = jobhost_on_forward,
		                         .on_late_signal = jobhost_on_late_signal,
		                         .self = h };
	char why[200];

	h->root_fd = group.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (job_cgroup_open(&group, &h->group, why, sizeof why, err) < 0)
		return -err->code;
	launch.cgroup_fd = h->group ? job_cgroup_spawn_fd(h->group) : -1;
	return launcher_fork(h->launcher, &launch, err);
}

static const char *event_tier(const struct sampler *s)
{
	if (sampler_tells_totals(s))
		return "BPF tracepoints";
	return sampler_tells_births(s) ? "proc connector" : "looks at /proc";
}

/* The command was there before anybody listened: its birth is told by us. */
static void enter_command(struct jobhost *h)
{
	struct job_ref ref = { .job = 0 };
	struct proc_id id = { .pid = launcher_pid(h->launcher) };
	struct sample *s = sampler_sample(engine_sampler(h->engine));
	struct event *e = sample_add_event(s, EVENT_SPAWN);

	process_reader_find_start(engine_process_reader(h->engine), &id);
	h->command = id;
	members_add(engine_members(h->engine), engine_jobs(h->engine), id, ref);
	if (!e)
		return;
	e->boot_ns = h->tally.started_boot_ns;
	e->id = id;
	e->ppid = getpid();
	e->uid = geteuid();
	snprintf(e->comm, sizeof e->comm, "proctor");
}

static bool is_helper(void *self, pid_t pid)
{
	struct jobhost *h = self;

	return launcher_is_helper(h->launcher, pid) ||
	       (h->engine && sampler_is_helper(engine_sampler(h->engine), pid));
}

static void mark_start(struct jobhost *h)
{
	the_job(h)->started_ns = clock_wall_ns();
	h->tally.started_boot_ns = clock_boot_ns();
	h->started_mono_ns = clock_mono_ns();
}

static void enter_job(struct jobhost *h)
{
	struct jobtab *jobs = engine_jobs(h->engine);
	struct job *job;

	if (jobtab_add(jobs, h->options.job->id, h->options.job->type, 0) < 0)
		return;
	job = the_job(h);
	*job = *h->options.job;
	if (job_cgroup_needs_rlimit_pids(h->group,
	                                 job->limit)) { /* which counts more than the job's */
		job->limit[JOB_LIMIT_USER_PIDS] = job->limit[JOB_LIMIT_PIDS];
		job->limit[JOB_LIMIT_PIDS] = 0;
	}
	job->status = JOB_RUNNING;
	snprintf(job->tier, sizeof job->tier, "%s%s%s", event_tier(engine_sampler(h->engine)),
	         h->group ? ", " : "", h->group ? job_cgroup_describe(h->group) : "");
	mark_start(h);
}

static void show(void *self, const struct snapshot *snap)
{
	struct jobhost *h = self;

	if (h->options.on_snapshot)
		h->options.on_snapshot(h->options.self, snap);
}

/* What becomes of each snapshot of the job. */
static void set_pipeline(struct jobhost *h)
{
	const struct pipeline pipeline = {
		.stages = { { "pressure", PASS_TICK, engine_stage_pressure, h->engine },
		            { "anomalies", PASS_ALL, engine_stage_anomalies, h->engine },
		            { "job figures", PASS_ALL, jobhost_on_snapshot, h } },
		.sinks = { { "door", PASS_ALL, show, .self = h }, engine_sink_recorder(h->engine) },
	};

	engine_set_pipeline(h->engine, &pipeline);
}

int jobhost_new(struct loop *loop, struct launcher *take_launcher,
                const struct jobhost_options *options, struct jobhost **ret, struct err *err)
{
	cleanup(jobhost_freep) struct jobhost *h = xcalloc(1, sizeof *h);

	h->options = *options;
	h->loop = loop;
	h->launcher = take_launcher;
	h->root_fd = -1;
	h->options.engine.root = (struct members_root){ .pid = getpid(),
		                                        .is_helper = is_helper,
		                                        .self = h };
	if (fork_command(h, err) < 0)
		return -err->code;
	if (engine_new(loop, &h->options.engine, &h->engine, err) < 0)
		return -err->code;
	set_pipeline(h);
	enter_job(h);
	*ret = TAKE_PTR(h);
	return 0;
}

int jobhost_start(struct jobhost *h, struct err *err)
{
	uint64_t limit_ns = h->options.job->limit[JOB_LIMIT_TIME];

	mark_start(h);
	enter_command(h);
	if (limit_ns)
		launcher_set_deadline(h->launcher, h->started_mono_ns + limit_ns);
	if (launcher_release(h->launcher, err) < 0)
		return -err->code;
	if (limit_ns && loop_add_timer(h->loop, h->started_mono_ns + limit_ns,
	                               jobhost_on_time_limit, h, &h->limit_timer, err) < 0)
		say(h, err->msg);
	return 0;
}

void jobhost_fail(struct jobhost *h, int status, const char *why)
{
	struct err err;

	members_drop(engine_members(h->engine), engine_jobs(h->engine), h->command);
	h->end = (struct launch_end){ .has_exit_code = true, .exit_code = status };
	h->has_ended = true;
	h->ended_mono_ns = clock_mono_ns();
	h->ended_boot_ns = clock_boot_ns();
	(void)!jobhost_say(h, EVENT_RECORDER, "", 0, why, &err);
}

int jobhost_run(struct jobhost *h, struct err *err)
{
	launcher_reap(h->launcher); /* it may be over already */
	return h->has_ended && !h->leftover_timer ? 0 : loop_run(h->loop, err);
}

static void *move_leftovers(void *self)
{
	const struct jobhost *h = self;

	job_cgroup_empty(h->group);
	return NULL;
}

/* They leave the job, and are looked at once more: of them no end will tell what they took. To move
 * them takes a while, in which the rest can be done. */
static void let_go_of_leftovers(struct jobhost *h)
{
	bool was_just_looked_at = !sampler_tells_births(engine_sampler(h->engine)) &&
	                          !h->leftover_timer;

	if (h->group)
		h->is_moving = pthread_create(&h->mover, NULL, move_leftovers, h) == 0;
	if (!was_just_looked_at)
		engine_look(h->engine);
}

/* After an end that we made or waited for nobody is in a hurry. */
static uint64_t patience_ns(struct jobhost *h)
{
	bool is_at_leisure = (is_out_of_time(h) || h->leftover_timer) && !h->leaked;

	return is_at_leisure ? BUSY_PATIENCE_NS : TOTALS_PATIENCE_NS;
}

void jobhost_finish(struct jobhost *h, struct job *ret, struct engine_totals *ret_totals)
{
	if (h->leftover_timer) /* who was waited for, or was ended by us, was not left behind */
		h->leaked = jobhost_count_living(h);
	if (h->leaked)
		let_go_of_leftovers(h);
	h->is_last = true;
	vec_each(&engine_jobs(h->engine)->sheets, sheet)
		sheet->is_stored = false; /* all of them are in the last snapshot */
	engine_settle(h->engine, patience_ns(h), h->leaked, jobhost_cares, h);
	*ret = *the_job(h);
	engine_stop(h->engine,
	            ret_totals); /* its last words still come through jobhost_on_snapshot() */
	h->engine = NULL;
}

void jobhost_free(struct jobhost *h)
{
	if (!h)
		return;
	engine_free(h->engine);
	accounting_done(&h->tally);
	launcher_free(h->launcher);
	if (h->is_moving)
		pthread_join(h->mover, NULL);
	job_cgroup_close(h->group);
	closep(&h->root_fd);
	free(h);
}

const struct launch_end *jobhost_end(const struct jobhost *h)
{
	return &h->end;
}

struct engine *jobhost_engine(struct jobhost *h)
{
	return h->engine;
}

pid_t jobhost_pid(const struct jobhost *h)
{
	return launcher_pid(h->launcher);
}
