/* SPDX-License-Identifier: MIT */
#include "engine/jobhost.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/tally.h"
#include "probe/procstat.h"

#define TOTALS_PATIENCE_NS (40 * NS_PER_MS) /* the kernel tells of the reaped some 10 ms later */
#define LEFTOVERS_POLL_NS (50 * NS_PER_MS)

struct jobhost {
	struct jobhost_options options;
	struct loop *loop;
	struct launcher *launcher;
	struct group *group;
	struct engine *engine;
	int root_fd;
	struct tally tally;
	struct proc_id command;
	struct launch_end end;
	struct loop_source *limit_timer, *leftover_timer;
	uint64_t started_mono_ns, kill_at_ns;
	uint64_t ended_mono_ns, ended_boot_ns; /* the command */
	uint64_t outlived, leaked;
	bool has_ended, ended_in_time, is_last;
};

static struct job *the_job(struct jobhost *h)
{
	return &engine_jobs(h->engine)->jobs.at[0];
}

static void say(struct jobhost *h, const char *text)
{
	if (h->options.notice)
		h->options.notice(h->options.self, text);
}

static bool is_out_of_time(struct jobhost *h)
{
	return the_job(h)->limits_hit & 1u << JOB_LIMIT_TIME;
}

/* ---- figures --------------------------------------------------------------------------------- */

static void put_self(struct job *job)
{
	struct rusage us;

	getrusage(RUSAGE_SELF, &us);
	job->figures[JOB_FIGURE_SELF_CPU] = (struct figure){ clock_process_cpu_ns(),
		                                             QUALITY_EXACT };
	job->figures[JOB_FIGURE_SELF_RSS] = (struct figure){ (uint64_t)us.ru_maxrss * 1024,
		                                             QUALITY_EXACT };
}

static void put_figures(struct jobhost *h, struct job *job)
{
	struct members *members = engine_members(h->engine);
	struct cgroup_readings group = { 0 };
	struct tally_sources from = {
		.group = h->group ? &group : NULL,
		.processes = members->total,
		.living = members->living.len,
		.births_are_told = sampler_tells_births(engine_sampler(h->engine)),
		.ooms_are_told = sampler_tells_totals(engine_sampler(h->engine)),
		.outlived = h->outlived,
		.leaked = h->leaked,
		.has_ended = h->has_ended && h->ended_in_time, /* else we ended all at once */
		.is_over = h->is_last,
	};

	if (h->group) {
		group_read(h->group, &group);
		job->limits_hit |= group_limits_hit(h->group);
	}
	tally_figures(&h->tally, &from, job);
	if (h->has_ended)
		job->figures[JOB_FIGURE_COMMAND_TOOK] = (struct figure){
			h->ended_mono_ns - h->started_mono_ns, QUALITY_EXACT
		};
	put_self(job);
}

/* Until its command ended, or the last of those that were waited for. */
static uint64_t took_ns(const struct jobhost *h)
{
	uint64_t command_ns = h->ended_mono_ns - h->started_mono_ns;

	if (!h->leftover_timer)
		return command_ns;
	if (h->leaked) /* and still are there, because somebody would not wait */
		return clock_mono_ns() - h->started_mono_ns;
	return command_ns + h->tally.last_exit_boot_ns -
	       MIN(h->ended_boot_ns, h->tally.last_exit_boot_ns);
}

static void put_end(struct jobhost *h, struct job *job)
{
	bool is_ok = h->end.has_exit_code && h->end.exit_code == 0;

	job->status = is_ok ? JOB_COMPLETED : JOB_FAILED;
	job->has_exit_code = h->end.has_exit_code;
	job->exit_code = h->end.exit_code;
	job->signal = h->end.signal;
	job->core_dumped = h->end.core_dumped;
	job->took_ns = took_ns(h);
	job->ended_ns = job->started_ns + job->took_ns;
	job->current_sheet = 0;
}

/* A command that stayed alone took just what wait4 told of it, and told at once. */
static bool is_alone(struct jobhost *h)
{
	return h->has_ended && engine_members(h->engine)->total == 1;
}

static void fill_in_totals(struct jobhost *h, struct event *e)
{
	const struct rusage *u = &h->end.usage;

	readings_set(&e->final, PROC_CPU_TIME,
	             clock_timeval_ns(u->ru_utime) + clock_timeval_ns(u->ru_stime));
	readings_set(&e->final, PROC_MINOR_FAULTS, (uint64_t)u->ru_minflt);
	readings_set(&e->final, PROC_MAJOR_FAULTS, (uint64_t)u->ru_majflt);
	readings_set(&e->final, PROC_PEAK_RSS, (uint64_t)u->ru_maxrss * 1024);
	if (!h->end.has_io)
		return;
	readings_set(&e->final, PROC_READ_BYTES, h->end.read_bytes);
	readings_set(&e->final, PROC_WRITE_BYTES, h->end.written_bytes);
}

static bool cares(void *self, struct proc_id id)
{
	struct jobhost *h = self;

	return jobtab_find(engine_jobs(h->engine), id).job >= 0 && !is_alone(h);
}

static const struct event *find_end(const struct snapshot *snap, const struct sheet *sheet)
{
	vec_each(&snap->events, e)
		if (e->kind == EVENT_EXIT && e->job == 0 && e->id.pid == sheet->pid &&
		    e->wall_ns >= sheet->started_ns)
			return e;
	return NULL;
}

/* As it is now, in the snapshot that tells why. */
static void show_sheet(struct snapshot *snap, struct sheet *sheet)
{
	struct sheet *shown = NULL;

	vec_each(&snap->sheets, s)
		if (s->job == sheet->job && s->num == sheet->num)
			shown = s;
	if (!shown)
		shown = vec_push(&snap->sheets, SHEETS_MAX);
	if (!shown)
		return;
	*shown = *sheet;
	sheet->is_stored = true;
}

/* Whoever opened a sheet and died could not close it. */
static void close_orphaned_sheets(struct jobhost *h, struct snapshot *snap)
{
	struct jobtab *jobs = engine_jobs(h->engine);

	vec_each(&jobs->sheets, sheet) {
		const struct event *end = sheet->status == JOB_RUNNING ? find_end(snap, sheet)
		                                                       : NULL;

		if (!end)
			continue;
		sheet->signal = end->signal;
		jobtab_end_sheet(jobs, sheet, JOB_FAILED, end->wall_ns);
		show_sheet(snap, sheet);
	}
}

/* Nobody closed them while the job ran. */
static void close_open_sheets(struct jobhost *h, struct snapshot *snap, uint64_t ended_ns)
{
	struct jobtab *jobs = engine_jobs(h->engine);

	vec_each(&jobs->sheets, sheet) {
		if (sheet->status != JOB_RUNNING)
			continue;
		jobtab_end_sheet(jobs, sheet, JOB_FAILED, MAX(ended_ns, sheet->started_ns));
		show_sheet(snap, sheet);
	}
}

/* The kernel does not tell whom RLIMIT_NPROC refused a fork: that it is full can be seen. */
static void watch_user_pids(struct jobhost *h, struct job *job)
{
	uint64_t most = job->limit[JOB_LIMIT_USER_PIDS];
	struct err err;

	if (!most || job->limits_hit >> JOB_LIMIT_USER_PIDS & 1 ||
	    procstat_count_tasks(h->root_fd, getuid()) < most)
		return;
	job->limits_hit |= 1u << JOB_LIMIT_USER_PIDS;
	(void)!jobhost_say(h, EVENT_LIMIT, "pids", (int64_t)most,
	                   "the user has as many tasks as the limit allows", &err);
}

/* Before a snapshot is stored: the job in it gets its figures, so that a recorder that is killed
 * has told all up to the last tick. */
static void on_snapshot(void *self, struct snapshot *snap)
{
	struct jobhost *h = self;
	struct job *job = the_job(h);

	if (is_alone(h))
		vec_each(&snap->events, e)
			if (e->kind == EVENT_EXIT && e->id.pid == h->end.pid &&
			    !readings_has(&e->final, PROC_CPU_TIME))
				fill_in_totals(h, e);
	vec_each(&snap->events, e) /* the command's birth: two clocks, but one moment */
		if (e->kind == EVENT_SPAWN && e->boot_ns == h->tally.started_boot_ns)
			e->wall_ns = job->started_ns;
	close_orphaned_sheets(h, snap);
	tally_feed(&h->tally, snap, 0);
	if (!snap->events_only && snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns, snap->elapsed_ns);
	if (!snap->events_only)
		watch_user_pids(h, job);
	put_figures(h, job);
	if (h->is_last) {
		put_end(h, job);
		close_open_sheets(h, snap, job->ended_ns);
	}
	if (snap->jobs.len)
		snap->jobs.at[0] = *job;
	if (h->options.on_snapshot)
		h->options.on_snapshot(h->options.self, snap);
}

/* ---- ends ------------------------------------------------------------------------------------ */

static void signal_all(struct jobhost *h, int signo)
{
	struct members *members = engine_members(h->engine);
	struct map_slot slot;
	struct err err;

	if (h->group && group_kill(h->group, signo, &err) == 0)
		return;
	for (size_t it = 0; map_next(&members->living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };
		int pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);

		if (pidfd < 0)
			continue;
		if (procstat_is(h->root_fd,
		                id)) /* looked at after we hold it: it is the one we mean */
			(void)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
		close(pidfd);
	}
}

/* Those that are still there, counted by looking: an end may not have been told yet. */
static uint64_t count_living(struct jobhost *h)
{
	struct members *members = engine_members(h->engine);
	struct map_slot slot;
	uint64_t n = 0;

	for (size_t it = 0; map_next(&members->living, &it, &slot);)
		n += procstat_is_alive(h->root_fd, (struct proc_id){ (pid_t)slot.key, slot.value });
	return n;
}

/* Where births are not told, somebody may be there whom no look has seen yet. */
static void meet_all(struct jobhost *h)
{
	if (sampler_tells_births(engine_sampler(h->engine)))
		engine_learn(h->engine);
	else if (launcher_has_children(h->launcher))
		engine_look(h->engine);
}

static void check_leftovers(void *self)
{
	struct jobhost *h = self;
	uint64_t now_ns = clock_mono_ns();

	launcher_reap(h->launcher);
	if (count_living(h) == 0)
		meet_all(h);
	if (count_living(h) == 0) {
		loop_stop(h->loop);
		return;
	}
	if (h->kill_at_ns && now_ns >= h->kill_at_ns) {
		h->kill_at_ns = now_ns + NS_PER_S;
		signal_all(h, SIGKILL);
	}
	loop_timer_set(h->leftover_timer, now_ns + LEFTOVERS_POLL_NS);
}

static void see_to_leftovers(struct jobhost *h)
{
	struct err err;

	if (h->options.kills_leftovers || is_out_of_time(h)) {
		signal_all(h, SIGTERM);
		signal_all(h, SIGCONT); /* who stands still must hear it */
		h->kill_at_ns = clock_mono_ns() + h->options.grace_ns;
	}
	if (loop_add_timer(h->loop, clock_mono_ns(), check_leftovers, h, &h->leftover_timer, &err) <
	    0)
		loop_stop(h->loop);
}

/* Nobody tells of ends: so we tell of those that we reap. */
static void tell_end(struct jobhost *h, const struct launch_end *end)
{
	struct proc_id id = { .pid = end->pid };
	struct event *e;

	if (sampler_tells_births(engine_sampler(h->engine)) ||
	    !map_get(&engine_members(h->engine)->living, (uint64_t)id.pid, &id.start_ticks))
		return;
	e = sample_add_event(sampler_sample(engine_sampler(h->engine)), EVENT_EXIT);
	if (!e)
		return;
	e->boot_ns = clock_boot_ns();
	e->id = id;
	e->has_exit_code = end->has_exit_code;
	e->exit_code = end->exit_code;
	e->signal = end->signal;
	e->core_dumped = end->core_dumped;
}

/* Who tells of ends by number alone looks up whose they are, and the command was there before
 * anybody listened: nobody remembers it. */
static void on_dying(void *self)
{
	struct jobhost *h = self;

	if (h->engine)
		engine_learn(h->engine);
}

static void on_reaped(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	if (h->engine && sampler_is_helper(engine_sampler(h->engine), end->pid))
		return;
	tally_reap(&h->tally, end);
	if (h->engine)
		tell_end(h, end);
}

/* We wait for what the command left behind, and somebody does not want that. */
static void on_late_signal(void *self, int signo)
{
	struct jobhost *h = self;

	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP && signo != SIGQUIT)
		return;
	if (h->kill_at_ns)
		signal_all(h, SIGKILL);
	loop_stop(h->loop);
}

static void on_ended(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	h->end = *end;
	h->has_ended = true;
	h->ended_mono_ns = clock_mono_ns();
	h->ended_boot_ns = clock_boot_ns();
	h->ended_in_time = !is_out_of_time(h);
	meet_all(h);
	h->outlived = h->leaked = count_living(h);
	if (h->outlived && (h->options.waits || h->options.kills_leftovers || is_out_of_time(h)))
		see_to_leftovers(h);
	else
		loop_stop(h->loop);
}

/* The time is over: everybody is asked to end, and made to after the grace. */
static void on_time_limit(void *self)
{
	struct jobhost *h = self;
	struct job *job = the_job(h);
	struct err err;

	if (is_out_of_time(h)) {
		signal_all(h, SIGKILL);
		loop_timer_set(h->limit_timer, clock_mono_ns() + NS_PER_S);
		return;
	}
	job->limits_hit |= 1u << JOB_LIMIT_TIME;
	(void)!jobhost_say(h, EVENT_LIMIT, "time", (int64_t)job->limit[JOB_LIMIT_TIME],
	                   "the time limit was reached: SIGTERM to the whole job", &err);
	signal_all(h, SIGTERM);
	signal_all(h, SIGCONT); /* who stands still must hear it */
	loop_timer_set(h->limit_timer, clock_mono_ns() + h->options.grace_ns);
}

/* ---- the start ------------------------------------------------------------------------------- */

/* In the child. */
static int prepare(void *self, bool is_inside, struct err *err)
{
	struct jobhost *h = self;
	const uint64_t *limit = h->options.job->limit;
	const char *where = "";
	int r = h->group ? group_join(h->group, is_inside, &where) : 0;

	if (r < 0)
		return err_set(err, -r, "join '%s': %s", where, strerror(-r));
	if (group_needs_rlimit_pids(h->group, limit)) {
		struct rlimit most = { limit[JOB_LIMIT_PIDS], limit[JOB_LIMIT_PIDS] };

		if (setrlimit(RLIMIT_NPROC, &most) < 0)
			return err_set(err, errno, "limit the number of processes: %s",
			               strerror(errno));
	}
	return 0;
}

static int fork_command(struct jobhost *h, struct err *err)
{
	struct group_options group = { .job_id = h->options.job->id,
		                       .limit = h->options.job->limit };
	struct launch_options launch = { .argv = h->options.argv,
		                         .prepare = prepare,
		                         .on_dying = on_dying,
		                         .on_reaped = on_reaped,
		                         .on_ended = on_ended,
		                         .on_late_signal = on_late_signal,
		                         .self = h };
	char why[200];

	h->root_fd = group.root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (group_open(&group, &h->group, why, sizeof why, err) < 0)
		return -err->code;
	launch.cgroup_fd = h->group ? group_spawn_fd(h->group) : -1;
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

	procstat_start(h->root_fd, &id);
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
	if (group_needs_rlimit_pids(h->group, job->limit)) { /* which counts more than the job's */
		job->limit[JOB_LIMIT_USER_PIDS] = job->limit[JOB_LIMIT_PIDS];
		job->limit[JOB_LIMIT_PIDS] = 0;
	}
	job->status = JOB_RUNNING;
	snprintf(job->tier, sizeof job->tier, "%s%s%s", event_tier(engine_sampler(h->engine)),
	         h->group ? ", " : "", h->group ? group_describe(h->group) : "");
	mark_start(h);
}

int jobhost_new(struct loop *loop, struct launcher *take_launcher,
                const struct jobhost_options *options, struct jobhost **ret, struct err *err)
{
	cleanup(jobhost_freep) struct jobhost *h = xcalloc(1, sizeof *h);

	h->options = *options;
	h->loop = loop;
	h->launcher = take_launcher;
	h->root_fd = -1;
	h->options.engine.on_snapshot = on_snapshot;
	h->options.engine.on_snapshot_self = h;
	h->options.engine.root = (struct members_root){ .pid = getpid(),
		                                        .is_helper = is_helper,
		                                        .self = h };
	if (fork_command(h, err) < 0)
		return -err->code;
	if (engine_new(loop, &h->options.engine, &h->engine, err) < 0)
		return -err->code;
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
	if (limit_ns && loop_add_timer(h->loop, h->started_mono_ns + limit_ns, on_time_limit, h,
	                               &h->limit_timer, err) < 0)
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

void jobhost_finish(struct jobhost *h, struct job *ret, struct engine_totals *ret_totals)
{
	h->is_last = true;
	if (h->leftover_timer) /* who was waited for, or was ended by us, was not left behind */
		h->leaked = count_living(h);
	vec_each(&engine_jobs(h->engine)->sheets, sheet)
		sheet->is_stored = false; /* all of them are in the last snapshot */
	engine_settle(h->engine, TOTALS_PATIENCE_NS, cares, h);
	*ret = *the_job(h);
	engine_stop(h->engine, ret_totals); /* its last words still come through on_snapshot() */
	h->engine = NULL;
}

void jobhost_free(struct jobhost *h)
{
	if (!h)
		return;
	engine_free(h->engine);
	tally_done(&h->tally);
	launcher_free(h->launcher);
	group_close(h->group);
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

/* ---- what the job says ----------------------------------------------------------------------- */

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
