/* SPDX-License-Identifier: MIT */
/* verb_events.c - what happened in a job, in the order of time. */
#include <errno.h>

#include "base/log.h"
#include "cli/job_selection.h"
#include "view/events_view.h"

struct stream {
	const struct cli *cli;
	struct events_view view;
	struct style style;
	struct report names; /* only for the names of the processes, and which are ours */
	struct buf out;
	uint64_t shown;
	int written; /* CLI_OK so far, or how writing ended */
};

static int put_event(void *self, const struct event_record *e)
{
	struct stream *s = self;
	const char *name = report_name_of(&s->names, e->process);
	struct json json = { .out = &s->out };

	if (report_is_echo(&s->names, e))
		return 0;
	if (s->cli->json) {
		events_json_put(&s->view, e, name, &json);
		buf_putc(&s->out, '\n');
	} else {
		if (!s->shown)
			events_view_head(&s->view, CANVAS(&s->style, &s->out));
		events_view_put(&s->view, e, name, CANVAS(&s->style, &s->out));
	}
	s->shown++;
	return 0;
}

static int flush(void *self)
{
	struct stream *s = self;

	s->written = cli_print(&s->out);
	buf_reset(&s->out);
	return s->written == CLI_OK ? 0 : -EPIPE;
}

static int show(struct job_selection *recorded, struct stream *s, uint64_t kinds, size_t count)
{
	const struct job *job = &s->names.job;
	struct err err = { 0 };
	int r = history_job_processes(recorded->reader, job_key_of(job), REPORT_PROCESSES_MAX,
	                              report_add_process, &s->names, &err);

	if (r >= 0)
		r = report_each_event(recorded->reader, job_key_of(job), kinds, count, put_event,
		                      flush, s, &err);
	if (s->written != CLI_OK)
		return s->written;
	if (r < 0)
		return cli_failed(&err);
	if (!s->shown && !s->cli->json)
		log_info("no such events of job '%s'", job->id);
	return CLI_OK;
}

static int show_job(const struct cli *cli, const char *name, uint64_t kinds, size_t count)
{
	struct stream s = { .cli = cli, .style = cli_style(cli) };
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find_own(&recorded, name, &s.names.job);
	s.view.started_ns = s.names.job.started_ns;
	if (status == CLI_OK)
		status = show(&recorded, &s, kinds, count);
	report_done(&s.names);
	buf_done(&s.out);
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
	const char *kinds_text = NULL;
	uint64_t kinds = 0, count = UINT64_MAX;
	const struct opt opts[] = {
		{ "kind", 'k', OPT_TEXT, &kinds_text, "KIND,…",
		  "only these: spawn, exec, exit, signal, kill, oom, mark, phase, anomaly, …" },
		{ "count", 'n', OPT_U64, &count, "N", "at most so many" },
		CLI_COMMON_OPTS(cli),
	};
	char bad[80];
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only");
	if (kinds_text && !events_parse_kinds(kinds_text, &kinds, bad, sizeof bad))
		return bad_kind(cli, bad);
	return show_job(cli, words ? argv[1] : NULL, kinds, (size_t)count);
}

const struct verb verb_events = {
	.name = "events",
	.summary = "what happened in a job: starts, ends, signals, marks, in the order of time",
	.usage = "[JOB] [--kind KIND,…] [-n N] [--json]",
	.about = CLI_JOB_HELP "\n--json prints one object a line.",
	.run = run,
};
