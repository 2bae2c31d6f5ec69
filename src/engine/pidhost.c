/* SPDX-License-Identifier: MIT */
#include "engine/pidhost.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "engine/registry.h"
#include "engine/watch_target.h"
#include "kernel/process_lookup.h"
#include "kernel/process_reader.h"

#define TOTALS_PATIENCE_NS (40 * NS_PER_MS)
#define END_PATIENCE_NS NS_PER_S /* for the event of an end that we know of */
#define END_POLL_NS (10 * NS_PER_MS)

struct pidhost {
	struct loop *loop;
	struct engine *engine;
	struct proc_id id;
	job_handle job;
	int pidfd;
	struct loop_source *end_source, *end_timer;
	uint64_t ended_mono_ns; /* 0: it lives */
};

/* ---- before ---------------------------------------------------------------------------------- */

static int refuse_process(const struct process_files_stat *st, uid_t uid, struct err *err)
{
	if (geteuid() != 0 && uid != geteuid())
		return err_set(err, EPERM, "process %d is another user's: only root can watch it",
		               st->pid);
	if (st->state == 'Z' || st->state == 'X')
		return err_set(err, ENOENT, "process %d has ended", st->pid);
	return 0;
}

static void read_command(struct process_reader *reader, const struct process_files_stat *st,
                         struct buf *to)
{
	struct process_request q = { .pid = st->pid, .files = 1U << PROCESS_CMDLINE };
	struct scan text;

	process_reader_read(reader, &q, 1);
	text = q.text[PROCESS_CMDLINE];
	if (!q.error && scan_left(&text))
		buf_put(to, text.p, scan_left(&text));
	else
		buf_put(to, st->comm, strnlen(st->comm, COMM_LEN));
	buf_putc(to, '\0'); /* the last one may be cut */
}

int pidhost_examine(pid_t pid, struct pidhost_target *ret, struct err *err)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *reader = process_reader_new(root_fd);
	struct process_files_stat st;
	uint64_t born_ns;
	uid_t uid;

	if (watch_target_check_first(reader, pid, 0, err) < 0)
		return -err->code;
	if (process_lookup_owner(reader, pid, &uid) < 0 || !process_lookup_stat(reader, pid, &st))
		return process_lookup_describe_failure(reader, pid, err);
	if (refuse_process(&st, uid, err) < 0 || watch_target_check_ancestor(reader, pid, err) < 0)
		return -err->code;
	born_ns = st.start_ticks * NS_PER_TICK;
	ret->id = (struct proc_id){ pid, st.start_ticks };
	ret->age_ns = clock_boot_ns() - MIN(born_ns, clock_boot_ns());
	read_command(reader, &st, &ret->command);
	return 0;
}

/* ---- meanwhile ------------------------------------------------------------------------------- */

static struct watched_job *watched(const struct pidhost *h)
{
	return jobs_get(engine_jobs(h->engine), h->job);
}

static bool has_end(const struct pidhost *h)
{
	const struct watched_job *w = watched(h);

	return !w || w->ended_mono_ns;
}

static bool is_of_job(void *self, struct proc_id id)
{
	struct pidhost *h = self;

	return job_roster_find(&engine_jobs(h->engine)->roster, id).job == h->job;
}

/* How it ended stays unknown: only its parent can ask for that. */
static void emit_end(struct pidhost *h)
{
	const struct event e = { .kind = EVENT_EXIT, .id = h->id, .job = h->job };

	(void)engine_emit(h->engine, &e, NULL, NULL);
	engine_flush(h->engine);
}

static void await_end(void *self)
{
	struct pidhost *h = self;
	bool is_reported = engine_jobs(h->engine)->sources.births;

	/* Its end is held back until its parent has taken note, which may be never. */
	if (clock_mono_ns() > h->ended_mono_ns + TOTALS_PATIENCE_NS)
		(void)sampler_pending_totals(engine_sampler(h->engine), is_of_job, h, true);
	engine_flush(h->engine);
	if (!has_end(h) && (!is_reported || clock_mono_ns() > h->ended_mono_ns + END_PATIENCE_NS))
		emit_end(h);
	if (has_end(h))
		loop_stop(h->loop);
	else
		loop_timer_set(h->end_timer, clock_mono_ns() + END_POLL_NS);
}

static void on_end(void *self)
{
	struct pidhost *h = self;

	loop_remove(h->end_source);
	h->end_source = NULL;
	h->ended_mono_ns = clock_mono_ns();
	h->end_timer = loop_add_timer(h->loop, h->ended_mono_ns, await_end, h);
}

static void on_signal(void *self, const struct signalfd_siginfo *info)
{
	struct pidhost *h = self;

	(void)info;
	loop_stop(h->loop);
}

/* ---- from start to end ----------------------------------------------------------------------- */

/* We may descend from it. */
static bool is_ours(struct proc_id id)
{
	return id.pid == getpid();
}

static int watch(struct pidhost *h, const struct job *job, struct err *err)
{
	struct jobs *jobs = engine_jobs(h->engine);
	struct job *row;
	char attached[32];

	registry_begin(h->engine);
	if (registry_start(h->engine, job, h->id.pid, &h->job, err) < 0)
		return -err->code;
	row = &watched(h)->row->job;
	if (!proc_id_eq(row->root, h->id))
		return err_set(err, ENOENT, "process %d has ended", h->id.pid);
	snprintf(attached, sizeof attached, "attached to pid %d", h->id.pid);
	job_add_to_tier(row, attached);
	jobs->root = (struct members_root){
		.pid = h->id.pid, .to.job = h->job, .is_helper = is_ours
	};
	return 0;
}

static int add_ends(struct pidhost *h, struct err *err)
{
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	if (loop_add_signals(h->loop, &signals, on_signal, h, err) < 0 ||
	    loop_add_reader(h->loop, h->pidfd, on_end, h, &h->end_source, err) < 0)
		return -err->code;
	return 0;
}

/* Those that exist are found by a tick at once, later ones by their births. What they used before is read in
 * full: a tick does not know the marks of their peaks. */
static void find_descendants(struct pidhost *h)
{
	engine_tick(h->engine);
	if (watched(h))
		jobs_begin_members(engine_jobs(h->engine), watched(h),
		                   sampler_last(engine_sampler(h->engine)));
}

int pidhost_new(struct loop *loop, const struct pidhost_options *options, struct pidhost **ret,
                struct err *err)
{
	cleanup(pidhost_freep) struct pidhost *h = xcalloc(1, sizeof *h);

	h->loop = loop;
	h->id = options->id;
	h->pidfd = (int)syscall(SYS_pidfd_open, h->id.pid, 0);
	if (h->pidfd < 0)
		return err_set(err, errno == ESRCH ? ENOENT : errno, "open process %d: %s",
		               h->id.pid, strerror(errno));
	if (engine_new(loop, &options->engine, &h->engine, err) < 0)
		return -err->code;
	options->set_pipeline(options->self, h->engine);
	if (watch(h, options->job, err) < 0 || add_ends(h, err) < 0)
		return -err->code;
	find_descendants(h);
	*ret = TAKE_PTR(h);
	return 0;
}

int pidhost_run(struct pidhost *h, struct err *err)
{
	return loop_run(h->loop, err);
}

bool pidhost_finish(struct pidhost *h, struct engine_totals *ret_totals)
{
	const struct job_end how = { .status = JOB_COMPLETED };
	bool goes_on = !has_end(h);
	struct watched_job *w = watched(h);
	struct err ignored;

	if (goes_on) {
		registry_await_totals(h->engine, h->job);
		(void)!registry_end(h->engine, h->job, &how, &ignored);
	}
	engine_settle(h->engine, TOTALS_PATIENCE_NS, w ? w->row->living : 0, is_of_job, h);
	engine_stop(TAKE_PTR(h->engine), ret_totals);
	return goes_on;
}

struct engine *pidhost_engine(struct pidhost *h)
{
	return h->engine;
}

const struct job_row *pidhost_job(const struct pidhost *h)
{
	return watched(h)->row;
}

void pidhost_free(struct pidhost *h)
{
	if (!h)
		return;
	engine_free(h->engine);
	loop_remove(h->end_source);
	closep(&h->pidfd);
	free(h);
}
