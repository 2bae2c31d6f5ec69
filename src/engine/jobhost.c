/* SPDX-License-Identifier: MIT */
#include "engine/jobhost.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/forwarded_signals.h"
#include "job/allowance.h"
#include "job/cgroup/oom_watch.h"
#include "kernel/process_peek.h"
#include "kernel/process_reader.h"
#include "kernel/user_tasks.h"

#define TOTALS_PATIENCE_NS (40 * NS_PER_MS) /* the kernel reports a reaped process 10 ms later */
#define BUSY_PATIENCE_NS NS_PER_S           /* … 500 ms on a busy machine */
#define LEFTOVERS_POLL_NS (50 * NS_PER_MS)
#define CHARGE_BATCH_BYTES (64 * 4096) /* how memory is charged */

struct jobhost {
	struct jobhost_options options;
	struct loop *loop;
	struct launcher *launcher;
	struct job_cgroup *group;
	struct cgroup_readings group_readings;
	struct oom_watch oom;
	struct oom_limit oom_limit;     /* that was reached */
	uint64_t seen_kills, oom_kills; /* SIGKILLs of members, and what the watch counted then */
	int root_fd;
	struct engine *engine;
	struct watched_job *watched;
	struct proc_id command;
	struct launch_end end;
	struct loop_source *limit_timer, *leftover_timer;
	uint64_t started_mono_ns, kill_at_ns;
	uint64_t ended_mono_ns, ended_boot_ns; /* the command */
	uint64_t sampled_boot_ns;              /* the last tick; 0: there was none */
	struct forwarded_signals forwarded;
	bool has_ended, is_last, was_asked;
	struct cause_verdict verdict; /* what a daemon answered */
	struct job last;              /* as in the last snapshot */
	pthread_t mover;              /* moves leftovers out of the group */
	bool is_moving;
};

static struct job *job_of(const struct jobhost *h)
{
	return &h->watched->row->job;
}

static struct jobs *jobs_of(const struct jobhost *h)
{
	return engine_jobs(h->engine);
}

static bool is_out_of_time(const struct jobhost *h)
{
	return job_of(h)->limits_hit & 1u << JOB_LIMIT_TIME;
}

static void emit_event(struct jobhost *h, enum event_kind kind, const char *name, uint64_t count,
                       const char *text)
{
	const struct event e = { .kind = kind, .job = job_of(h)->handle, .count = (int64_t)count };

	(void)engine_emit(h->engine, &e, name, text);
}

/* ---- leftovers: processes that outlive the command ------------------------------------------- */

static void signal_all(struct jobhost *h, int signo)
{
	struct map_slot slot;
	struct err err;

	if (h->group && job_cgroup_kill(h->group, signo, &err) == 0)
		return;
	for (size_t it = 0; map_next(&jobs_of(h)->members.living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };
		int pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);

		if (pidfd < 0)
			continue;
		/* Checked once the pidfd holds it: the pid may have been reused. */
		if (process_reader_exists(jobs_of(h)->reader, id))
			(void)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
		close(pidfd);
	}
}

/* Counted in /proc: an exit may not have been reported yet. */
static uint64_t count_living(struct jobhost *h)
{
	struct process_reader *reader = jobs_of(h)->reader;
	struct proc_id ids[PROCESS_READER_BATCH];
	struct map_slot slot;
	uint64_t alive = 0;
	size_t n = 0;

	for (size_t it = 0; map_next(&jobs_of(h)->members.living, &it, &slot);) {
		ids[n++] = (struct proc_id){ (pid_t)slot.key, slot.value };
		if (n < PROCESS_READER_BATCH)
			continue;
		alive += process_reader_count_alive(reader, ids, n);
		n = 0;
	}
	return alive + process_reader_count_alive(reader, ids, n);
}

/* Where births are not reported, there may be processes that no tick has found yet. */
static void find_new_processes(struct jobhost *h)
{
	if (jobs_of(h)->sources.births)
		engine_read_events(h->engine);
	else if (launcher_has_children(h->launcher))
		engine_tick(h->engine);
}

static void check_leftovers(void *self)
{
	struct jobhost *h = self;
	uint64_t now_ns = clock_mono_ns();

	launcher_reap(h->launcher);
	if (count_living(h) == 0)
		find_new_processes(h);
	if (count_living(h) == 0) {
		launcher_reap(h->launcher); /* totals are reported once a process is reaped */
		loop_stop(h->loop);
		return;
	}
	if (h->kill_at_ns && now_ns >= h->kill_at_ns) {
		h->kill_at_ns = now_ns + NS_PER_S;
		signal_all(h, SIGKILL);
	}
	loop_timer_set(h->leftover_timer, now_ns + LEFTOVERS_POLL_NS);
}

static void terminate_all(struct jobhost *h)
{
	signal_all(h, SIGTERM);
	signal_all(h, SIGCONT); /* a stopped process receives SIGTERM only then */
}

static void wait_for_leftovers(struct jobhost *h)
{
	if (h->options.kills_leftovers || is_out_of_time(h)) {
		terminate_all(h);
		h->kill_at_ns = clock_mono_ns() + h->options.grace_ns;
	}
	h->leftover_timer = loop_add_timer(h->loop, clock_mono_ns(), check_leftovers, h);
}

/* All processes receive SIGTERM, and SIGKILL after the grace period. */
static void on_time_limit(void *self)
{
	struct jobhost *h = self;
	struct job *job = job_of(h);

	if (is_out_of_time(h)) {
		signal_all(h, SIGKILL);
		loop_timer_set(h->limit_timer, clock_mono_ns() + NS_PER_S);
		return;
	}
	job->limits_hit |= 1u << JOB_LIMIT_TIME;
	emit_event(h, EVENT_LIMIT, "time", job->limit[JOB_LIMIT_TIME],
	           "the time limit was reached: SIGTERM to the whole job");
	terminate_all(h);
	loop_timer_set(h->limit_timer, clock_mono_ns() + h->options.grace_ns);
}

/* ---- what the launcher reports --------------------------------------------------------------- */

/* A source that reports ends by pid alone looks up the process, and the command was there before it
 * was opened: its record is read while it can still be looked up. */
static void on_dying(void *self)
{
	struct jobhost *h = self;

	if (h->engine)
		engine_read_events(h->engine);
}

/* Where no source reports ends, we report those that we reap. */
static void emit_end(struct jobhost *h, const struct launch_end *end)
{
	struct event e = { .kind = EVENT_EXIT,
		           .id.pid = end->pid,
		           .has_exit_code = end->has_exit_code,
		           .exit_code = end->exit_code,
		           .signal = end->signal,
		           .core_dumped = end->core_dumped };

	if (!jobs_of(h)->sources.births &&
	    map_get(&jobs_of(h)->members.living, (uint64_t)end->pid, &e.id.start_ticks))
		(void)engine_emit(h->engine, &e, NULL, NULL);
}

static void on_reaped(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	if (!h->engine || sampler_is_helper(engine_sampler(h->engine), end->pid))
		return;
	accounting_reap(&h->watched->accounting, end);
	emit_end(h, end);
}

/* The user interrupts the wait for leftovers. */
static void on_late_signal(void *self, int signo)
{
	struct jobhost *h = self;

	if (signo != SIGINT && signo != SIGTERM && signo != SIGHUP && signo != SIGQUIT)
		return;
	if (h->kill_at_ns)
		signal_all(h, SIGKILL);
	loop_stop(h->loop);
}

static void record_end(struct jobhost *h, const struct launch_end *end)
{
	h->end = *end;
	h->has_ended = true;
	h->ended_mono_ns = clock_mono_ns();
	h->ended_boot_ns = clock_boot_ns();
}

static void on_ended(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;
	struct watched_job *w = h->watched;

	record_end(h, end);
	w->has_outlived = !is_out_of_time(h); /* else we signalled all of them */
	find_new_processes(h);
	w->outlived = w->leaked = count_living(h);
	if (w->outlived && (h->options.waits || h->options.kills_leftovers || is_out_of_time(h)))
		wait_for_leftovers(h);
	else
		loop_stop(h->loop);
}

/* Where the kernel reports signals, complete_events() adds the sender to its event; elsewhere this is
 * the event. */
static void on_forward(void *self, int signo, pid_t from_pid, uint32_t from_uid)
{
	struct jobhost *h = self;
	struct event e = { .kind = EVENT_SIGNAL, .id = h->command, .signal = signo };

	if (!h->engine)
		return;
	forwarded_signals_add(&h->forwarded, h->root_fd, signo, from_pid, from_uid);
	if (jobs_of(h)->sources.totals)
		return;
	forwarded_signals_name(&h->forwarded, &e);
	(void)engine_emit(h->engine, &e, NULL, NULL);
}

/* … and so it is for signals to the group, which the command received itself. */
static void on_group_signal(void *self, int signo, pid_t from_pid, uint32_t from_uid)
{
	struct jobhost *h = self;
	struct event e = { .kind = EVENT_SIGNAL,
		           .id = h->command,
		           .signal = signo,
		           .sender_pid = from_pid,
		           .sender_uid = from_uid };

	if (!h->engine || jobs_of(h)->sources.totals)
		return;
	if (from_pid > 0)
		process_peek_comm(h->root_fd, from_pid, e.sender_comm);
	(void)engine_emit(h->engine, &e, NULL, NULL);
}

/* ---- hooks of the watched job ---------------------------------------------------------------- */

/* If no process ended before the command, it has reaped none, and wait4 returned its own usage. */
static bool is_first_to_end(const struct jobhost *h)
{
	return h->has_ended && h->watched->row->processes == 1 + h->watched->outlived;
}

static void fill_in_totals(const struct jobhost *h, struct event *e)
{
	const struct rusage *u = &h->end.usage;

	readings_set(&e->final, PROC_CPU_TIME,
	             clock_timeval_ns(u->ru_utime) + clock_timeval_ns(u->ru_stime));
	readings_set(&e->final, PROC_MINOR_FAULTS, (uint64_t)u->ru_minflt);
	readings_set(&e->final, PROC_MAJOR_FAULTS, (uint64_t)u->ru_majflt);
	if (!readings_has(&e->final, PROC_PEAK_RSS))
		readings_set(&e->final, PROC_PEAK_RSS, (uint64_t)u->ru_maxrss * 1024);
	if (!h->end.has_io)
		return;
	readings_set(&e->final, PROC_READ_BYTES, h->end.read_bytes);
	readings_set(&e->final, PROC_WRITE_BYTES, h->end.written_bytes);
}

/* Adds what we know of the command's events and the kernel did not report. */
static void complete_events(void *self, struct sample *s)
{
	struct jobhost *h = self;
	bool knows_totals = is_first_to_end(h);

	if (!knows_totals && !h->forwarded.count)
		return;
	vec_each(&s->events, e) {
		if (e->id.pid != h->command.pid)
			continue;
		if (e->kind == EVENT_EXIT && knows_totals &&
		    !readings_has(&e->final, PROC_CPU_TIME))
			fill_in_totals(h, e);
		else if (e->kind == EVENT_SIGNAL && e->sender_pid == getpid())
			forwarded_signals_name(&h->forwarded, e);
	}
}

/* By how many its processes at one time since the last snapshot exceeded those of now: their births
 * and ends are undone in reverse. A process that ended and was not reaped still counts. */
static uint64_t count_ended_crowd(const struct jobhost *h, const struct snapshot *snap)
{
	int64_t more = 0, most = 0;

	for (size_t i = snap->events.len; i > 0; i--) {
		const struct event *e = &snap->events.at[i - 1];

		if (e->job != 0 || !e->id.pid)
			continue;
		if (e->kind == EVENT_SPAWN)
			more--;
		else if (e->kind == EVENT_EXIT && !process_reader_exists(jobs_of(h)->reader, e->id))
			more++;
		most = MAX(most, more);
	}
	return (uint64_t)most;
}

/* The most tasks that the user had at one time since the last snapshot. A process that is reaped while
 * they are counted would be in neither part: then they are counted again. */
static uint64_t most_user_tasks(const struct jobhost *h, const struct snapshot *snap)
{
	uint64_t ended = count_ended_crowd(h, snap), seen, tasks;
	int tries = 3;

	do {
		seen = ended;
		tasks = user_tasks_count(h->root_fd, getuid());
		ended = count_ended_crowd(h, snap);
	} while (ended != seen && --tries);
	return tasks + ended;
}

/* The kernel does not report which fork RLIMIT_NPROC refused, but it can be seen that the limit is
 * reached, or was a moment ago in a job too short to be sampled. */
static void check_user_pids(struct jobhost *h, const struct snapshot *snap)
{
	struct job *job = job_of(h);
	uint64_t most = job->limit[JOB_LIMIT_USER_PIDS];

	if (!most || job->limits_hit >> JOB_LIMIT_USER_PIDS & 1 || most_user_tasks(h, snap) < most)
		return;
	job->limits_hit |= 1u << JOB_LIMIT_USER_PIDS;
	emit_event(h, EVENT_LIMIT, "pids", most, "the user has as many tasks as the limit allows");
}

/* A job within this one may have a group of its own. Where that group counts the kills (v1), ours only
 * shows that it was full. */
static bool is_full_of_nested(const struct jobhost *h)
{
	uint64_t limit = job_of(h)->limit[JOB_LIMIT_MEM];

	return limit && h->watched->accounting.oom_kills &&
	       readings_or(&h->group_readings, CGROUP_MEM_PEAK, 0) + CHARGE_BATCH_BYTES >= limit;
}

/* Kills are counted for all in our group: only those about the time when a member was killed
 * matter. */
static void watch_oom(struct jobhost *h, const struct snapshot *snap)
{
	uint64_t kills = h->watched->end_facts.kills, counted;

	if (snap->events_only && !h->is_last && kills == h->seen_kills)
		return;
	counted = oom_watch_read(&h->oom, snap->boot_ns);
	if (kills != h->seen_kills || h->is_last)
		h->oom_kills = MAX(h->oom_kills, counted);
	h->seen_kills = kills;
}

static const struct cgroup_readings *measure_group(void *self, const struct snapshot *snap)
{
	struct jobhost *h = self;

	if (!jobs_of(h)->sources.totals)
		watch_oom(h, snap);
	check_user_pids(h, snap);
	if (!h->group)
		return NULL;
	h->group_readings = (struct cgroup_readings){ 0 };
	job_cgroup_read(h->group, &h->group_readings);
	job_of(h)->limits_hit |= job_cgroup_limits_hit(h->group);
	if (is_full_of_nested(h))
		job_of(h)->limits_hit |= 1u << JOB_LIMIT_MEM;
	return &h->group_readings;
}

static void set_own_cost(struct job *job)
{
	struct rusage us;

	getrusage(RUSAGE_SELF, &us);
	job->figures[JOB_FIGURE_SELF_CPU] = (struct figure){ clock_process_cpu_ns(),
		                                             QUALITY_EXACT };
	job->figures[JOB_FIGURE_SELF_RSS] = (struct figure){ (uint64_t)us.ru_maxrss * 1024,
		                                             QUALITY_EXACT };
}

static uint64_t command_ns(const struct jobhost *h)
{
	return h->ended_mono_ns - h->started_mono_ns;
}

/* Until its command ended, or the last leftover that was waited for. */
static uint64_t took_ns(const struct jobhost *h)
{
	uint64_t last_boot_ns = h->watched->accounting.last_exit_boot_ns;

	if (!h->leftover_timer)
		return command_ns(h);
	if (h->watched->leaked) /* the user interrupted the wait */
		return clock_mono_ns() - h->started_mono_ns;
	return command_ns(h) + last_boot_ns - MIN(h->ended_boot_ns, last_boot_ns);
}

static void end_job(struct jobhost *h)
{
	struct job *job = job_of(h);
	struct figure *peak_at = &job->figures[JOB_FIGURE_PEAK_AT];
	bool is_ok = h->end.has_exit_code && h->end.exit_code == 0;
	const struct job_end how = { .status = is_ok ? JOB_COMPLETED : JOB_FAILED,
		                     .has_exit_code = h->end.has_exit_code,
		                     .exit_code = h->end.exit_code,
		                     .signal = h->end.signal,
		                     .core_dumped = h->end.core_dumped,
		                     .ended_ns = job->started_ns + took_ns(h) };

	watched_job_end(h->watched, &how);
	/* Leftovers are sampled once more after the end, and may have grown. */
	peak_at->value = MIN(peak_at->value, job->took_ns);
}

/* The longest time without a tick, including the time before the first and after the last one. Stays 0
 * without a tick: nothing is sampled then. */
static void update_interval(struct jobhost *h, const struct snapshot *snap)
{
	struct job *job = job_of(h);
	uint64_t started_boot_ns = h->watched->accounting.started_boot_ns;
	uint64_t end_boot_ns = started_boot_ns + job->took_ns;

	if (!snap->events_only && !snap->elapsed_ns)
		job->interval_ns = MAX(job->interval_ns,
		                       snap->boot_ns - MIN(snap->boot_ns, started_boot_ns));
	if (!snap->events_only)
		h->sampled_boot_ns = snap->boot_ns;
	if (h->is_last && h->sampled_boot_ns && end_boot_ns > h->sampled_boot_ns)
		job->interval_ns = MAX(job->interval_ns, end_boot_ns - h->sampled_boot_ns);
	if (h->is_last) /* a tick after the end, of leftovers, may be the first */
		job->interval_ns = MIN(job->interval_ns, job->took_ns);
}

static void complete_job(void *self, const struct snapshot *snap)
{
	struct jobhost *h = self;

	if (h->has_ended)
		job_of(h)->figures[JOB_FIGURE_COMMAND_TOOK] = (struct figure){ command_ns(h),
			                                                       QUALITY_EXACT };
	set_own_cost(job_of(h));
	if (h->is_last)
		end_job(h);
	update_interval(h, snap);
}

/* The job's own limit, or that of a group around it. */
static void find_limit(struct jobhost *h, struct cause_facts *facts)
{
	if (job_of(h)->limits_hit >> JOB_LIMIT_MEM & 1) {
		facts->is_full = true;
		facts->limit_bytes = job_of(h)->limit[JOB_LIMIT_MEM];
	} else if (h->oom.group.path[0] &&
	           oom_watch_find_limit(h->root_fd, &h->oom.group, &h->oom_limit)) {
		facts->is_full = true;
		facts->limit_bytes = h->oom_limit.bytes;
		facts->limit_group = h->oom_limit.group;
	}
}

/* Where the kill was counted for the job alone, no more can be learned. */
static void ask_verdict(struct jobhost *h, const struct cause_facts *facts)
{
	const struct end_facts *known = &h->watched->end_facts;

	if (!h->options.ask_verdict || h->was_asked || facts->sees_ooms || facts->own.kills ||
	    !known->kills)
		return;
	h->was_asked = true;
	h->options.ask_verdict(h->options.self, h->command, known->killed,
	                       MIN(known->kills, (uint64_t)END_FACTS_KILLED), &h->verdict);
}

static void explain_end(void *self, struct cause_facts *facts)
{
	struct jobhost *h = self;

	facts->own.is_known = readings_has(&h->group_readings, CGROUP_OOM_KILLS);
	facts->own.kills = readings_or(&h->group_readings, CGROUP_OOM_KILLS, 0);
	*(h->oom.is_of_machine
	          ? &facts->machine
	          : &facts->group) = (struct cause_count){ h->oom.is_known, h->oom_kills };
	find_limit(h, facts);
	ask_verdict(h, facts);
	facts->verdict = h->verdict;
}

static void keep_last(void *self, const struct job *job)
{
	struct jobhost *h = self;

	if (h->is_last)
		h->last = *job;
}

static const struct watched_job_hooks hooks = {
	.learn = complete_events,
	.measure = measure_group,
	.complete = complete_job,
	.explain = explain_end,
	.show = keep_last,
};

/* ---- from start to end ----------------------------------------------------------------------- */

/* In the child. */
static int prepare_child(void *self, bool is_inside, struct err *err)
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
	const struct job_cgroup_options group = { .root_fd = h->root_fd,
		                                  .job_id = h->options.job->id,
		                                  .limit = h->options.job->limit };
	struct launch_options launch = { .argv = h->options.argv,
		                         .capture = h->options.capture,
		                         .prepare = prepare_child,
		                         .on_dying = on_dying,
		                         .on_reaped = on_reaped,
		                         .on_ended = on_ended,
		                         .on_forward = on_forward,
		                         .on_group_signal = on_group_signal,
		                         .on_late_signal = on_late_signal,
		                         .self = h };
	char why[200];

	if (job_cgroup_open(&group, &h->group, why, sizeof why, err) < 0)
		return -err->code;
	launch.cgroup_fd = h->group ? job_cgroup_spawn_fd(h->group) : -1;
	return launcher_fork(h->launcher, &launch, err);
}

static void record_start(struct jobhost *h)
{
	job_of(h)->started_ns = clock_wall_ns();
	h->watched->accounting.started_boot_ns = clock_boot_ns();
	h->started_mono_ns = clock_mono_ns();
}

/* The command was there before any source was opened: we report its birth. */
static void add_command(struct jobhost *h)
{
	struct event e = { .kind = EVENT_SPAWN,
		           .boot_ns = h->watched->accounting.started_boot_ns,
		           .wall_ns = job_of(h)->started_ns,
		           .id.pid = launcher_pid(h->launcher),
		           .ppid = getpid(),
		           .uid = geteuid(),
		           .comm = "proctor" };

	e.id.start_ticks = process_peek_child_start(h->root_fd, e.id.pid);
	h->command = h->watched->end_facts.command = e.id;
	members_add(&jobs_of(h)->members, &jobs_of(h)->roster, e.id,
	            (struct job_ref){ .job = job_of(h)->handle });
	(void)engine_emit(h->engine, &e, NULL, NULL);
}

static bool is_helper(void *self, pid_t pid)
{
	struct jobhost *h = self;

	return launcher_is_helper(h->launcher, pid) ||
	       (h->engine && sampler_is_helper(engine_sampler(h->engine), pid));
}

static void add_job(struct jobhost *h)
{
	struct jobs *jobs = jobs_of(h);
	struct job *job;

	h->watched = jobs_add(jobs, h->options.job); /* the first: there is room */
	h->watched->sheets_end_with_opener = true;
	h->watched->hooks = &hooks;
	h->watched->hooks_self = h;
	job = job_of(h);
	jobs->root = (struct members_root){
		.pid = getpid(), .to.job = job->handle, .is_helper = is_helper, .self = h
	};
	/* This limit counts all tasks of the user. */
	if (job_cgroup_needs_rlimit_pids(h->group, job->limit)) {
		job->limit[JOB_LIMIT_USER_PIDS] = job->limit[JOB_LIMIT_PIDS];
		job->limit[JOB_LIMIT_PIDS] = 0;
	}
	snprintf(job->tier, sizeof job->tier, "%s%s%s", jobs_describe_sources(jobs),
	         h->group ? ", " : "", h->group ? job_cgroup_describe(h->group) : "");
	record_start(h);
}

int jobhost_new(struct loop *loop, struct launcher *take_launcher,
                const struct jobhost_options *options, struct jobhost **ret, struct err *err)
{
	cleanup(jobhost_freep) struct jobhost *h = xcalloc(1, sizeof *h);

	h->options = *options;
	h->loop = loop;
	h->launcher = take_launcher;
	h->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (fork_command(h, err) < 0)
		return -err->code;
	if (engine_new(loop, &h->options.engine, &h->engine, err) < 0)
		return -err->code;
	h->options.set_pipeline(h->options.self, h->engine);
	add_job(h);
	*ret = TAKE_PTR(h);
	return 0;
}

int jobhost_start(struct jobhost *h, struct err *err)
{
	uint64_t limit_ns = h->options.job->limit[JOB_LIMIT_TIME];

	record_start(h);
	add_command(h);
	engine_trace_command(h->engine, h->command);
	if (limit_ns)
		launcher_set_deadline(h->launcher, h->started_mono_ns + limit_ns);
	if (launcher_release(h->launcher, err) < 0)
		return -err->code;
	oom_watch_begin(&h->oom, h->root_fd, clock_boot_ns());
	allowance_find(h->root_fd, 0, job_of(h)); /* the command began with what we have */
	if (limit_ns)
		h->limit_timer = loop_add_timer(h->loop, h->started_mono_ns + limit_ns,
		                                on_time_limit, h);
	return 0;
}

void jobhost_fail(struct jobhost *h, int status, const char *why)
{
	members_drop(&jobs_of(h)->members, &jobs_of(h)->roster, h->command);
	record_end(h, &(struct launch_end){ .has_exit_code = true, .exit_code = status });
	emit_event(h, EVENT_RECORDER, "", 0, why);
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

/* They leave the job and are sampled once more: no exit will report what they used. A thread moves
 * them, because that takes a while. */
static void release_leftovers(struct jobhost *h)
{
	bool was_just_sampled = !jobs_of(h)->sources.births && !h->leftover_timer;

	if (h->group)
		h->is_moving = pthread_create(&h->mover, NULL, move_leftovers, h) == 0;
	if (!was_just_sampled)
		engine_tick(h->engine);
}

/* After an end that we caused or waited for, the user can wait a little longer. */
static uint64_t patience_ns(const struct jobhost *h)
{
	bool has_time = (is_out_of_time(h) || h->leftover_timer) && !h->watched->leaked;

	return has_time ? BUSY_PATIENCE_NS : TOTALS_PATIENCE_NS;
}

/* Whether the totals of its end are waited for. */
static bool is_awaited(void *self, struct proc_id id)
{
	struct jobhost *h = self;

	return job_roster_find(&jobs_of(h)->roster, id).job >= 0 &&
	       !(is_first_to_end(h) && id.pid == h->end.pid);
}

void jobhost_finish(struct jobhost *h, struct job *ret, struct engine_totals *ret_totals)
{
	struct watched_job *w = h->watched;

	if (h->leftover_timer) /* those that ended meanwhile were not left behind */
		w->leaked = count_living(h);
	if (w->leaked)
		release_leftovers(h);
	h->is_last = w->has_leaked = true;
	watched_job_show_all_sheets(w);
	engine_settle(h->engine, patience_ns(h), w->leaked, is_awaited, h);
	engine_stop(h->engine, ret_totals); /* totals may come until then, and are stored */
	h->engine = NULL;
	*ret = h->last;
}

void jobhost_free(struct jobhost *h)
{
	if (!h)
		return;
	engine_free(h->engine);
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

const struct job_row *jobhost_job(const struct jobhost *h)
{
	return h->watched->row;
}

pid_t jobhost_pid(const struct jobhost *h)
{
	return launcher_pid(h->launcher);
}
