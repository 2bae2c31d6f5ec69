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
#include "base/helper_process.h"
#include "base/mem.h"
#include "engine/jobhost_state.h"
#include "job/allowance.h"
#include "kernel/process_lookup.h"
#include "kernel/process_peek.h"
#include "kernel/process_reader.h"

#define TOTALS_PATIENCE_NS (40 * NS_PER_MS) /* the kernel reports a reaped process 10 ms later */
#define BUSY_PATIENCE_NS NS_PER_S           /* … 500 ms on a busy machine */
#define LEFTOVERS_POLL_NS (50 * NS_PER_MS)
#define COMMIT_PATIENCE_NS (50 * NS_PER_MS) /* for the store, while the command waits for us */

static bool is_out_of_time(const struct jobhost *h)
{
	return jobhost_job(h)->limits_hit & 1u << JOB_LIMIT_TIME;
}

/* ---- leftovers: processes that outlive the command ------------------------------------------- */

static void signal_all(struct jobhost *h, int signo)
{
	struct map_slot slot;
	struct err err;

	if (h->group && job_cgroup_kill(h->group, signo, &err) == 0)
		return;
	for (size_t it = 0; map_next(&jobhost_jobs(h)->members.living, &it, &slot);) {
		struct proc_id id = { (pid_t)slot.key, slot.value };
		int pidfd = (int)syscall(SYS_pidfd_open, id.pid, 0);

		if (pidfd < 0)
			continue;
		/* Checked once the pidfd holds it: the pid may have been reused. */
		if (process_lookup_exists(jobhost_jobs(h)->reader, id))
			(void)syscall(SYS_pidfd_send_signal, pidfd, signo, NULL, 0);
		close(pidfd);
	}
}

/* Counted in /proc: an exit may not have been reported yet. */
static uint64_t count_living(struct jobhost *h)
{
	struct process_reader *reader = jobhost_jobs(h)->reader;
	struct proc_id ids[PROCESS_READER_BATCH];
	struct map_slot slot;
	uint64_t alive = 0;
	size_t n = 0;

	for (size_t it = 0; map_next(&jobhost_jobs(h)->members.living, &it, &slot);) {
		ids[n++] = (struct proc_id){ (pid_t)slot.key, slot.value };
		if (n < PROCESS_READER_BATCH)
			continue;
		alive += process_lookup_count_alive(reader, ids, n);
		n = 0;
	}
	return alive + process_lookup_count_alive(reader, ids, n);
}

/* Where births are not reported, there may be processes that no tick has found yet. */
static void find_new_processes(struct jobhost *h)
{
	if (jobhost_jobs(h)->sources.births)
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

/* The job is failing: records its processes' last calls before any is signalled or released. */
static void record_living(struct jobhost *h)
{
	if (!h->has_recorded_living)
		engine_record_living(h->engine);
	h->has_recorded_living = true;
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
	struct job *job = jobhost_job(h);

	if (is_out_of_time(h)) {
		signal_all(h, SIGKILL);
		loop_timer_set(h->limit_timer, clock_mono_ns() + NS_PER_S);
		return;
	}
	job->limits_hit |= 1u << JOB_LIMIT_TIME;
	jobhost_emit(h, EVENT_LIMIT, "time", job->limit[JOB_LIMIT_TIME],
	             "the time limit was reached: SIGTERM to the whole job");
	record_living(h);
	terminate_all(h);
	loop_timer_set(h->limit_timer, clock_mono_ns() + h->options.grace_ns);
}

/* ---- what the launcher reports --------------------------------------------------------------- */

/* A source that reports ends by pid alone finds the process, and the command was there before it
 * was opened: its record is read while it can still be looked up. */
static void on_dying(void *self)
{
	struct jobhost *h = self;

	if (!h->engine)
		return;
	engine_read_events(h->engine);
	if (!jobhost_jobs(h)->sources.totals)
		h->used_up_cpu_ns = process_peek_used_up_cpu_ns(h->root_fd, h->command.pid);
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

	if (!jobhost_jobs(h)->sources.births &&
	    map_get(&jobhost_jobs(h)->members.living, (uint64_t)end->pid, &e.id.start_ticks))
		(void)engine_emit(h->engine, &e, NULL, NULL);
}

static bool is_helper(struct proc_id id)
{
	return helper_process_is_ours(id.pid, id.start_ticks * NS_PER_TICK, NS_PER_TICK);
}

static void on_reaped(void *self, const struct launch_end *end)
{
	struct jobhost *h = self;

	if (!h->engine || is_helper((struct proc_id){ end->pid, end->start_ticks }))
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
	disk_check(h);
	if (end->signal == SIGKILL && h->used_up_cpu_ns && !is_out_of_time(h))
		jobhost_emit(h, EVENT_LIMIT, EVENT_FOR_CPU_LIMIT, h->used_up_cpu_ns,
		             "the command had used up its limit of CPU time when it was killed");
	w->has_outlived = !is_out_of_time(h); /* else we signalled all of them */
	find_new_processes(h);
	w->outlived = w->leaked = count_living(h);
	if (w->outlived && jobhost_has_failed(h))
		record_living(h);
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
	if (jobhost_jobs(h)->sources.totals)
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

	if (!h->engine || jobhost_jobs(h)->sources.totals)
		return;
	if (from_pid > 0)
		process_peek_comm(h->root_fd, from_pid, e.sender_comm);
	(void)engine_emit(h->engine, &e, NULL, NULL);
}

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
		                         .may_be_traced = h->options.engine.sampler.traces_syscalls,
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
	jobhost_job(h)->started_ns = clock_wall_ns();
	h->watched->accounting.started_boot_ns = clock_boot_ns();
	h->started_mono_ns = clock_mono_ns();
}

/* The command was there before any source was opened: we report its birth. */
static void add_command(struct jobhost *h)
{
	struct event e = { .kind = EVENT_SPAWN,
		           .boot_ns = h->watched->accounting.started_boot_ns,
		           .wall_ns = jobhost_job(h)->started_ns,
		           .id.pid = launcher_pid(h->launcher),
		           .ppid = getpid(),
		           .uid = jobhost_job(h)->uid,
		           .comm = "proctor" };

	e.id.start_ticks = process_peek_start(h->root_fd, e.id.pid);
	h->command = h->watched->end_facts.command = e.id;
	members_add(&jobhost_jobs(h)->members, &jobhost_jobs(h)->roster, e.id,
	            (struct job_ref){ .job = jobhost_job(h)->handle });
	(void)engine_emit(h->engine, &e, NULL, NULL);
}

/* The kernel reports the larger one of this and of what its program had, unless BPF is more exact. */
static void read_inherited_peak(struct jobhost *h)
{
	if (!jobhost_jobs(h)->sources.totals)
		h->watched->accounting.inherited_peak_bytes = process_peek_peak(h->root_fd,
		                                                                h->command.pid);
}

static void add_job(struct jobhost *h)
{
	struct jobs *jobs = jobhost_jobs(h);
	struct job *job;

	h->watched = jobs_add(jobs, h->options.job); /* the first: there is room */
	h->watched->sheets_end_with_opener = true;
	h->watched->is_launched = true;
	h->watched->hooks = &jobhost_hooks;
	h->watched->hooks_self = h;
	job = jobhost_job(h);
	jobs->root = (struct members_root){ .pid = getpid(),
		                            .to.job = job->handle,
		                            .is_helper = is_helper };
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

/* A recorder that is killed from now on leaves a job that later queries find. */
static void commit_start(struct jobhost *h)
{
	uint64_t begin_ns = clock_mono_ns();

	if (h->options.engine.recorder.store.path &&
	    engine_await_stored(h->engine, engine_store_jobs(h->engine), false,
	                        COMMIT_PATIENCE_NS) != STORED_YES &&
	    clock_mono_ns() - begin_ns >= COMMIT_PATIENCE_NS)
		jobhost_emit(
			h, EVENT_RECORDER, "", 0,
			"the command began before its job was stored: the store took more than "
			"50 ms");
}

int jobhost_start(struct jobhost *h, struct err *err)
{
	uint64_t limit_ns = h->options.job->limit[JOB_LIMIT_TIME];

	commit_start(h);
	record_start(h); /* the command has not waited for the store */
	add_command(h);
	job_add_to_tier(jobhost_job(h), engine_trace_command(h->engine, h->command));
	job_add_to_tier(jobhost_job(h), h->options.capture ? CAPTURE_TIER : NULL);
	if (limit_ns)
		launcher_set_deadline(h->launcher, h->started_mono_ns + limit_ns);
	read_inherited_peak(h);
	if (launcher_release(h->launcher, err) < 0)
		return -err->code;
	watched_job_watch_oom(h->watched, h->root_fd, 0);
	allowance_find(h->root_fd, 0, jobhost_job(h)); /* the command began with what we have */
	if (limit_ns)
		h->limit_timer = loop_add_timer(h->loop, h->started_mono_ns + limit_ns,
		                                on_time_limit, h);
	return 0;
}

void jobhost_fail(struct jobhost *h, int status, const char *why)
{
	members_drop(&jobhost_jobs(h)->members, &jobhost_jobs(h)->roster, h->command);
	record_end(h, &(struct launch_end){ .has_exit_code = true, .exit_code = status });
	jobhost_emit(h, EVENT_RECORDER, "", 0, why);
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
	bool was_just_sampled = !jobhost_jobs(h)->sources.births && !h->leftover_timer;

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

	return job_roster_find(&jobhost_jobs(h)->roster, id).job >= 0 &&
	       !(jobhost_is_first_to_end(h) && id.pid == h->end.pid);
}

void jobhost_finish(struct jobhost *h, struct engine_totals *ret_totals)
{
	struct watched_job *w = h->watched;

	if (h->leftover_timer) /* those that ended meanwhile were not left behind */
		w->leaked = count_living(h);
	if (w->leaked)
		release_leftovers(h);
	h->is_last = w->has_leaked = true;
	engine_settle(h->engine, patience_ns(h), w->leaked, is_awaited, h);
	engine_stop(h->engine, ret_totals); /* totals may come until then, and are stored */
	h->engine = NULL;
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

const struct job_row *jobhost_row(const struct jobhost *h)
{
	return h->watched->row;
}

pid_t jobhost_pid(const struct jobhost *h)
{
	return launcher_pid(h->launcher);
}
