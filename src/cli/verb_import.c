/* SPDX-License-Identifier: MIT */
/* verb_import.c - stores the runs in a file, so that estimates begin with a site's history. */
#include <errno.h>
#include <string.h>

#include "base/log.h"
#include "base/mem.h"
#include "cli/cli.h"
#include "cli/progress.h"
#include "cli/run_file.h"
#include "kernel/user_namespace.h"
#include "store/store.h"
#include "view/format.h"

#define RUNS_AT_ONCE 500 /* in one transaction */

struct import {
	const struct cli *cli;
	struct store *store;
	struct past_run *runs;
	size_t n;
	uint64_t stored;
	uint32_t uid;
};

static int open_to_write(struct import *im)
{
	char state_dir[CONFIG_PATH_MAX];
	cleanup(store_place_done) struct store_place place = { 0 };
	struct store_options options = { .kind = "import", .is_brief = true };
	struct progress updating;
	const char *notice;
	struct config config;
	struct err err;
	int r, status = cli_config(im->cli, &config);

	if (status != CLI_OK)
		return status;
	if (cli_make_state_dir(im->cli, state_dir, &err) < 0 ||
	    cli_make_store_place(&config, state_dir, &place, &err) < 0)
		return cli_failed(&err);
	options.path = place.path;
	options.has_rollback_journal = place.is_per_host;
	progress_of_store(&updating, &options);
	r = store_open(&options, &im->store, &notice, &err);
	progress_end(&updating);
	if (r < 0)
		return cli_failed(&err);
	if (notice)
		log_warn("%s", notice);
	if (!store_is_side(im->store))
		return CLI_OK;
	log_error(
		"'%s' was written by another version of proctor, or is in use by one: import with that version",
		place.path);
	return CLI_FAILED;
}

static int flush(struct import *im, struct err *err)
{
	uint64_t added = 0;
	int r = im->n ? store_import_runs(im->store, im->runs, im->n, im->uid, &added, err) : 0;

	im->n = 0;
	im->stored += added;
	return r;
}

static int add_run(void *self, const struct past_run *run, uint64_t line, struct err *err)
{
	struct import *im = self;

	(void)line;
	im->runs[im->n++] = *run;
	return im->n == RUNS_AT_ONCE ? flush(im, err) : 0;
}

static int print(const struct import *im, const struct run_file_counts *counts)
{
	uint64_t known = counts->runs - im->stored;
	struct cli_page page;

	cli_page_begin(&page, im->cli);
	if (im->cli->json) {
		json_begin_object(&page.json);
		json_put_u64(&page.json, "schema", 1);
		json_put_u64(&page.json, "runs", counts->runs);
		json_put_u64(&page.json, "imported", im->stored);
		json_put_u64(&page.json, "already_there", known);
		run_file_rejected_json(counts, &page.json);
		json_end_object(&page.json);
		return cli_page_end(&page);
	}
	canvas_printf(&page.canvas, INK_PLAIN, "%s %s imported", format_count(im->stored).at,
	              im->stored == 1 ? "run" : "runs");
	if (known)
		canvas_printf(&page.canvas, INK_PLAIN, ", %s %s there already",
		              format_count(known).at, known == 1 ? "was" : "were");
	if (counts->rejected)
		canvas_printf(&page.canvas, INK_WARN, ", %s %s rejected",
		              format_count(counts->rejected).at,
		              counts->rejected == 1 ? "row" : "rows");
	canvas_newline(&page.canvas);
	return cli_page_end(&page);
}

static int import_file(struct import *im, const char *path)
{
	cleanup(closep) int fd = -1;
	struct run_file_counts counts = { 0 };
	struct err err;
	int status, r = run_file_open(path, &fd, &err);

	if (r < 0) {
		cli_failed_then(&err, RUN_FILE_NEXT);
		return r == -ENOENT ? CLI_NOT_FOUND : CLI_FAILED;
	}
	status = open_to_write(im);
	if (status != CLI_OK)
		return status;
	r = run_file_read(fd, im->cli->json ? NULL : "rows", add_run, im, &counts, &err);
	if (r == 0)
		r = flush(im, &err);
	if (r < 0) {
		log_error("%s: %s; see: proctor import --help", path, err.msg);
		return CLI_FAILED;
	}
	run_file_log_rejected(path, &counts);
	if (!counts.runs && !counts.rejected)
		log_error("%s: there are no runs in it, only a header; see: proctor import --help", path);
	status = print(im, &counts);
	return status == CLI_OK && !counts.runs ? CLI_FAILED : status;
}

static int run(struct cli *cli, int argc, char **argv)
{
	const struct opt opts[] = { CLI_COMMON_OPTS(cli) };
	struct import im = { .cli = cli, .uid = user_namespace_own_uid() };
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words != 1)
		return cli_usage(cli, words ? "one file only" : "no file given");
	im.runs = xcalloc(RUNS_AT_ONCE, sizeof *im.runs);
	status = import_file(&im, argv[1]);
	free(im.runs);
	store_close(im.store);
	return status;
}

const struct verb verb_import = {
	.name = "import",
	.summary = "store the runs in a file, for estimates to learn from",
	.usage = "[--json] FILE",
	.about =
		"FILE is a CSV file with a header (job_type, started_at, duration_seconds, peak_used_mb or\n"
		"peak_rss_mb, and if known job_id, sheet, cpu_seconds, input_bytes, requested_mb, outcome,\n"
		"exit_code, tags), `sacct --parsable2` output or a Nextflow trace. Rows that cannot be used are\n"
		"rejected with line and reason, the others are stored. Importing a file again changes nothing.\n"
		"docs/learning.md has more.",
	.example = "proctor import history.csv",
	.run = run,
};
