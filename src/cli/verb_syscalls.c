/* SPDX-License-Identifier: MIT */
/* verb_syscalls.c - which system calls a process or job makes, and how long they take: of a process counted from
 * now on, of a job as they were recorded. Where BPF is not allowed, strace counts. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/job_selection.h"
#include "cli/tracer.h"
#include "engine/sampler.h"
#include "kernel/blocked_reader.h"
#include "kernel/ptrace_access.h"
#include "trace/strace_reader.h"
#include "view/blocked_view.h"
#include "view/format.h"
#include "view/syscall_view.h"

#define READ_EVERY_MS 100
#define CALLS_SHOWN 40
#define NOT_GIVEN UINT64_MAX
#define LOST "some calls were not counted"
#define OPEN "some calls began before that and have not returned: the time in them is a lower bound"
#define SLOWED "counted by strace, under which calls take longer"

struct request {
	uint64_t for_ns;
	bool all;
};

struct counting {
	struct sampler *sampler;
	uint64_t since_ns, since_mono_ns; /* when it began */
	bool is_part;                     /* of what a job does, which has begun before */
	struct syscall_counts counts;
	VEC(pid_t) pids;
	VEC(struct pollfd) watched; /* the signals, then a pidfd of each process */
	struct blocked_calls waited,
		waiting; /* those that wait before it begins, and when it ends */
	bool has_lost;
	bool is_open; /* a thread is still in the call that it was in when it began */
};

static void counting_done(struct counting *c)
{
	sampler_close(c->sampler);
	syscall_counts_done(&c->counts);
	vec_each(&c->watched, w)
		if (w->fd >= 0)
			close(w->fd);
	vec_done(&c->watched);
	vec_done(&c->waited.list);
	vec_done(&c->waiting.list);
	vec_done(&c->pids);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* The quality of the figures, and the reason. */
struct finding {
	enum quality count, time;
	uint64_t since_ns, for_ns; /* counted then, not recorded before; for_ns 0: recorded */
	const char *note;          /* NULL: there is nothing to add */
	const struct blocked_calls *waiting; /* NULL: not looked up */
};

static void show_json(const struct syscall_record *calls, size_t n, const struct finding *f,
                      struct json *j)
{
	json_begin_object(j);
	json_put_u64(j, "schema", 1);
	json_key(j, "syscalls");
	syscall_view_json(j, calls, n);
	json_put_str(j, "quality", quality_key(f->count));
	json_put_str(j, "time_quality", quality_key(f->time));
	if (f->for_ns) {
		char since[32];

		clock_format_utc(f->since_ns, since, sizeof since);
		json_put_str(j, "since", since);
		json_put_double(j, "seconds", (double)f->for_ns / 1e9, 3);
	}
	if (f->waiting) {
		json_open_array(j, "blocked");
		vec_each(&f->waiting->list, b)
			field_table_json_object(j, &blocked_call_fields, b);
		json_end_array(j);
	}
	json_end_object(j);
}

static int show(const struct cli *cli, const struct request *rq, const struct syscall_record *calls,
                size_t n, const struct finding *f)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json) {
		show_json(calls, n, f, &page.json);
		return cli_page_end(&page);
	}
	if (n)
		syscall_view(calls, n, rq->all ? SIZE_MAX : CALLS_SHOWN, &page.canvas);
	else
		canvas_printf(&page.canvas, INK_PLAIN, "no system calls %s\n",
		              f->time == f->count ? "were made" : "returned");
	if (f->waiting)
		blocked_view(f->waiting->list.at, f->waiting->list.len, &page.canvas);
	if (f->for_ns)
		canvas_printf(&page.canvas, INK_QUIET, "counted for %s, from %s on\n",
		              format_duration(f->for_ns).at, format_clock(f->since_ns).at);
	if (f->note)
		canvas_printf(&page.canvas, INK_QUIET, "%s\n", f->note);
	return cli_page_end(&page);
}

static int show_counts(const struct cli *cli, const struct request *rq, const struct counting *c,
                       const struct finding *f)
{
	size_t n = c->counts.list.len;
	struct syscall_record *calls = xcalloc(n + 1, sizeof *calls);
	int status;

	n = syscall_counts_list(c->counts.list.at, n, calls);
	status = show(cli, rq, calls, n, f);
	free(calls);
	return status;
}

/* ---- counting -------------------------------------------------------------------------------- */

static void begin(struct counting *c)
{
	c->since_ns = clock_wall_ns();
	c->since_mono_ns = clock_mono_ns();
}

static struct finding finding_of(const struct counting *c)
{
	enum quality count = c->has_lost || c->is_part ? QUALITY_AT_LEAST : QUALITY_EXACT;
	struct finding f = { .count = count,
		             .time = c->is_open ? QUALITY_AT_LEAST : count,
		             .since_ns = c->since_ns,
		             .for_ns = clock_mono_ns() - c->since_mono_ns };

	if (c->is_open)
		f.note = OPEN;
	if (c->has_lost)
		f.note = LOST;
	return f;
}

static int watch_fd(struct counting *c, int fd)
{
	struct pollfd *w = fd < 0 ? NULL : vec_push(&c->watched, PROCS_MAX);

	if (w)
		*w = (struct pollfd){ .fd = fd, .events = POLLIN };
	return w ? 0 : -errno;
}

/* Those that have ended meanwhile are left out. */
static int watch_pids(struct counting *c)
{
	size_t living = 0;
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (watch_fd(c, signalfd(-1, &signals, SFD_CLOEXEC)) < 0)
		return -errno;
	vec_each(&c->pids, pid)
		if (watch_fd(c, (int)syscall(SYS_pidfd_open, *pid, 0)) == 0)
			c->pids.at[living++] = *pid;
	c->pids.len = living;
	return 0;
}

static void take(struct counting *c)
{
	const struct sample *s = sampler_sample(c->sampler);

	sampler_read(c->sampler, WANT_SYSCALLS);
	vec_each(&s->syscalls, use)
		(void)syscall_counts_add(&c->counts, &use->c);
	c->has_lost |= s->syscalls_lost;
	c->is_open = s->syscalls_are_open;
	sampler_discard(c->sampler);
}

static bool has_living(const struct counting *c)
{
	for (size_t i = 1; i < c->watched.len; i++)
		if (c->watched.at[i].fd >= 0)
			return true;
	return false;
}

/* Until they have ended, the time is over, or the user has seen enough. */
static void count(struct counting *c, uint64_t for_ns)
{
	uint64_t end_ns = for_ns == NOT_GIVEN ? UINT64_MAX : clock_mono_ns() + for_ns;

	while (has_living(c) && clock_mono_ns() < end_ns) {
		uint64_t left_ms = (end_ns - clock_mono_ns()) / NS_PER_MS + 1;

		poll(c->watched.at, c->watched.len, (int)MIN(left_ms, (uint64_t)READ_EVERY_MS));
		take(c);
		if (c->watched.at[0].revents)
			return;
		for (size_t i = 1; i < c->watched.len; i++)
			if (c->watched.at[i].revents) {
				close(c->watched.at[i].fd);
				c->watched.at[i].fd = -1;
			}
	}
}

static void list_waiting(const struct counting *c, struct blocked_calls *ret)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *reader = process_reader_new(root_fd);
	VEC(struct proc_id) living = { 0 };

	for (size_t i = 0; i < c->pids.len; i++) {
		struct proc_id *id = c->watched.at[i + 1].fd < 0 ? NULL
		                                                 : vec_push(&living, PROCS_MAX);

		if (id)
			*id = (struct proc_id){ .pid = c->pids.at[i] };
	}
	blocked_reader_list(reader, root_fd, living.at, living.len, ret);
	vec_done(&living);
}

static bool has_waited_before(const struct counting *c, const struct blocked_call *b)
{
	vec_each(&c->waited.list, before)
		if (proc_id_eq(before->id, b->id) && before->ran_ns == b->ran_ns && b->ran_ns)
			return true;
	return false;
}

/* A call that has not returned is not counted, but its time is. The kernel's programs know it of those that began
 * since they were attached. */
static void add_waiting(struct counting *c)
{
	uint64_t now_ns = clock_mono_ns();

	list_waiting(c, &c->waiting);
	vec_each(&c->waiting.list, b) {
		struct syscall_count so_far = { .ns = now_ns - c->since_mono_ns };

		if (has_waited_before(c, b) &&
		    syscall_id_find(b->call, strlen(b->call), &so_far.call))
			(void)syscall_counts_add(&c->counts, &so_far);
	}
}

/* ---- by strace ------------------------------------------------------------------------------- */

struct reading {
	struct strace_reader *reader;
	struct counting *counting;
	bool lasts; /* until the user ends it */
};

static void report_begin(void *self)
{
	const struct reading *r = self;

	begin(r->counting);
	if (isatty(STDERR_FILENO))
		log_info("counting by strace, which slows calls down about 100 times%s",
		         r->lasts ? "; until it ends or Ctrl-C is pressed" : "");
}

static void read_lines(void *self)
{
	const struct reading *r = self;

	(void)strace_reader_read(r->reader);
}

static void add_count(void *self, pid_t pid, const struct syscall_count *count)
{
	struct counting *c = self;

	(void)pid;
	(void)syscall_counts_add(&c->counts, count);
}

#define DETACH_TRIES 50
#define DETACH_PAUSE_NS (2 * NS_PER_MS)

/* A process that strace has just let go runs for a moment, and then makes its call again. */
static void list_waiting_again(struct counting *c)
{
	const struct timespec a_moment = { .tv_nsec = DETACH_PAUSE_NS };

	list_waiting(c, &c->waiting);
	for (int i = 0; c->is_open && !c->waiting.list.len && i < DETACH_TRIES; i++) {
		nanosleep(&a_moment, NULL);
		list_waiting(c, &c->waiting);
	}
}

static int run_strace(const struct cli *cli, const struct request *rq, struct counting *c)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(strace_reader_closep) struct strace_reader *reader = NULL;
	struct reading r = { .counting = c, .lasts = rq->for_ns == NOT_GIVEN };
	struct strace_options o = { .pid = c->pids.at[0],
		                    .others = c->pids.at + 1,
		                    .others_len = c->pids.len - 1,
		                    .is_raw = true,
		                    .for_ns = r.lasts ? 0 : rq->for_ns };
	struct tracer_hooks hooks = { .attached = report_begin,
		                      .readable = read_lines,
		                      .self = &r };
	int status = tracer_check(root_fd, o.pid);
	struct finding f;
	struct err err;

	if (status != CLI_OK)
		return status;
	if (strace_reader_open(&reader, &err) < 0)
		return cli_failed(&err);
	r.reader = reader;
	hooks.fd = reader->fd;
	o.out_fd = reader->write_fd;
	status = tracer_run(cli, &o, root_fd, "a pipe", &hooks);
	if (status != CLI_OK)
		return status;
	(void)strace_reader_read(reader);
	strace_tally_take(&reader->tally, clock_wall_ns(), add_count,
	                  c); /* and no count of what has not returned */
	c->has_lost = reader->tally.has_lost;
	c->is_open = strace_tally_is_in_call(&reader->tally);
	list_waiting_again(c);
	f = finding_of(c);
	f.time = quality_join(f.time, QUALITY_AT_MOST);
	f.note = SLOWED;
	f.waiting = &c->waiting;
	return show_counts(cli, rq, c, &f);
}

static int count_by_strace(const struct cli *cli, const struct request *rq, struct counting *c,
                           const char *why_not_bpf)
{
	int status = run_strace(cli, rq, c);

	if (status == CLI_FAILED)
		log_error("BPF, which needs no strace, is not possible either: %s", why_not_bpf);
	return status;
}

static int count_and_show(const struct cli *cli, const struct request *rq, struct counting *c)
{
	static const struct probe_ops *const tiers[] = { &probe_syscalls_bpf, NULL };
	static const struct probe_role roles[] = { { "syscalls", NULL, tiers }, { 0 } };
	const struct sampler_options options = { .roles = roles, .traces_syscalls = true };
	struct finding f;
	struct err err;
	int r;

	if (sampler_open(&options, &c->sampler, &err) < 0 || watch_pids(c) < 0)
		return cli_failed(&err);
	if (!c->pids.len) {
		log_error("there is no process to count the calls of: it has ended");
		return CLI_NOT_FOUND;
	}
	list_waiting(c, &c->waited);
	r = sampler_trace(c->sampler, c->pids.at, c->pids.len, false, &err);
	if (r == -ENOTSUP)
		return count_by_strace(cli, rq, c, err.msg);
	if (r < 0) {
		log_error("system calls cannot be counted: %s", err.msg);
		return CLI_FAILED;
	}
	begin(c);
	if (rq->for_ns == NOT_GIVEN && isatty(STDERR_FILENO))
		log_info("counting, until it ends or Ctrl-C is pressed");
	count(c, rq->for_ns);
	take(c);
	add_waiting(c);
	f = finding_of(c);
	f.waiting = &c->waiting;
	return show_counts(cli, rq, c, &f);
}

static int count_process(const struct cli *cli, const struct request *rq, pid_t pid)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(counting_done) struct counting c = { 0 };
	pid_t *slot = vec_push(&c.pids, SIZE_MAX);
	struct err err;

	if (ptrace_access_check_kind(root_fd, pid, &err) < 0)
		return tracer_refuse(&err);
	*slot = pid;
	return count_and_show(cli, rq, &c);
}

/* ---- of a job -------------------------------------------------------------------------------- */

static int add_living(void *self, const struct process_record *p)
{
	struct counting *c = self;
	pid_t *slot = p->ended_ns ? NULL : vec_push(&c->pids, PROCS_MAX);

	if (slot)
		*slot = p->id.pid;
	return 0;
}

static int show_recorded(const struct cli *cli, const struct request *rq, const struct report *r)
{
	struct finding f = { .count = r->job.figures[JOB_FIGURE_SYSCALLS].quality,
		             .time = r->job.figures[JOB_FIGURE_SYSCALL_TIME].quality };

	if (f.count != QUALITY_EXACT)
		f.note = LOST;
	else if (f.time == QUALITY_AT_MOST)
		f.note = SLOWED;
	return show(cli, rq, r->syscalls.at, r->n_syscalls, &f);
}

/* As recorded; of one that runs and was not asked to, from now on. */
static int show_job(const struct cli *cli, const struct request *rq, const char *name)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report report = { 0 };
	cleanup(counting_done) struct counting c = { 0 };
	struct err err;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find_own(&recorded, name, &report.job);
	if (status == CLI_OK)
		status = job_selection_gather(&recorded, &report);
	if (status != CLI_OK)
		return status;
	if (figure_is_known(report.job.figures[JOB_FIGURE_SYSCALLS]) && rq->for_ns == NOT_GIVEN)
		return show_recorded(cli, rq, &report);
	if (report.job.status != JOB_RUNNING) {
		log_error("the system calls of job '%s' were not counted: run it with --syscalls",
		          report.job.id);
		return CLI_NOT_FOUND;
	}
	if (history_job_processes(recorded.reader, job_key_of(&report.job), PROCS_MAX, add_living,
	                          &c, &err) < 0)
		return cli_failed(&err);
	c.is_part = true;
	return count_and_show(cli, rq, &c);
}

/* It means a process, even where it could be part of a job's id. */
static bool is_number(const char *word)
{
	return *word && strspn(word, "0123456789") == strlen(word);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .for_ns = NOT_GIVEN };
	const struct opt opts[] = {
		{ "for", 0, OPT_DURATION, &rq.for_ns, "TIME",
		  "count for so long (default: until it ends or Ctrl-C is pressed)" },
		{ "all", 'a', OPT_FLAG, &rq.all, NULL, "list every call, not only the first 40" },
		CLI_COMMON_OPTS(cli),
	};
	pid_t pid;
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one process or job only");
	if (words && is_number(argv[1]) && !cli_is_pid(argv[1], &pid)) {
		log_error("'%s' is neither the pid of a process nor a job", argv[1]);
		return CLI_NOT_FOUND;
	}
	return words && cli_is_pid(argv[1], &pid) ? count_process(cli, &rq, pid)
	                                          : show_job(cli, &rq, words ? argv[1] : NULL);
}

const struct verb verb_syscalls = {
	.name = "syscalls",
	.summary = "which system calls a process or job makes, and how long they take",
	.usage = "PID|[JOB] [--for TIME] [--all] [--json]",
	.about =
		"Of a process, with its threads and the children it makes, counted from now on. Of a job, as\n"
		"run --syscalls recorded them; of one that runs and is not traced, from now on.\n"
		"Exit status: 0 counted, 1 it cannot be counted, 3 there is no such process, or it has ended.\n"
		"While BPF counts (root), calls of all processes on the machine take longer; while strace does (other\n"
		"users), those of the counted ones take about 100 times as long: docs/tracing.md.\n" CLI_JOB_HELP,
	.example = "proctor syscalls 1234 --for 10s",
	.run = run,
};
