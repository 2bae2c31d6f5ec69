/* SPDX-License-Identifier: MIT */
/* verb_events.c - what happened in a job, in the order of time. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/job_selection.h"
#include "view/events_view.h"

#define FOLLOW_EVERY_NS (200 * NS_PER_MS)
#define FOLLOW_PAGE ((size_t)10000)

struct stream {
	const struct cli *cli;
	struct events_view view;
	struct style style;
	struct report names; /* only for the names of the processes, and which are ours */
	struct buf out;
	uint64_t kinds;
	size_t count, shown;
	int written; /* CLI_OK so far, or how writing ended */
};

static void put_line(struct stream *s, const struct event_record *e, const char *name)
{
	struct json json = { .out = &s->out };

	if (s->cli->json) {
		events_view_json_put(&s->view, e, name, &json);
		buf_putc(&s->out, '\n');
	} else {
		if (!s->shown)
			events_view_head(&s->view, CANVAS(&s->style, &s->out));
		events_view_put(&s->view, e, name, CANVAS(&s->style, &s->out));
	}
	s->shown++;
}

static int put_event(void *self, const struct event_record *e)
{
	struct stream *s = self;

	if (!report_is_echo(&s->names, e))
		put_line(s, e, report_name_of(&s->names, e->process));
	return 0;
}

/* A process that is still to come has no name in the report. */
static int put_new_event(void *self, const struct event_record *e)
{
	put_line(self, e, e->comm);
	return 0;
}

static int flush(void *self)
{
	struct stream *s = self;

	s->written = cli_print(&s->out);
	buf_reset(&s->out);
	return s->written == CLI_OK ? 0 : -EPIPE;
}

static int show(struct job_selection *recorded, struct stream *s)
{
	const struct job *job = &s->names.job;
	struct err err = { 0 };
	int r = history_job_processes(recorded->reader, job_key_of(job), REPORT_PROCESSES_MAX,
	                              report_add_process, &s->names, &err);

	if (r >= 0)
		r = report_each_event(recorded->reader, job_key_of(job), s->kinds, s->count,
		                      put_event, flush, s, &err);
	if (s->written != CLI_OK)
		return s->written;
	if (r < 0)
		return cli_failed(&err);
	if (!s->shown && !s->cli->json)
		log_info("job '%s' has no such events", job->id);
	return CLI_OK;
}

/* ---- as they happen -------------------------------------------------------------------------- */

/* False: the user interrupted it, or the reader of our output is gone. */
static bool wait_for_more(const sigset_t *ends)
{
	const struct timespec step = { .tv_nsec = FOLLOW_EVERY_NS };
	struct pollfd out = { .fd = STDOUT_FILENO };

	return sigtimedwait(ends, NULL, &step) < 0 &&
	       !(poll(&out, 1, 0) > 0 && out.revents & POLLERR);
}

/* All that was stored since the last time. */
static int read_new(struct job_selection *recorded, struct stream *s, struct history_cursor *at,
                    struct err *err)
{
	int n;

	do {
		n = history_follow_job(recorded->reader, job_key_of(&s->names.job), at, s->kinds,
		                       MIN(s->count - s->shown, FOLLOW_PAGE), put_new_event, s,
		                       err);
		if (flush(s) < 0)
			return -EPIPE;
	} while (n == (int)FOLLOW_PAGE);
	return MIN(n, 0);
}

/* Whether it runs is asked before its events are read: what it does until then is read, too. A job that
 * is gone was deleted. */
static int follow(struct job_selection *recorded, struct stream *s)
{
	struct history_cursor at = { 0 };
	struct job job = s->names.job;
	struct err err = { 0 };
	sigset_t ends;
	int r;

	sigemptyset(&ends);
	sigaddset(&ends, SIGINT);
	sigaddset(&ends, SIGTERM);
	sigprocmask(SIG_BLOCK, &ends, NULL);
	do {
		r = history_get_job(recorded->reader, job_key_of(&job), &job, &err);
		if (r == 0)
			r = read_new(recorded, s, &at, &err);
	} while (r == 0 && job.status == JOB_RUNNING && s->shown < s->count &&
	         wait_for_more(&ends));
	if (s->written != CLI_OK)
		return s->written;
	if (r == 0 && job.status == JOB_LOST)
		log_info("the recorder of job '%s' is gone", job.id);
	return r < 0 && r != -ENOENT ? cli_failed(&err) : CLI_OK;
}

static int show_job(struct stream *s, const char *name, bool follows)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	int status = job_selection_open(s->cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find_own(&recorded, name, &s->names.job);
	s->view.started_ns = s->names.job.started_ns;
	if (status == CLI_OK)
		status = follows ? follow(&recorded, s) : show(&recorded, s);
	report_done(&s->names);
	buf_done(&s->out);
	return status;
}

static int bad_kind(const struct cli *cli, const char *word)
{
	cleanup(buf_done) struct buf kinds = { 0 };

	events_put_kinds(&kinds);
	return cli_usage(cli, "--kind: '%s' is none of %s", word, kinds.at);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct stream s = { .cli = cli };
	const char *kinds_text = NULL;
	uint64_t count = UINT64_MAX;
	bool follows = false;
	const struct opt opts[] = {
		{ "follow", 'f', OPT_FLAG, &follows, NULL,
		  "also print new events as they happen, until the job ends" },
		{ "kind", 'k', OPT_TEXT, &kinds_text, "KIND,…",
		  "only these: spawn, exec, exit, signal, kill, oom, mark, phase, anomaly, …" },
		{ "count", 'n', OPT_U64, &count, "N", "the first N" },
		CLI_COMMON_OPTS(cli),
	};
	char bad[80];
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only");
	if (kinds_text && !events_parse_kinds(kinds_text, &s.kinds, bad, sizeof bad))
		return bad_kind(cli, bad);
	s.style = cli_style(cli);
	s.count = (size_t)count;
	return show_job(&s, words ? argv[1] : NULL, follows);
}

const struct verb verb_events = {
	.name = "events",
	.summary = "what happened in a job: starts, ends, signals, marks, in time order",
	.usage = "[JOB] [-f] [--kind KIND,…] [-n N] [--json]",
	.about = CLI_JOB_HELP "\n--json prints one object per line.",
	.example = "proctor events -f train.py --kind exit,oom",
	.run = run,
};
