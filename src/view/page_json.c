/* SPDX-License-Identifier: MIT */
/* The data of a page: what the scripts in web/src draw. Times are seconds since the start of the run, rows of processes
 * are arrays, because there may be thousands. */
#include "view/page_json.h"

#include <math.h>

#include "view/job_view.h"
#include "view/note_view.h"

static double seconds_of(const struct report *r, uint64_t wall_ns)
{
	if (!wall_ns)
		return NAN;
	return (double)(int64_t)(wall_ns - r->job.started_ns) / 1e9;
}

static void put_seconds(struct json *j, const char *key, const struct report *r, uint64_t wall_ns)
{
	json_key(j, key);
	json_double(j, seconds_of(r, wall_ns), 3);
}

/* Bytes need no fractions, cores and percent do. */
static unsigned decimals_of(enum run_curve curve)
{
	enum run_chart chart = run_curves[curve].chart;

	return chart == RUN_CHART_CPU ? 3 : chart == RUN_CHART_GPU ? 1 : 0;
}

/* ---- curves ------------------------------------------------------------------------------------- */

enum part { PART_MEAN, PART_LOW, PART_HIGH };

static void put_values(struct json *j, const struct run_curve_set *set, enum run_curve curve,
                       const char *key, enum part part)
{
	json_open_array(j, key);
	vec_each(&set->points, p) {
		const struct run_curve_value *v = &p->values[curve];

		json_double(j,
		            part == PART_MEAN  ? v->mean
		            : part == PART_LOW ? v->low
		                               : v->high,
		            decimals_of(curve));
	}
	json_end_array(j);
}

static void put_curves(struct json *j, const struct run_curve_set *set)
{
	json_open_object(j, "curves");
	json_open_array(j, "t");
	vec_each(&set->points, p)
		json_double(j, p->at_s, 3);
	json_end_array(j);
	for (enum run_curve c = 0; c < RUN_CURVE_COUNT; c++) {
		if (!set->has[c])
			continue;
		json_open_object(j, run_curves[c].key);
		put_values(j, set, c, "v", PART_MEAN);
		if (set->is_joined) {
			put_values(j, set, c, "lo", PART_LOW);
			put_values(j, set, c, "hi", PART_HIGH);
		}
		json_end_object(j);
	}
	json_end_object(j);
}

static bool band_has(const struct run_band *band, enum run_curve c)
{
	for (size_t i = 0; i < RUN_BAND_POINTS; i++)
		if (isfinite(band->at[i][c].high))
			return true;
	return false;
}

static void put_edge(struct json *j, const struct run_band *band, enum run_curve c, const char *key,
                     bool is_high)
{
	json_open_array(j, key);
	for (size_t i = 0; i < RUN_BAND_POINTS; i++)
		json_double(j, is_high ? band->at[i][c].high : band->at[i][c].low, decimals_of(c));
	json_end_array(j);
}

static void put_band(struct json *j, const struct run_band *band)
{
	json_key(j, "band");
	if (!band->runs) {
		json_nil(j);
		return;
	}
	json_begin_object(j);
	json_put_u64(j, "runs", band->runs);
	json_key(j, "step");
	json_exact(j, band->step_s);
	for (enum run_curve c = 0; c < RUN_CURVE_COUNT; c++) {
		if (!band_has(band, c))
			continue;
		json_open_object(j, run_curves[c].key);
		put_edge(j, band, c, "lo", false);
		put_edge(j, band, c, "hi", true);
		json_end_object(j);
	}
	json_end_object(j);
}

static void put_charts(struct json *j)
{
	json_open_array(j, "charts");
	for (enum run_chart chart = 0; chart < RUN_CHART_COUNT; chart++) {
		json_begin_object(j);
		json_put_str(j, "title", run_charts[chart].title);
		json_put_str(j, "unit", run_charts[chart].unit);
		json_open_array(j, "curves");
		for (enum run_curve c = 0; c < RUN_CURVE_COUNT; c++) {
			if (run_curves[c].chart != chart)
				continue;
			json_begin_object(j);
			json_put_str(j, "key", run_curves[c].key);
			json_put_str(j, "label", run_curves[c].label);
			json_end_object(j);
		}
		json_end_array(j);
		json_end_object(j);
	}
	json_end_array(j);
}

/* ---- what happened --------------------------------------------------------------------------------- */

static void put_sheets(struct json *j, const struct report *r)
{
	json_open_array(j, "sheets");
	vec_each(&r->sheets, s) {
		json_begin_object(j);
		json_put_u64(j, "num", s->s.num);
		json_put_str(j, "label", s->s.label);
		put_seconds(j, "from", r, s->s.started_ns);
		put_seconds(j, "to", r, s->s.ended_ns);
		json_put_str(j, "result", job_view_sheet_result(&s->s).at);
		json_put_bool(j, "failed", s->s.status == JOB_FAILED);
		json_end_object(j);
	}
	json_end_array(j);
}

/* A phase is recorded when it ends. */
static void put_marks(struct json *j, const struct report *r)
{
	json_open_array(j, "marks");
	vec_each(&r->marks, m) {
		json_begin_object(j);
		json_put_str(j, "name", m->name);
		put_seconds(j, "from", r, m->wall_ns - MIN(m->took_ns, m->wall_ns));
		if (m->took_ns)
			put_seconds(j, "to", r, m->wall_ns);
		json_put_text(j, "data", m->data);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_anomalies(struct json *j, const struct report *r)
{
	json_open_array(j, "anomalies");
	vec_each(&r->anomalies, a) {
		json_begin_object(j);
		json_put_str(j, "kind", a->kind);
		json_put_str(j, "text", a->text);
		json_put_str(j, "severity", anomaly_severity_name(a->a.severity));
		put_seconds(j, "from", r, a->a.began_ns);
		put_seconds(j, "to", r, a->a.ended_ns);
		json_end_object(j);
	}
	json_end_array(j);
}

static void put_events(struct json *j, const struct report *r)
{
	json_open_array(j, "events");
	vec_each(&r->notes, n) {
		struct note_words words = note_view(r, n);

		if (n->kind == NOTE_ANOMALY)
			continue;
		json_begin_object(j);
		put_seconds(j, "from", r, n->first_ns);
		json_put_str(j, "what", words.what);
		json_put_str(j, "text", words.text);
		json_put_bool(j, "bad", words.ink == INK_BAD);
		json_put_u64(j, "count", n->count);
		json_end_object(j);
	}
	json_end_array(j);
}

/* ---- processes ----------------------------------------------------------------------------------- */

/* As the totals count them. */
static const char *outcome_of(const struct report *r, const struct page_process *p)
{
	if (failure_owner_is_passed_on(&r->failures, p->id))
		return "passed";
	if (p->signal)
		return "signal";
	if (p->has_exit_code)
		return p->exit_code ? "failed" : "ok";
	if (!p->ended_ns && r->job.status == JOB_RUNNING)
		return "lives";
	return !p->ended_ns && job_view_count(&r->job, JOB_FIGURE_LEAKED) ? "left" : "unknown";
}

static void put_figure(struct json *j, struct figure f, uint64_t unit)
{
	if (figure_is_known(f))
		json_fixed(j, f.value / unit, unit == 1 ? 0 : 6);
	else
		json_nil(j);
}

/* In the order of the keys of put_processes(). */
static void put_process(struct json *j, const struct report *r, const struct page_process *p)
{
	struct words end = job_view_exit_words(p->has_exit_code, p->exit_code, p->signal,
	                                       p->core_dumped);

	json_begin_array(j);
	json_i64(j, p->id.pid);
	json_i64(j, p->ppid);
	json_u64(j, p->sheet);
	json_u64(j, p->name);
	json_u64(j, p->command);
	json_double(j, seconds_of(r, p->started_ns), 5);
	json_double(j, seconds_of(r, p->ended_ns), 5);
	json_str(j, outcome_of(r, p));
	json_str(j, end.at);
	put_figure(j, p->cpu_time_ns, NS_PER_US);
	put_figure(j, p->peak_rss_bytes, 1);
	put_figure(j, p->read_bytes, 1);
	put_figure(j, p->written_bytes, 1);
	json_u64(j, p->cpu_time_ns.quality);
	json_u64(j, p->peak_rss_bytes.quality);
	json_u64(j, quality_join(p->read_bytes.quality, p->written_bytes.quality));
	json_end_array(j);
}

static void put_processes(struct json *j, const struct page_report *page)
{
	static const char *const keys[] = { "pid",     "ppid",       "sheet",       "name",
		                            "command", "from",       "to",          "outcome",
		                            "ended",   "cpu",        "peak",        "read",
		                            "written", "cpuQuality", "peakQuality", "ioQuality" };

	json_open_object(j, "processes");
	json_put_u64(j, "leftOut", page->left_out);
	json_open_array(j, "keys");
	for (size_t i = 0; i < ARRAY_LEN(keys); i++)
		json_str(j, keys[i]);
	json_end_array(j);
	json_open_array(j, "texts");
	for (size_t i = 0; i < page->texts.len; i++)
		json_str(j, page_report_text(page, i));
	json_end_array(j);
	json_open_array(j, "rows");
	vec_each(&page->processes, p)
		put_process(j, &page->report, p);
	json_end_array(j);
	json_end_object(j);
}

/* ---- all of it -------------------------------------------------------------------------------------- */

static void put_allowed(struct json *j, const struct job *job)
{
	json_open_object(j, "allowed");
	json_key(j, "bytes");
	if (job->allowed.memory_bytes)
		json_u64(j, job->allowed.memory_bytes);
	else
		json_nil(j);
	json_key(j, "cores");
	if (job->allowed.milli_cores)
		json_fixed(j, job->allowed.milli_cores, 3);
	else
		json_nil(j);
	json_end_object(j);
}

static void put_span(struct json *j, const char *key, uint64_t ns)
{
	json_key(j, key);
	json_fixed(j, (ns + NS_PER_MS / 2) / NS_PER_MS, 3);
}

static void put_run(struct json *j, const struct page_report *page)
{
	const struct report *r = &page->report;

	json_begin_object(j);
	json_put_str(j, "id", r->job.id);
	json_put_str(j, "type", r->job.type);
	json_put_str(j, "result", job_view_result(&r->job).at);
	put_span(j, "started", r->job.started_ns);
	put_span(j, "seconds", job_took_ns(&r->job, r->now_ns));
	put_span(j, "interval", r->job.interval_ns);
	put_allowed(j, &r->job);
	put_curves(j, &page->curves);
	put_band(j, &page->band);
	put_sheets(j, r);
	put_marks(j, r);
	put_anomalies(j, r);
	put_events(j, r);
	put_processes(j, page);
	json_end_object(j);
}

void page_json(const struct page_report *const *pages, size_t n, struct json *j)
{
	json_begin_object(j);
	json_put_u64(j, "schema", 1);
	json_open_array(j, "qualities");
	for (enum quality q = 0; q < QUALITY_COUNT; q++)
		json_str(j, quality_key(q));
	json_end_array(j);
	put_charts(j);
	json_open_array(j, "runs");
	for (size_t i = 0; i < n; i++)
		put_run(j, pages[i]);
	json_end_array(j);
	json_end_object(j);
}
