/* SPDX-License-Identifier: MIT */
/* verb_summary.c - what a run folder has of its job, and the resource summary from its CSV files. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/io.h"
#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "serve/job_from_json.h"
#include "rpc/rpc_answer.h"
#include "rpc/rpc_message.h"
#include "runfolder/runfolder_read.h"
#include "view/label_lines.h"
#include "view/format.h"
#include "view/run_view.h"
#include "view/table.h"

#define SUMMARY_MAX ((size_t)1 << 20)

/* summary.json of a folder, as far as it is ours; NULL: there is none. Not blocking: it could be a pipe. */
static json_t *read_summary(const char *dir)
{
	cleanup(freep) char *path = xasprintf("%s/summary.json", dir);
	cleanup(closep) int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	cleanup(buf_done) struct buf text = { .max = SUMMARY_MAX };
	struct stat st;
	json_t *all;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || io_load_fd(fd, &text) < 0)
		return NULL;
	all = json_loadb(text.at ? text.at : "", text.len, JSON_REJECT_DUPLICATES, NULL);
	if (json_is_object(json_object_get(all, "job")))
		return all;
	json_decref(all);
	return NULL;
}

static void put_command(const struct job *job, struct canvas *to)
{
	struct label_lines f = { .label_columns = 9 };

	if (!*job->command)
		return;
	label_lines_begin(&f, "command", "");
	label_lines_part(&f, "%s", job->command);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

static void put_job(const json_t *summary, struct canvas *to)
{
	static const struct run_record nothing_stored;
	struct job job = job_from_json(json_object_get(summary, "job"));

	if (!job.took_ns)
		job.took_ns = rpc_answer_ns(summary, "wall_seconds");
	job.total_sheets = 0; /* how many were completed is not in it */
	put_command(&job, to);
	run_view(&job, &nothing_stored, 0, to);
	canvas_newline(to);
}

/* "2 comments, 1 too short; 3 values not readable" */
static void put_reasons(struct buf *to, const struct runfolder_file *file)
{
	const struct hardware_file_counts *c = &file->counts;

	format_put_count(to, c->comments, c->comments == 1 ? "comment" : "comments");
	format_put_count(to, c->too_short, "too short");
	format_put_count(to, c->too_long, "too long");
	format_put_count(to, c->unusable, "without a value");
	if (c->values_skipped)
		buf_printf(to, "%s%s %s not readable", to->len ? "; " : "",
		           format_count(c->values_skipped).at,
		           c->values_skipped == 1 ? "value" : "values");
}

static void add_file(struct table *t, const char *name, const struct runfolder_file *file)
{
	const struct hardware_file_counts *c = &file->counts;
	uint64_t lines = hardware_file_lines(c);
	struct buf why = { 0 };

	table_add(t, name, INK_PLAIN);
	if (!file->is_there) {
		table_add_figure(t, "-", INK_PLAIN);
		table_add_figure(t, "-", INK_PLAIN);
		table_add_figure(t, "-", INK_PLAIN);
		table_add(t, "not there", INK_QUIET);
		return;
	}
	put_reasons(&why, file);
	if (!lines)
		buf_puts(&why, file->problem[0] ? "" : "empty");
	if (file->problem[0])
		buf_printf(&why, "%s%s", why.len ? "; " : "", file->problem);
	table_add(t, format_count(lines).at, INK_PLAIN);
	table_add(t, format_count(c->used).at, INK_PLAIN);
	table_add(t, format_count(lines - c->used - c->heads).at, INK_PLAIN);
	table_add(t, why.at ? why.at : "", file->problem[0] ? INK_BAD : INK_QUIET);
	buf_done(&why);
}

static void put_files(const struct runfolder_reading *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "file", TABLE_LEFT, 0, 0, false },  { "lines", TABLE_RIGHT, 0, 0, false },
		{ "used", TABLE_RIGHT, 0, 0, false }, { "skipped", TABLE_RIGHT, 0, 0, false },
		{ "why", TABLE_LEFT, 0, 10, true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++)
		add_file(&t, hardware_file_names[i], &r->files[i]);
	table_print(&t, to);
	table_done(&t);
}

static void put_figures(const struct runfolder_reading *r, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ NULL, TABLE_LEFT, 0, 0, false },
		{ NULL, TABLE_RIGHT, 0, 0, false },
		{ NULL, TABLE_LEFT, 0, 0, false },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	for (enum resource_key key = 0; key < RESOURCE_KEY_COUNT; key++) {
		uint64_t tenths;

		if (!resource_summary_get(&r->summary, key, &tenths))
			continue;
		table_add(&t, resource_keys[key].label, INK_PLAIN);
		table_add(&t, format_milli(tenths * 100, 1).at, INK_STRONG);
		table_add(&t, resource_keys[key].unit, INK_PLAIN);
	}
	if (t.cells.len)
		table_print(&t, to);
	else
		canvas_put(to, INK_PLAIN, "nothing can be read from these files\n");
	table_done(&t);
}

static void put_text(const json_t *summary, const struct runfolder_reading *r, struct canvas *to)
{
	if (summary)
		put_job(summary, to);
	put_files(r, to);
	canvas_newline(to);
	put_figures(r, to);
	if (r->gpus > 1)
		canvas_printf(to, INK_PLAIN,
		              "\n%u GPUs: means are over all of them, maxima are of one\n",
		              r->gpus);
}

static void put_json(const json_t *summary, const struct runfolder_reading *r, struct json *j)
{
	json_begin_object(j);
	runfolder_reading_put(j, r);
	if (summary) {
		json_key(j, "job");
		rpc_message_put_value(j, json_object_get(summary, "job"));
	}
	json_end_object(j);
}

static int show(const struct cli *cli, const char *dir, const struct runfolder_reading *r)
{
	json_t *summary = read_summary(dir);
	struct cli_page page;

	cli_page_begin(&page, cli);
	if (cli->json)
		put_json(summary, r, &page.json);
	else
		put_text(summary, r, &page.canvas);
	json_decref(summary);
	return cli_page_end(&page);
}

/* A file that exists and cannot be read leaves the answer incomplete: logged, and a failure. */
static int log_problems(const char *path, const struct runfolder_reading *r)
{
	int status = CLI_OK;

	for (size_t i = 0; i < HARDWARE_FILE_COUNT; i++) {
		if (!r->files[i].problem[0])
			continue;
		log_error("read '%s/%s': %s", path, hardware_file_names[i], r->files[i].problem);
		status = CLI_FAILED;
	}
	return status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	struct runfolder_reading reading;
	struct err err;
	int words, r, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 1)
		return cli_usage(cli, words ? "one folder only" : "no folder given");
	r = runfolder_read(argv[1], &reading, &err);
	if (r < 0) {
		cli_failed(&err);
		return r == -ENOENT ? CLI_NOT_FOUND : CLI_FAILED;
	}
	status = show(cli, argv[1], &reading);
	return status == CLI_OK ? log_problems(argv[1], &reading) : status;
}

const struct verb verb_summary = {
	.name = "summary",
	.summary = "the job and the resource summary of a run folder",
	.usage = "[--json] DIR",
	.about =
		"Shows the job, from the summary.json that `run --out DIR` wrote. Then reads hw_metrics.csv,\n"
		"hw_dmon.csv and cpu_metrics.csv, as `run` or nvidia-smi itself wrote them, and reports what was\n"
		"used and what was skipped.",
	.example = "proctor summary run-folder",
	.run = run,
};
