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
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/job_selection.h"
#include "cli/tracer.h"
#include "engine/sampler.h"
#include "trace/strace_line.h"
#include "view/format.h"
#include "view/syscall_view.h"

#define READ_EVERY_MS 100
#define CALLS_SHOWN 40
#define READ_BYTES 65536
#define NOT_GIVEN UINT64_MAX
#define LOST "some calls were lost"

struct request {
	uint64_t for_ns;
	bool all;
};

struct counting {
	struct sampler *sampler;
	struct syscall_counts counts;
	VEC(pid_t) pids;
	VEC(struct pollfd) watched; /* the signals, then a pidfd of each process */
	bool has_lost;
};

static void counting_done(struct counting *c)
{
	sampler_close(c->sampler);
	syscall_counts_done(&c->counts);
	vec_each(&c->watched, w)
		if (w->fd >= 0)
			close(w->fd);
	vec_done(&c->watched);
	vec_done(&c->pids);
}

/* ---- output ---------------------------------------------------------------------------------- */

/* `missing` is what was not counted; NULL: nothing. */
static int show(const struct cli *cli, const struct request *rq, const struct syscall_record *calls,
                size_t n, const char *missing)
{
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json) {
		json_begin_object(&page.json);
		json_key(&page.json, "syscalls");
		syscall_view_json(&page.json, calls, n);
		json_put_str(&page.json, "quality", missing ? "at_least" : "exact");
		json_end_object(&page.json);
	} else {
		syscall_view(calls, n, rq->all ? SIZE_MAX : CALLS_SHOWN, &page.canvas);
		if (!n)
			canvas_printf(&page.canvas, INK_PLAIN, "no system calls were made\n");
		if (missing)
			canvas_printf(&page.canvas, INK_QUIET, "%s\n", missing);
	}
	return cli_page_end(&page);
}

static int show_counts(const struct cli *cli, const struct request *rq, const struct counting *c)
{
	size_t n = c->counts.list.len;
	struct syscall_record *calls = xcalloc(n + 1, sizeof *calls);
	int status;

	n = syscall_counts_list(c->counts.list.at, n, calls);
	status = show(cli, rq, calls, n, c->has_lost ? LOST : NULL);
	free(calls);
	return status;
}

/* ---- counting -------------------------------------------------------------------------------- */

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
	sigset_t signals;

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	if (watch_fd(c, signalfd(-1, &signals, SFD_CLOEXEC)) < 0)
		return -errno;
	vec_each(&c->pids, pid)
		(void)watch_fd(c, (int)syscall(SYS_pidfd_open, *pid, 0));
	return 0;
}

static void take(struct counting *c)
{
	struct sample *s = sampler_sample(c->sampler);

	sampler_read(c->sampler, WANT_SYSCALLS);
	vec_each(&s->syscalls, use)
		(void)syscall_counts_add(&c->counts, &use->c);
	c->has_lost |= s->syscalls_lost;
	sample_reset(s);
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

/* ---- by strace ------------------------------------------------------------------------------- */

struct reading {
	struct strace_counts counts;
	int fd, write_fd; /* a pipe; strace writes into it */
	size_t len;
	bool lasts; /* until the user ends it */
	char text[READ_BYTES];
};

static void reading_done(struct reading *r)
{
	closep(&r->fd);
	closep(&r->write_fd);
	strace_counts_done(&r->counts);
}

static void report_begin(void *self)
{
	const struct reading *r = self;

	if (isatty(STDERR_FILENO))
		log_info("counting by strace, which slows calls down about 100 times%s",
		         r->lasts ? "; until it ends or Ctrl-C is pressed" : "");
}

/* Whole lines are counted; one that does not fit is none of strace's in this mode. */
static void take_lines(struct reading *r)
{
	const char *end = memrchr(r->text, '\n', r->len);
	struct scan text = scan_mem(r->text, end ? (size_t)(end + 1 - r->text) : 0), line;
	struct strace_line parsed;

	while (scan_line(&text, &line))
		if (strace_line_parse(line, &parsed))
			strace_counts_add(&r->counts, &parsed);
	if (!end && r->len == sizeof r->text)
		text.p = r->text + r->len;
	r->len -= (size_t)(text.p - r->text);
	memmove(r->text, text.p, r->len);
}

static void read_lines(void *self)
{
	struct reading *r = self;
	ssize_t n;

	while ((n = read(r->fd, r->text + r->len, sizeof r->text - r->len)) > 0) {
		r->len += (size_t)n;
		take_lines(r);
	}
}

static int open_pipe(struct reading *r)
{
	int ends[2];

	if (pipe2(ends, O_CLOEXEC) < 0) {
		log_error("make a pipe: %s", strerror(errno));
		return CLI_FAILED;
	}
	r->fd = ends[0];
	r->write_fd = ends[1];
	(void)fcntl(r->fd, F_SETFL, O_NONBLOCK);
	return CLI_OK;
}

static int run_strace(const struct cli *cli, const struct request *rq, const struct counting *c)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(reading_done) struct reading r = { .fd = -1,
		                                   .write_fd = -1,
		                                   .lasts = rq->for_ns == NOT_GIVEN };
	struct strace_options o = { .pid = c->pids.at[0],
		                    .others = c->pids.at + 1,
		                    .others_len = c->pids.len - 1,
		                    .is_raw = true,
		                    .for_ns = r.lasts ? 0 : rq->for_ns };
	struct tracer_hooks hooks = { .attached = report_begin,
		                      .readable = read_lines,
		                      .self = &r };
	int status = tracer_check(root_fd, o.pid);

	if (status == CLI_OK)
		status = open_pipe(&r);
	hooks.fd = r.fd;
	o.out_fd = r.write_fd;
	if (status == CLI_OK)
		status = tracer_run(cli, &o, root_fd, "a pipe", &hooks);
	if (status != CLI_OK)
		return status;
	read_lines(&r);
	strace_counts_finish(&r.counts);
	return show(cli, rq, r.counts.list.at, r.counts.list.len,
	            "counted by strace, without the time of calls that had not returned yet");
}

static int count_by_strace(const struct cli *cli, const struct request *rq,
                           const struct counting *c, const char *why_not_bpf)
{
	int status;

	if (!c->pids.len) {
		log_error("there is no process to count the calls of");
		return CLI_NOT_FOUND;
	}
	status = run_strace(cli, rq, c);
	if (status == CLI_FAILED)
		log_error("BPF, which needs no strace, is not possible either: %s", why_not_bpf);
	return status;
}

static int count_and_show(const struct cli *cli, const struct request *rq, struct counting *c)
{
	static const struct probe_ops *const tiers[] = { &probe_syscalls_bpf, NULL };
	static const struct probe_role roles[] = { { "syscalls", NULL, tiers }, { 0 } };
	const struct sampler_options options = { .roles = roles, .traces_syscalls = true };
	struct err err;
	int r;

	if (sampler_open(&options, &c->sampler, &err) < 0 || watch_pids(c) < 0)
		return cli_failed(&err);
	r = sampler_trace(c->sampler, c->pids.at, c->pids.len, false, &err);
	if (r == -ENOTSUP)
		return count_by_strace(cli, rq, c, err.msg);
	if (r < 0) {
		log_error("system calls cannot be counted: %s", err.msg);
		return CLI_FAILED;
	}
	if (rq->for_ns == NOT_GIVEN && isatty(STDERR_FILENO))
		log_info("counting, until it ends or Ctrl-C is pressed");
	count(c, rq->for_ns);
	take(c);
	return show_counts(cli, rq, c);
}

static int count_process(const struct cli *cli, const struct request *rq, pid_t pid)
{
	cleanup(counting_done) struct counting c = { 0 };
	pid_t *slot = vec_push(&c.pids, 1);

	if (kill(pid, 0) < 0 && errno == ESRCH) {
		log_error("there is no process %d", (int)pid);
		return CLI_NOT_FOUND;
	}
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

/* As recorded; of one that runs and was not asked to, from now on. */
static int show_job(const struct cli *cli, const struct request *rq, const char *name)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report report = { 0 };
	cleanup(counting_done) struct counting c = { 0 };
	struct figure calls;
	struct err err;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find_own(&recorded, name, &report.job);
	if (status == CLI_OK)
		status = job_selection_gather(&recorded, &report);
	if (status != CLI_OK)
		return status;
	calls = report.job.figures[JOB_FIGURE_SYSCALLS];
	if (figure_is_known(calls) && rq->for_ns == NOT_GIVEN)
		return show(cli, rq, report.syscalls.at, report.syscalls.len,
		            calls.quality != QUALITY_EXACT ? LOST : NULL);
	if (report.job.status != JOB_RUNNING) {
		log_error("the system calls of job '%s' were not counted: run it with --syscalls",
		          report.job.id);
		return CLI_NOT_FOUND;
	}
	if (history_job_processes(recorded.reader, job_key_of(&report.job), PROCS_MAX, add_living,
	                          &c, &err) < 0)
		return cli_failed(&err);
	return count_and_show(cli, rq, &c);
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
		"While BPF counts (root), calls of all processes on the machine take longer; while strace does (other\n"
		"users), those of the counted ones take about 100 times as long: docs/tracing.md.\n" CLI_JOB_HELP,
	.run = run,
};
