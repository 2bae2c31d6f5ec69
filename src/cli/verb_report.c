/* SPDX-License-Identifier: MIT */
/* verb_report.c - everything known about one job. */
#include <fcntl.h>

#include "analyze/verdict_rules.h"
#include "base/clock.h"
#include "base/log.h"
#include "cli/daemon_jobs.h"
#include "cli/job_selection.h"
#include "cli/page_file.h"
#include "cli/verb_report.h"
#include "kernel/blocked_reader.h"
#include "report/page_report.h"
#include "view/flight_view.h"
#include "view/job_view.h"
#include "view/page_view.h"
#include "view/report_view.h"

int verb_report_text(const struct cli *cli, const char *job_id, struct buf *to)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report report = { 0 };
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_report(&recorded, job_id, &report);
	if (status == CLI_OK)
		report_view_text(&report, to);
	return status;
}

void verb_report_totals(const struct job *job, struct buf *to)
{
	const struct report report = { .now_ns = clock_wall_ns(), .job = *job };

	report_view_text(&report, to);
}

void verb_report_add_blocked(struct report *report)
{
	cleanup(closep) int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	cleanup(process_reader_freep) struct process_reader *reader = process_reader_new(root_fd);

	if (root_fd >= 0)
		blocked_reader_list(reader, root_fd, report->living.at, report->living.len,
		                    &report->blocked);
}

static int show_last_calls(const struct cli *cli, const struct report *report)
{
	struct cli_page page;

	if (!report->flights.len) {
		log_error(
			"no last calls of job '%s' were recorded: %s", report->job.id,
			report_has_flight_recorder(report)
				? "none of its processes failed"
				: "it ran without a flight recorder; that takes run --flight-recorder, and BPF (see proctor doctor)");
		return CLI_NOT_FOUND;
	}
	cli_page_begin(&page, cli);
	flight_view_all(report, &page.canvas);
	return cli_page_end(&page);
}

struct request {
	const char *job;  /* NULL: the last one */
	const char *html; /* the file; NULL: none */
	bool last_calls, markdown;
};

static void judge(const struct report *report, struct verdict *ret)
{
	if (report->job.status != JOB_RUNNING)
		verdict_rules_judge(&report->job, &report->facts, ret);
}

static int show_markdown(const struct report *report)
{
	cleanup(buf_done) struct buf out = { 0 };
	struct verdict verdict = { 0 };

	judge(report, &verdict);
	report_view_markdown(report, &verdict, &out);
	return cli_print(&out);
}

/* The page of a job with all its processes. */
static int show_page(struct job_selection *recorded, const struct job *job, const char *file)
{
	cleanup(page_report_done) struct page_report page = { .report.job = *job };
	cleanup(page_parts_done) struct page_parts parts = { 0 };
	struct verdict verdict = { 0 };
	struct err err = { 0 };
	int status = job_selection_gather(recorded, &page.report);

	if (status != CLI_OK)
		return status;
	verb_report_add_blocked(&page.report);
	if (page_report_gather(&page, recorded->reader, &err) < 0)
		return cli_failed(&err);
	page_report_add_band(&page, recorded->reader);
	if (page.band_error.code)
		log_warn("earlier runs are left out: %s", page.band_error.msg);
	judge(&page.report, &verdict);
	page_view(&page, &verdict, &parts);
	return page_file_write(file, &parts);
}

/* The daemon renders what is in its store. */
static int show_daemons(const struct cli *cli, struct daemon_jobs *others, const struct job *job,
                        const struct request *rq)
{
	cleanup(page_parts_done) struct page_parts parts = { 0 };
	cleanup(buf_done) struct buf text = { 0 };
	int status;

	if (!rq->html && !rq->markdown)
		return daemon_jobs_report(others, cli, job);
	status = rq->html ? daemon_jobs_page(others, job, &parts)
	                  : daemon_jobs_markdown(others, job, &text);
	if (status != CLI_OK)
		return status;
	return rq->html ? page_file_write(rq->html, &parts) : cli_print(&text);
}

static int show(const struct cli *cli, const struct request *rq)
{
	cleanup(job_selection_close) struct job_selection recorded = { 0 };
	cleanup(report_done) struct report report = { 0 };
	struct cli_page page;
	bool is_daemons = false;
	int status = job_selection_open(cli, &recorded);

	if (status == CLI_OK)
		status = job_selection_find(&recorded, rq->job, &report.job, &is_daemons);
	if (status == CLI_OK && is_daemons)
		return show_daemons(cli, &recorded.others, &report.job, rq);
	if (status == CLI_OK && rq->html)
		return show_page(&recorded, &report.job, rq->html);
	if (status == CLI_OK)
		status = job_selection_gather(&recorded, &report);
	if (status != CLI_OK)
		return status;
	if (rq->last_calls && !cli->json)
		return show_last_calls(cli, &report);
	verb_report_add_blocked(&report);
	if (rq->markdown)
		return show_markdown(&report);
	cli_page_begin(&page, cli);
	if (cli->json)
		report_view_json(&report, &page.json);
	else
		report_view(&report, &page.canvas);
	return cli_page_end(&page);
}

static int run(struct cli *cli, int argc, char **argv)
{
	struct request rq = { 0 };
	const struct opt opts[] = {
		{ "last-calls", 0, OPT_FLAG, &rq.last_calls, NULL,
		  "only the last system calls of processes that failed, and all of them" },
		{ "html", 0, OPT_PATH, &rq.html, "FILE",
		  "write a page with charts, which needs no other file and no network (-: stdout)" },
		{ "markdown", 0, OPT_FLAG, &rq.markdown, NULL,
		  "as Markdown, for merge requests and summaries of CI jobs" },
		CLI_COMMON_OPTS(cli),
	};
	int words;

	if (!cli_parse(cli, opts, argc, argv, &words))
		return cli->status;
	if (words > 1)
		return cli_usage(cli, "one job only; to compare two: proctor diff JOB JOB");
	if (rq.markdown + (rq.html != NULL) + (rq.last_calls || cli->json) > 1)
		return cli_usage(
			cli,
			"--html and --markdown exclude each other, and --last-calls and --json");
	rq.job = words ? argv[1] : NULL;
	return show(cli, &rq);
}

const struct verb verb_report = {
	.name = "report",
	.summary = "what a job used, sheet by sheet, and what is worth knowing about it",
	.usage = "[JOB] [--html FILE | --markdown | --last-calls | --json]",
	.about = CLI_JOB_HELP
	"\nThe right column is how far to trust a figure: exact, at least, at most, sampled or missing.\n"
	"Jobs that are not in your store are looked up with the daemon.",
	.example = "proctor report train.py --html train.html",
	.run = run,
};
