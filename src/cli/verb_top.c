/* SPDX-License-Identifier: MIT */
/* verb_top.c - `proctor top`: checks and completes the options, and becomes proctor-top, which has the screen. */
#include <errno.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/job_selection.h"

#define PROGRAM "proctor-top"
#define INTERVAL_MIN_NS (100 * NS_PER_MS)
#define INTERVAL_MAX_NS (3600 * NS_PER_S)
#define WORDS_MAX 40
#define SIDE_MAX 4096

struct request {
	uint64_t interval_ns, history_ns, width, height, trace_pid;
	const char *job, *socket;
	bool once, own, no_bpf;
};

#define NOT_GIVEN UINT64_MAX

/* Beside us in a build tree, in libexec when installed; never by PATH. NULL: there is none. */
static char *find_program(const char *self)
{
	cleanup(freep) char *copy = xstrdup(self);
	char *beside = xasprintf("%s/%s", dirname(copy), PROGRAM);

	if (access(beside, X_OK) == 0)
		return beside;
	free(beside);
	beside = xstrdup(PROCTOR_LIBEXEC_DIR "/" PROGRAM);
	if (access(beside, X_OK) == 0)
		return beside;
	free(beside);
	return NULL;
}

/* ---- the command line of proctor-top --------------------------------------------------------- */

struct words {
	char *at[WORDS_MAX]; /* owned, ends with NULL */
	size_t n;
};

static void add(struct words *w, const char *option, const char *value)
{
	if (w->n + 1 < WORDS_MAX)
		w->at[w->n++] = value ? xasprintf("--%s=%s", option, value) : xasprintf("--%s", option);
}

static void add_number(struct words *w, const char *option, uint64_t value, const char *unit)
{
	char text[32];

	snprintf(text, sizeof text, "%llu%s", (unsigned long long)value, unit);
	add(w, option, text);
}

static void add_size(struct words *w, const struct request *rq)
{
	struct winsize size = { 0 };
	uint64_t width = rq->width, height = rq->height;

	(void)ioctl(STDOUT_FILENO, TIOCGWINSZ, &size);
	if (width == NOT_GIVEN)
		width = size.ws_col ? size.ws_col : 120;
	if (height == NOT_GIVEN)
		height = size.ws_row > 1 ? size.ws_row - 1U : 40; /* the shell's prompt follows */
	add_number(w, "width", width, "");
	add_number(w, "height", height, "");
}

static void add_options(struct words *w, const struct cli *cli, const struct request *rq)
{
	struct style style = cli_style(cli);

	add_number(w, "interval", rq->interval_ns / NS_PER_MS, "ms");
	if (rq->history_ns != NOT_GIVEN)
		add_number(w, "history", rq->history_ns / NS_PER_MS, "ms");
	if (rq->socket)
		add(w, "socket", rq->socket);
	if (rq->own)
		add(w, "own", NULL);
	if (rq->no_bpf)
		add(w, "no-bpf", NULL);
	if (cli->json)
		add(w, "json", NULL);
	if (rq->once)
		add(w, "once", NULL);
	if (style.color)
		add(w, "colors", NULL);
	if (style.unicode)
		add(w, "unicode", NULL);
	add_size(w, rq);
}

/* ---- what it needs to know ------------------------------------------------------------------- */

static int add_places(struct words *w, const struct cli *cli)
{
	cleanup(freep) char *store = NULL;
	char state_dir[CONFIG_PATH_MAX];
	int status = cli_state_dir(cli, state_dir);

	if (status == CLI_OK)
		status = cli_store_path(cli, &store);
	if (status != CLI_OK)
		return status;
	add(w, "state-dir", state_dir);
	add(w, "store", store);
	if (cli->config_file)
		add(w, "config", cli->config_file);
	return CLI_OK;
}

/* Live, jobs are shown for a minute after their end. */
static int check_runs(const struct job *job)
{
	uint64_t now = clock_wall_ns(), age_ns = now - MIN(job->started_ns, now);

	if (job->status == JOB_RUNNING || job->ended_ns + JOB_ENDED_SHOWN_NS > now)
		return CLI_OK;
	log_error(
		"job '%s' has ended; see: proctor report %s, or proctor top --history %lluh --job %s",
		job->id, job->id, (unsigned long long)(age_ns / (3600 * NS_PER_S) + 1), job->id);
	return CLI_FAILED;
}

static int find_job(struct job_selection *from, const struct request *rq, struct job *ret)
{
	bool is_daemons;
	int status;

	from->socket = rq->socket;
	from->asks_daemon |= rq->socket != NULL;
	if (!rq->job && !from->reader)
		return job_selection_no_store(from->path);
	status = rq->job ? job_selection_find(from, rq->job, ret, &is_daemons) : CLI_OK;
	return status == CLI_OK && rq->job && rq->history_ns == NOT_GIVEN ? check_runs(ret)
	                                                                  : status;
}

/* The job that is meant, and that there is a past to show. */
static int add_job(struct words *w, const struct cli *cli, const struct request *rq)
{
	cleanup(job_selection_close) struct job_selection from = { 0 };
	struct job job;
	int status;

	if (!rq->job && rq->history_ns == NOT_GIVEN)
		return CLI_OK;
	status = job_selection_open(cli, &from);
	if (status == CLI_OK)
		status = find_job(&from, rq, &job);
	if (status != CLI_OK || !rq->job)
		return status;
	add(w, "job", job.id);
	add_number(w, "job-uid", job.uid, "");
	return CLI_OK;
}

/* A daemon that was named is not replaced by sampling here. */
static int check_daemon(const struct request *rq)
{
	struct daemon_client ask = { 0 };
	struct err err;
	int status = CLI_OK;

	if (!rq->socket || rq->own || rq->history_ns != NOT_GIVEN)
		return CLI_OK;
	if (daemon_client_open(rq->socket, &ask, &err) < 0)
		status = daemon_client_log(&err);
	daemon_client_close(&ask);
	return status;
}

static int become(const char *program, struct words *w)
{
	execv(program, w->at);
	log_error("start '%s': %s", program, strerror(errno));
	return CLI_FAILED;
}

static int start(const struct cli *cli, const struct request *rq)
{
	cleanup(freep) char *self = cli_program();
	cleanup(freep) char *program = self ? find_program(self) : NULL;
	struct words w = { .at = { xstrdup(PROGRAM) }, .n = 1 };
	int status;

	if (!program) {
		log_error("%s was not found, neither beside %s nor in " PROCTOR_LIBEXEC_DIR
		          ": install proctor again",
		          PROGRAM, self ? self : "the program");
		return CLI_FAILED;
	}
	add(&w, "program", self);
	status = add_places(&w, cli);
	if (status == CLI_OK)
		status = check_daemon(rq);
	if (status == CLI_OK)
		status = add_job(&w, cli, rq);
	add_options(&w, cli, rq);
	if (status == CLI_OK)
		status = become(program, &w);
	for (size_t i = 0; i < w.n; i++)
		free(w.at[i]);
	return status;
}

/* --trace PID is proctor trace PID. */
static int trace(struct cli *cli, const struct request *rq)
{
	char pid[24], verb[] = "trace";
	char *words[] = { verb, pid, NULL };
	extern const struct verb verb_trace;

	snprintf(pid, sizeof pid, "%llu", (unsigned long long)rq->trace_pid);
	cli->verb = &verb_trace;
	return verb_trace.run(cli, 2, words);
}

static int check(const struct cli *cli, const struct request *rq, int words)
{
	if (words)
		return cli_usage(cli, "takes options only");
	if (rq->interval_ns < INTERVAL_MIN_NS || rq->interval_ns > INTERVAL_MAX_NS)
		return cli_usage(cli, "--interval: write a time from 0.1s to 1h");
	if (rq->history_ns == 0)
		return cli_usage(cli, "--history must be greater than 0");
	if ((rq->width != NOT_GIVEN && (!rq->width || rq->width > SIDE_MAX)) ||
	    (rq->height != NOT_GIVEN && (!rq->height || rq->height > SIDE_MAX)))
		return cli_usage(cli, "--width and --height: write a number from 1 to %d", SIDE_MAX);
	if (!rq->once && !cli->json && (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))) {
		log_error("standard input and output are no terminal: add --once for one screen as text, "
		          "or --json for a stream of snapshots");
		return CLI_USAGE;
	}
	return CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .interval_ns = NS_PER_S,
		              .history_ns = NOT_GIVEN,
		              .width = NOT_GIVEN,
		              .height = NOT_GIVEN,
		              .trace_pid = NOT_GIVEN };
	const struct opt opts[] = {
		{ "job", 0, OPT_TEXT, &rq.job, "JOB", "show only this job" },
		{ "history", 0, OPT_DURATION, &rq.history_ns, "TIME",
		  "start in the past: what was recorded in the last 1h, 30m, …" },
		{ "once", 0, OPT_FLAG, &rq.once, NULL, "print one screen as text, and end" },
		{ "interval", 'i', OPT_DURATION, &rq.interval_ns, "S",
		  "time between two screens (1 s; with a daemon not less than its own)" },
		{ "trace", 0, OPT_U64, &rq.trace_pid, "PID", "trace a process, as proctor trace PID" },
		{ "own", 0, OPT_FLAG, &rq.own, NULL, "sample by itself, though there is a daemon" },
		{ "socket", 0, OPT_PATH, &rq.socket, "PATH", "ask only the daemon at this socket" },
		{ "no-bpf", 0, OPT_FLAG, &rq.no_bpf, NULL, "do not use BPF for own sampling" },
		{ "width", 0, OPT_U64, &rq.width, "N", "columns of --once (those of the terminal)" },
		{ "height", 0, OPT_U64, &rq.height, "N", "lines of --once (those of the terminal)" },
		CLI_COMMON_OPTS(cli),
	};
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (rq.trace_pid != NOT_GIVEN)
		return trace(cli, &rq);
	status = check(cli, &rq, words);
	return status == CLI_OK ? start(cli, &rq) : status;
}

const struct verb verb_top = {
	.name = "top",
	.summary = "jobs, their steps and their processes, live or as they were",
	.usage = "[--job JOB] [--history TIME] [--once | --json] [--interval S]",
	.about = CLI_JOB_HELP
	"\n"
	"Asks the daemon, or samples by itself where none answers, and shows which. F1 lists the keys; t\n"
	"travels back in time over what was recorded. --json prints a snapshot a line, with --history one\n"
	"document.",
	.example = "proctor top --history 1h",
	.run = run,
};
