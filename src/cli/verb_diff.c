/* SPDX-License-Identifier: MIT */
/* verb_diff.c - two jobs side by side, or one beside the median of recent runs; and conditions for CI. */
#include "view/diff_view.h"

#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "cli/job_selection.h"
#include "cli/page_file.h"
#include "report/diff_baseline.h"
#include "view/diff_verdict.h"
#include "view/job_view.h"
#include "view/page_view.h"

#define CONDITIONS_MAX OPT_LIST_MAX
#define NO_NUMBER UINT64_MAX

/* ---- the median of recent runs ------------------------------------------------------------------ */

struct run {
	struct job job;
	bool is_daemons; /* not in our store: only its totals are known */
};

/* Successful runs of one type, other than that one. */
struct runs {
	const struct job *than;
	VEC(struct run) jobs;       /* the newest first */
	VEC(struct report *) known; /* what is known of each */
};

static int add_run(void *self, const struct job *job)
{
	struct runs *runs = self;

	if (!job_key_eq(job_key_of(job), job_key_of(runs->than)))
		*vec_push(&runs->jobs, SIZE_MAX) = (struct run){ .job = *job };
	return 0;
}

static int by_start(const void *x, const void *y)
{
	const struct run *a = x, *b = y;

	return (a->job.started_ns < b->job.started_ns) - (a->job.started_ns > b->job.started_ns);
}

/* Finds earlier runs in both stores. */
static int find_runs(struct job_selection *r, size_t count, struct runs *runs)
{
	const struct job_filter filter = { .type = runs->than->type,
		                           .outcome = "ok",
		                           .of_one_user = true,
		                           .uid = runs->than->uid };
	struct err err = { 0 };
	size_t own;

	if (r->reader && history_jobs(r->reader, &filter, count + 1, add_run, runs, &err) < 0)
		return cli_failed(&err);
	own = runs->jobs.len;
	job_selection_ask(r, &filter, count + 1);
	vec_each(&r->places, place) {
		struct job job = daemon_jobs_at(&r->others, *place);

		if (job.uid == filter.uid)
			add_run(runs, &job);
	}
	for (size_t i = own; i < runs->jobs.len; i++)
		runs->jobs.at[i].is_daemons = true;
	if (runs->jobs.len)
		qsort(runs->jobs.at, runs->jobs.len, sizeof *runs->jobs.at, by_start);
	runs->jobs.len = MIN(runs->jobs.len, count);
	if (runs->jobs.len)
		return CLI_OK;
	log_error(
		"there is no other successful run of '%s' to compare with; see: proctor ls --type %s",
		runs->than->type, runs->than->type);
	return CLI_NOT_FOUND;
}

static int gather_median(struct job_selection *r, size_t count, struct runs *runs,
                         struct report *ret)
{
	int status = find_runs(r, count, runs);

	for (size_t i = 0; status == CLI_OK && i < runs->jobs.len; i++) {
		struct report *known = xcalloc(1, sizeof *known);

		*vec_push(&runs->known, SIZE_MAX) = known;
		known->job = runs->jobs.at[i].job;
		if (!runs->jobs.at[i].is_daemons)
			status = job_selection_gather(r, known);
	}
	if (status == CLI_OK)
		diff_baseline((const struct report *const *)runs->known.at, runs->known.len, ret);
	return status;
}

static void runs_done(struct runs *runs)
{
	vec_each(&runs->known, known) {
		report_done(*known);
		free(*known);
	}
	vec_done(&runs->known);
	vec_done(&runs->jobs);
}

/* ---- conditions ------------------------------------------------------------------------------- */

/* Parses all --fail-if; one may hold several conditions, separated by commas. */
static int parse_conditions(const struct cli *cli, const struct opt_list *texts,
                            struct diff_condition *ret, size_t *ret_n)
{
	struct err err;

	for (size_t i = 0; i < texts->len; i++) {
		struct scan rest = scan_str(texts->at[i]), one;
		bool goes_on;

		do {
			if (*ret_n == CONDITIONS_MAX)
				return cli_usage(cli, "--fail-if: more than %d conditions",
				                 CONDITIONS_MAX);
			goes_on = scan_until(&rest, ',', &one);
			if (!goes_on)
				one = rest;
			if (diff_condition_parse(one, &ret[(*ret_n)++], &err) < 0)
				return cli_usage(cli, "--fail-if %s", err.msg);
		} while (goes_on);
	}
	return CLI_OK;
}

/* On stderr, which a CI system shows whatever becomes of the output. */
static int check_conditions(const struct cli *cli, const struct diff_input *in)
{
	const bool unicode = cli_style_of(cli, 2).unicode;
	int status = CLI_OK;

	for (size_t i = 0; i < in->n_conditions; i++) {
		const struct diff_condition *c = &in->conditions[i];
		cleanup(buf_done) struct buf text = { 0 };

		if (diff_condition_check(c, diff_condition_pair(c, in->a, in->b)) == DIFF_NO)
			continue;
		status = CLI_FAILED;
		diff_verdict_condition_words(c, in->a, in->b, unicode, &text);
		log_error("failed: %.*s (%s)", (int)scan_left(&c->text), c->text.p, text.at);
	}
	return status;
}

/* ---- the verb --------------------------------------------------------------------------------- */

struct request {
	const char *html;           /* the file; NULL: none */
	bool markdown;
	const char *first, *second; /* first NULL: the median of so many runs */
	uint64_t against;
	struct diff_condition conditions[CONDITIONS_MAX];
	size_t n_conditions;
};

static int print_markdown(const struct cli *cli, const struct diff_input *in)
{
	cleanup(buf_done) struct buf out = { 0 };
	int status;

	diff_markdown(in, &out);
	status = cli_print(&out);
	return status == CLI_OK ? check_conditions(cli, in) : status;
}

static int print(const struct cli *cli, const struct diff_input *in)
{
	struct cli_page page;
	int status;

	cli_page_begin(&page, cli);
	if (cli->json)
		diff_view_json(in, &page.json);
	else
		diff_view(in, &page.canvas);
	status = cli_page_end(&page);
	return status == CLI_OK ? check_conditions(cli, in) : status;
}

/* The curves of both; of a job beside a median, with those of earlier runs behind them. */
static int complete_pages(struct job_selection *recorded, const struct diff_input *in,
                          struct page_report *a, struct page_report *b)
{
	struct err err = { 0 };

	if ((!in->runs && page_report_gather(a, recorded->reader, &err) < 0) ||
	    page_report_gather(b, recorded->reader, &err) < 0)
		return cli_failed(&err);
	if (in->runs)
		page_report_add_band(b, recorded->reader);
	if (b->band_error.code)
		log_warn("earlier runs are left out: %s", b->band_error.msg);
	return CLI_OK;
}

/* Both runs over each other. */
static int write_page(const struct cli *cli, const char *file, const struct diff_input *in,
                      const struct page_report *a, const struct page_report *b)
{
	const struct page_report *const pages[] = { a, b };
	cleanup(page_parts_done) struct page_parts parts = { 0 };
	int status;

	page_view_diff(in, pages, &parts);
	status = page_file_write(file, &parts);
	return status == CLI_OK ? check_conditions(cli, in) : status;
}

static int gather(struct job_selection *recorded, const struct request *rq, struct runs *runs,
                  struct report *a, struct report *b)
{
	int status = rq->first ? job_selection_report(recorded, rq->first, a) : CLI_OK;

	if (status == CLI_OK)
		status = job_selection_report(recorded, rq->second, b);
	if (status == CLI_OK && !rq->first)
		status = gather_median(recorded, (size_t)rq->against, runs, a);
	return status;
}

static int compare(const struct cli *cli, const struct request *rq)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(page_report_done) struct page_report a = { 0 };
	cleanup(page_report_done) struct page_report b = { 0 };
	cleanup(runs_done) struct runs runs = { .than = &b.report.job };
	struct diff_input in = { .a = &a.report,
		                 .b = &b.report,
		                 .conditions = rq->conditions,
		                 .n_conditions = rq->n_conditions };
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = gather(&recorded, rq, &runs, &a.report, &b.report);
	if (status != CLI_OK)
		return status;
	in.runs = runs.known.len;
	in.wanted = rq->first ? 0 : (size_t)rq->against;
	if (!rq->html)
		return rq->markdown ? print_markdown(cli, &in) : print(cli, &in);
	status = complete_pages(&recorded, &in, &a, &b);
	if (status != CLI_OK)
		return status;
	return write_page(cli, rq->html, &in, &a, &b);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { .against = NO_NUMBER };
	struct opt_list conditions = { 0 };
	const struct opt opts[] = {
		{ "against", 0, OPT_U64, &rq.against, "N",
		  "compare with the median of the N latest successful runs of its type" },
		{ "fail-if", 0, OPT_LIST, &conditions, "CONDITION",
		  "exit with status 1 if cpu>1.2x, memory>+20%, time>10s, …" },
		{ "html", 0, OPT_PATH, &rq.html, "FILE",
		  "write a page with both runs over each other (-: stdout)" },
		{ "markdown", 0, OPT_FLAG, &rq.markdown, NULL,
		  "as Markdown, for merge requests and summaries of CI jobs" },
		CLI_COMMON_OPTS(cli),
	};
	int words, status;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (rq.markdown + (rq.html != NULL) + cli->json > 1)
		return cli_usage(cli, "--html, --markdown and --json exclude each other");
	if (rq.against != NO_NUMBER && (!rq.against || rq.against > DIFF_BASELINE_MAX))
		return cli_usage(cli, "--against: write a number from 1 to %d", DIFF_BASELINE_MAX);
	if (rq.against != NO_NUMBER && words > 1)
		return cli_usage(
			cli, "--against compares one job; write: proctor diff %s --against %llu",
			argv[2], (unsigned long long)rq.against);
	if (rq.against == NO_NUMBER && words != 2)
		return cli_usage(cli, "two jobs are needed: proctor diff TYPE~1 TYPE; or one and "
		                      "its recent runs: proctor diff JOB --against 10");
	status = parse_conditions(cli, &conditions, rq.conditions, &rq.n_conditions);
	if (status != CLI_OK)
		return status;
	rq.first = words == 2 ? argv[1] : NULL;
	rq.second = words ? argv[words] : NULL;
	return compare(cli, &rq);
}

const struct verb verb_diff = {
	.name = "diff",
	.summary = "two jobs side by side, and which sheets and programs differ",
	.usage = "JOB JOB | [JOB] --against N [--fail-if CONDITION]… [--html FILE | --markdown | --json]",
	.about = CLI_JOB_HELP
	"\nA ratio is the second job's figure divided by the first's. In the first line, a change of less than\n"
	"5 % is unchanged (10 % where a figure was sampled), and 20 ms or 1 MiB are too small to compare.\n"
	"CONDITION is time, cpu, user, system, memory, charged, largest, read, written, procs or failed,\n"
	"then > or <, then a factor (1.2x), a change (+20%) or a value of the second job (10s, 500M, 3).\n"
	"Separate several by commas. A condition that cannot be decided, because a figure is missing, or a\n"
	"bound of one job only, also fails.",
	.example = "proctor diff train.py~1 train.py",
	.run = run,
};
