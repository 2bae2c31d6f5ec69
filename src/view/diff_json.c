/* SPDX-License-Identifier: MIT */
#include <math.h>

#include "model/record_fields.h"
#include "report/diff_report.h"
#include "view/diff_view.h"
#include "view/job_view.h"

static void put_value(struct json *j, const char *key, enum metric_unit unit, struct figure figure)
{
	json_key(j, key);
	figure_json(j, unit, figure);
}

static void put_pair(struct json *j, const char *key, enum metric_unit unit, struct diff_pair pair)
{
	json_key(j, key);
	json_begin_object(j);
	put_value(j, "a", unit, pair.a);
	put_value(j, "b", unit, pair.b);
	json_key(j, "ratio");
	json_double(j, diff_ratio(pair), 4);
	json_key(j, "ratio_is");
	json_str(j, isfinite(diff_ratio(pair)) ? diff_bound_key(diff_bound(pair)) : NULL);
	json_key(j, "quality");
	json_begin_array(j);
	json_str(j, quality_key(pair.a.quality));
	json_str(j, quality_key(pair.b.quality));
	json_end_array(j);
	json_end_object(j);
}

static void put_job(struct json *j, const char *key, const struct report *r)
{
	json_key(j, key);
	json_begin_object(j);
	json_key(j, "job_id");
	json_str(j, r->job.id);
	json_key(j, "job_type");
	json_str(j, r->job.type);
	json_key(j, "outcome");
	json_str(j, job_outcome(&r->job));
	json_key(j, "result");
	json_str(j, job_result(&r->job).at);
	json_key(j, "started_at");
	metric_json(j, UNIT_NS, r->job.started_ns);
	json_end_object(j);
}

static void put_status(struct json *j, const char *key, const struct sheet_record *s)
{
	json_key(j, key);
	json_str(j, s ? job_status_name(s->s.status) : NULL);
}

static void put_sheet(struct json *j, const struct sheet_record *a, const struct sheet_record *b)
{
	const struct figure none = { 0 };

	json_begin_object(j);
	json_key(j, "sheet_num");
	json_u64(j, (a ? a : b)->s.num);
	put_status(j, "status_a", a);
	put_status(j, "status_b", b);
	put_pair(j, "duration_seconds", UNIT_NS,
	         (struct diff_pair){ diff_sheet_took(a), diff_sheet_took(b) });
	put_pair(j, "cpu_seconds", UNIT_NS,
	         (struct diff_pair){ a ? a->cpu_time_ns : none, b ? b->cpu_time_ns : none });
	put_pair(j, "peak_rss_mb", UNIT_MIB,
	         (struct diff_pair){ a ? a->peak_rss_bytes : none, b ? b->peak_rss_bytes : none });
	json_end_object(j);
}

static void put_sheets(const struct report *a, const struct report *b, struct json *j)
{
	json_key(j, "sheets");
	json_begin_array(j);
	vec_each(&a->sheets, s)
		put_sheet(j, s, diff_find_sheet(b, s->s.num));
	vec_each(&b->sheets, s)
		if (!diff_find_sheet(a, s->s.num))
			put_sheet(j, NULL, s);
	json_end_array(j);
}

static struct figure count_of(const struct report_program *p)
{
	return (struct figure){ .value = p ? p->processes : 0, .quality = QUALITY_EXACT };
}

static void put_programs(const struct report *a, const struct report *b, struct json *j)
{
	const struct figure none = { 0 };
	struct diff_programs programs = { 0 };

	diff_match_programs(a, b, &programs);
	json_key(j, "programs");
	json_begin_array(j);
	vec_each(&programs.list, p) {
		json_begin_object(j);
		json_key(j, "name");
		json_str(j, (p->a ? p->a : p->b)->name);
		put_pair(j, "processes", UNIT_COUNT,
		         (struct diff_pair){ count_of(p->a), count_of(p->b) });
		put_pair(j, "cpu_seconds", UNIT_NS,
		         (struct diff_pair){ p->a ? p->a->cpu_time_ns : none,
		                             p->b ? p->b->cpu_time_ns : none });
		json_end_object(j);
	}
	json_end_array(j);
	vec_done(&programs.list);
}

void diff_json(const struct report *a, const struct report *b, struct json *j)
{
	json_begin_object(j);
	json_key(j, "schema");
	json_u64(j, RECORD_SCHEMA);
	put_job(j, "a", a);
	put_job(j, "b", b);
	json_key(j, "figures");
	json_begin_object(j);
	put_pair(j, "duration_seconds", UNIT_NS, (struct diff_pair){ diff_took(a), diff_took(b) });
	for (size_t i = 0; i < JOB_FIGURE_COUNT; i++)
		put_pair(j, job_figures[i].key, job_figures[i].unit,
		         (struct diff_pair){ a->job.figures[i], b->job.figures[i] });
	json_end_object(j);
	put_sheets(a, b, j);
	put_programs(a, b, j);
	json_end_object(j);
}
