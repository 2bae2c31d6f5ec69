/* SPDX-License-Identifier: MIT */
#include "view/page_view.h"

#include <math.h>
#include <string.h>

#include "view/canvas_page.h"
#include "view/format.h"
#include "view/html.h"
#include "view/job_view.h"
#include "view/label_lines.h"
#include "view/page_gauges.h"
#include "view/page_json.h"
#include "view/report_view.h"

#define PAGE_MAX ((size_t)256 << 20)

static void put_text(struct buf *to, const char *text)
{
	html_put_text(to, text, strlen(text));
}

/* ---- curves without scripts ------------------------------------------------------------------------ */

#define PICTURE_WIDTH 720
#define PICTURE_HEIGHT 90

static double most_of(const struct run_curve_set *set, enum run_curve c)
{
	double most = NAN;

	vec_each(&set->points, p)
		most = fmax(most, p->values[c].high);
	return most;
}

/* In steps, because a value holds until the next; broken where nothing is known. */
static void put_path(struct buf *to, const struct run_curve_set *set, enum run_curve c,
                     double took_s, double most)
{
	bool is_down = false;

	buf_puts(to, "<path fill=\"none\" stroke=\"currentColor\" vector-effect=\"non-scaling-stroke\" d=\"");
	vec_each(&set->points, p) {
		double x = PICTURE_WIDTH * fmin(p->at_s / took_s, 1);
		double y = PICTURE_HEIGHT * (1 - p->values[c].mean / most);

		if (is_down)
			buf_printf(to, "H%.1f", x);
		if (isfinite(y))
			buf_printf(to, "%c%.1f %.1f", is_down ? 'L' : 'M', x, y);
		is_down = isfinite(y);
	}
	if (is_down)
		buf_printf(to, "H%d", PICTURE_WIDTH);
	buf_puts(to, "\"/>");
}

static void put_picture(struct buf *to, const struct page_report *page, enum run_curve c)
{
	const struct run_chart_info *chart = &run_charts[run_curves[c].chart];
	uint64_t took_ns = job_took_ns(&page->report.job, page->report.now_ns);
	double most = most_of(&page->curves, c);
	bool is_bytes = run_curves[c].chart == RUN_CHART_MEMORY;

	if (!(most > 0) || !took_ns)
		return;
	buf_printf(
		to,
		"<figure class=\"static\"><figcaption>%s, %s: at most %s%s%s, over %s</figcaption>",
		chart->title, run_curves[c].label,
		is_bytes ? format_bytes((uint64_t)most).at
			 : format_milli((uint64_t)(most * 1000), 1).at,
		is_bytes ? "" : " ", is_bytes ? "" : chart->unit, format_duration(took_ns).at);
	buf_printf(
		to,
		"<svg viewBox=\"0 -2 %d %d\" preserveAspectRatio=\"none\" role=\"img\" aria-label=\"%s\">",
		PICTURE_WIDTH, PICTURE_HEIGHT + 4, chart->title);
	put_path(to, &page->curves, c, (double)took_ns / 1e9, most);
	buf_puts(to, "</svg></figure>\n");
}

/* ---- environment and legend -------------------------------------------------------------------------- */

static void put_allowed(struct label_lines *f, const struct job *job)
{
	const struct allowance *a = &job->allowed;

	label_lines_begin(f, "allowed", "");
	if (a->memory_bytes)
		label_lines_comma(f, "%s of memory%s%s%s", format_bytes(a->memory_bytes).at,
		                  *a->memory_source ? " (" : "", a->memory_source,
		                  *a->memory_source ? ")" : "");
	if (a->milli_cores)
		label_lines_comma(f, "%s cores", format_milli(a->milli_cores, 1).at);
	if (a->time_ns)
		label_lines_comma(f, "%s", format_duration(a->time_ns).at);
	label_lines_unless_any(f, "not known");
}

static void put_environment(const struct report *r, struct canvas *to)
{
	struct label_lines f = { .indent = 2, .label_columns = 13 };

	canvas_title(to, "Environment");
	label_lines_begin(&f, "host", "");
	label_lines_part(&f, "%s", *r->host ? r->host : "not known");
	if (r->cpus)
		label_lines_comma(&f, "%u CPUs", r->cpus);
	label_lines_begin(&f, "user", "");
	label_lines_part(&f, "%s", *r->user ? r->user : "not known");
	label_lines_join(&f, LABEL_WORD, "(uid %u)", r->job.uid);
	put_allowed(&f, &r->job);
	label_lines_begin(&f, "sampled", "");
	if (r->job.interval_ns)
		label_lines_part(&f, "every %s", format_duration(r->job.interval_ns).at);
	label_lines_unless_any(&f, "not known");
	label_lines_begin(&f, "watched by", "");
	label_lines_part(&f, "%s", *r->job.tier ? r->job.tier : "not known");
	label_lines_begin(&f, "written by", "");
	label_lines_part(&f, "proctor " PROCTOR_VERSION);
	label_lines_join(&f, LABEL_WORD, "at %s", format_time(r->now_ns).at);
	label_lines_print(&f, to);
	label_lines_done(&f);
}

static void put_legend(struct canvas *to)
{
	static const struct {
		const char *mark, *meaning;
	} marks[] = {
		{ "no mark", "exact: counted by the kernel" },
		{ "~", "sampled: read at intervals; what was in between is not known" },
		{ "≥", "at least: a lower bound" },
		{ "≤", "at most: an upper bound" },
		{ "-", "missing: not known, which is not zero" },
	};
	struct label_lines f = { .indent = 2, .label_columns = 13 };

	canvas_title(to, "How far to trust a figure");
	for (size_t i = 0; i < ARRAY_LEN(marks); i++) {
		label_lines_begin(&f, marks[i].mark, "");
		label_lines_part(&f, "%s", marks[i].meaning);
	}
	label_lines_print(&f, to);
	label_lines_done(&f);
}

/* ---- the page --------------------------------------------------------------------------------------- */

/* The template up to the place, and where it goes on; NULL: there is no such place. */
static const char *put_up_to(struct buf *to, const char *template, const char *place)
{
	const char *at = strstr(template, place);

	if (!at)
		return NULL;
	buf_put(to, template, (size_t)(at - template));
	return at + strlen(place);
}

static void put_data(struct buf *to, const struct page_report *const *pages, size_t n)
{
	cleanup(buf_done) struct buf text = { .max = PAGE_MAX };
	struct json j = { .out = &text };

	page_json(pages, n, &j);
	html_put_json(to, text.at, text.len);
}

bool page_view_fill(const char *template, const struct page_parts *parts, struct buf *to)
{
	const char *rest;

	to->max = PAGE_MAX;
	rest = put_up_to(to, template, PAGE_TITLE_PLACE);
	if (!rest)
		return false;
	html_put_text(to, parts->title.at, parts->title.len);
	rest = put_up_to(to, rest, PAGE_BODY_PLACE);
	if (!rest)
		return false;
	buf_put(to, parts->body.at, parts->body.len);
	rest = put_up_to(to, rest, PAGE_DATA_PLACE);
	if (!rest)
		return false;
	buf_put(to, parts->data.at, parts->data.len);
	buf_puts(to, rest);
	return true;
}

void page_parts_done(struct page_parts *parts)
{
	buf_done(&parts->title);
	buf_done(&parts->body);
	buf_done(&parts->data);
}

/* Where the scripts put the table of all processes, unless it takes the place of the most costly ones. */
#define PROCESSES "<section id=\"processes\"></section>\n"

static void put_band_error(struct buf *to, const struct err *why)
{
	if (!why->code)
		return;
	buf_puts(to, "<p class=\"line quiet\">earlier runs are left out: ");
	put_text(to, why->msg);
	buf_puts(to, "</p>\n");
}

/* Where they draw. */
static void put_charts(struct buf *to, const struct page_report *const *pages, size_t n)
{
	buf_puts(to, "<section id=\"charts\"><h2>Over time</h2>\n");
	for (size_t i = 0; i < n; i++) {
		put_picture(to, pages[i], RUN_CURVE_USED);
		put_picture(to, pages[i], RUN_CURVE_CPU);
		if (!pages[i]->curves.points.len)
			buf_puts(
				to,
				"<p class=\"line quiet\">too short for curves: there are fewer than two samples</p>\n");
		put_band_error(to, &pages[i]->band_error);
	}
	buf_puts(
		to,
		"<noscript><p class=\"line quiet\">Charts that can be zoomed, the timeline of processes and the table of all"
		" of them need JavaScript, which is included in this page.</p></noscript></section>\n");
}

/* The outcome at a glance. */
static void put_badge(struct buf *to, const struct job *job)
{
	static const struct {
		const char *class, *word;
	} badges[JOB_STATUS_COUNT] = {
		[JOB_RUNNING] = { "quiet", "running" },
		[JOB_COMPLETED] = { "good", "ok" },
		[JOB_FAILED] = { "bad", "failed" },
		[JOB_LOST] = { "warn", "lost" },
	};

	buf_printf(to, "<p class=\"badge %s\">%s</p>\n", badges[job->status].class,
	           badges[job->status].word);
}

void page_view(const struct page_report *page, const struct verdict *v, struct page_parts *ret)
{
	struct canvas_page at = { .out = &ret->body };
	struct canvas *canvas = CANVAS_PAGE(canvas_html, &at);

	ret->body.max = ret->data.max = PAGE_MAX;
	put_badge(&ret->body, &page->report.job);
	report_view_verdict(&page->report, v, canvas);
	if (report_has_data(&page->report))
		page_gauges(&page->report, &ret->body);
	report_view_totals(&page->report, canvas);
	if (report_has_data(&page->report))
		put_charts(&ret->body, &page, 1);
	report_view_details(&page->report, canvas);
	buf_puts(&ret->body, PROCESSES);
	put_environment(&page->report, canvas);
	put_legend(canvas);
	buf_printf(&ret->title, "%s: %s", page->report.job.id,
	           job_view_result(&page->report.job).at);
	put_data(&ret->data, &page, 1);
}

void page_view_diff(const struct diff_input *in, const struct page_report *const pages[static 2],
                    struct page_parts *ret)
{
	struct canvas_page at = { .out = &ret->body };
	struct canvas *canvas = CANVAS_PAGE(canvas_html, &at);
	size_t first = in->runs ? 1
	                        : 0; /* a median has no curves: the band of these runs shows them */

	ret->body.max = ret->data.max = PAGE_MAX;
	buf_puts(&ret->body, "<h1>A ");
	put_text(&ret->body, in->a->job.id);
	buf_puts(&ret->body, " → B ");
	put_text(&ret->body, in->b->job.id);
	buf_puts(&ret->body, "</h1>\n");
	diff_view(in, canvas);
	put_charts(&ret->body, pages + first, 2 - first);
	buf_puts(&ret->body, PROCESSES);
	put_legend(canvas);
	buf_printf(&ret->title, "%s → %s", in->a->job.id, in->b->job.id);
	put_data(&ret->data, pages + first, 2 - first);
}
