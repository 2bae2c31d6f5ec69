/* SPDX-License-Identifier: MIT */
/* verb_export.c - `proctor export`: writes a recorded job for other programs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/log.h"
#include "cli/export_writer.h"

static const struct {
	const char *name;
	int (*put)(struct export *x, struct err *err);
} formats[] = {
	{ "jsonl", export_jsonl },
	{ "csv", export_csv },
	{ "chrome-trace", export_trace },
};

static const char *const whats[] = {
	[EXPORT_PROCESSES] = "processes",
	[EXPORT_SAMPLES] = "samples",
	[EXPORT_EVENTS] = "events",
};

struct request {
	const char *format, *what, *file;
	size_t format_index;
};

static int check(struct cli *cli, struct request *rq, int words, enum export_what *ret)
{
	size_t i = 0, w = 0;

	if (words > 1)
		return cli_usage(cli, "one job only");
	if (!rq->format)
		return cli_usage(cli, "--format is needed: jsonl, csv or chrome-trace");
	while (i < ARRAY_LEN(formats) && strcmp(rq->format, formats[i].name) != 0)
		i++;
	if (i == ARRAY_LEN(formats))
		return cli_usage(cli, "--format '%s': write jsonl, csv or chrome-trace",
		                 rq->format);
	while (rq->what && w < ARRAY_LEN(whats) && strcmp(rq->what, whats[w]) != 0)
		w++;
	if (w == ARRAY_LEN(whats))
		return cli_usage(cli, "--what '%s': write processes, samples or events", rq->what);
	if (rq->what && strcmp(rq->format, "csv") != 0)
		return cli_usage(cli, "--what is only for csv; %s always contains everything",
		                 rq->format);
	rq->format_index = i;
	*ret = (enum export_what)w;
	return CLI_OK;
}

static int open_output(const char *file, struct err *err)
{
	int fd;

	if (!file || strcmp(file, "-") == 0)
		return fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (fd < 0)
		return err_set(err, errno, "open '%s': %s", file, strerror(errno));
	return fd;
}

static int put(struct export *x, const struct request *rq)
{
	cleanup(closep) int fd = -1;
	struct err err = { 0 };
	int r;

	x->fd = fd = open_output(rq->file, &err);
	if (fd < 0)
		return cli_failed(&err);
	r = formats[rq->format_index].put(x, &err);
	export_done(x);
	if (r == -EPIPE) /* a closed pipe is not worth a message */
		return CLI_FAILED;
	return r < 0 ? cli_failed(&err) : CLI_OK;
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { 0 };
	const struct opt opts[] = {
		{ "format", 'f', OPT_TEXT, &rq.format, "FORMAT", "jsonl, csv or chrome-trace" },
		{ "what", 'w', OPT_TEXT, &rq.what, "WHAT",
		  "csv: processes (default), samples or events" },
		{ "output", 'o', OPT_PATH, &rq.file, "FILE",
		  "write to this file instead of stdout" },
		CLI_COMMON_OPTS(cli),
	};
	struct job_selection recorded;
	struct job job;
	struct export x = { .recorded = &recorded, .job = &job, .now_ns = clock_wall_ns() };
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	status = check(cli, &rq, words, &x.what);
	if (status != CLI_OK)
		return status;
	status = job_selection_open(cli, &recorded);
	if (status == CLI_OK)
		status = job_selection_find(&recorded, words ? argv[1] : NULL, &job);
	if (status == CLI_OK)
		status = put(&x, &rq);
	job_selection_close(&recorded);
	return status;
}

const struct verb verb_export = {
	.name = "export",
	.summary = "export a job as JSON lines, CSV, or a trace for Perfetto",
	.usage = "[JOB] --format jsonl|csv|chrome-trace [--what WHAT] [-o FILE]",
	.about = CLI_JOB_HELP
	"\nOpen a chrome-trace in ui.perfetto.dev or chrome://tracing: each process is a slice, memory and\n"
	"CPU are counters, with sheets and phases above. What the keys and columns mean: proctor help fields.",
	.instead_of_json = "use --format jsonl",
	.run = run,
};
