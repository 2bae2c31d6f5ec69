/* SPDX-License-Identifier: MIT */
#include "view/stats_view.h"

#include "model/field.h"
#include "view/format.h"
#include "view/job_view.h"

static const struct {
	const char *label, *key;
	enum metric_unit unit;
} rows[TYPE_FIGURES] = {
	[TYPE_TIME] = { "time", "duration_seconds", UNIT_NS },
	[TYPE_CPU] = { "CPU", "cpu_seconds", UNIT_NS },
	[TYPE_MEMORY] = { "memory used", "memory_mb", UNIT_MIB },
};

static const struct {
	const char *key;
	unsigned percent; /* 50: the median */
} columns_of_figures[] = { { "median", 50 }, { "p95", 95 }, { "max", 100 } };

static struct figure figure_at(const struct figure_set *set, size_t column)
{
	unsigned percent = columns_of_figures[column].percent;

	return percent == 50 ? figure_set_median(set) : figure_set_percentile(set, percent);
}

static bool is_all_largest(const struct type_stats *t)
{
	return t->largest && t->largest == t->figures[TYPE_MEMORY].known.len;
}

/* Notes on what the figures of a row leave out, or replace. */
static void add_note(struct table *table, const struct type_stats *t, enum type_figure row)
{
	cleanup(buf_done) struct buf text = { 0 };

	if (row == TYPE_TIME) {
		format_put_count(&text, t->running, "running");
		format_put_count(&text, t->lost, "lost");
	}
	format_put_count(&text, t->figures[row].missing, "not known");
	if (row == TYPE_MEMORY && !is_all_largest(t))
		format_put_count(&text, t->largest, "by largest process");
	table_addn(table, text.at, text.len, INK_QUIET);
}

static void add_type(struct table *table, const struct type_stats *t, bool unicode)
{
	for (int row = 0; row < TYPE_FIGURES; row++) {
		bool is_first = row == 0;
		bool is_largest = row == TYPE_MEMORY && is_all_largest(t);

		table_add(table, is_first ? t->type : "", INK_PLAIN);
		table_add(table, is_first ? format_count(t->jobs).at : "", INK_PLAIN);
		table_add(table, is_first ? format_count(t->failed).at : "",
		          t->failed ? INK_BAD : INK_PLAIN);
		table_add(table, is_largest ? "largest process" : rows[row].label, INK_PLAIN);
		for (size_t i = 0; i < ARRAY_LEN(columns_of_figures); i++)
			job_view_add_figure(table, figure_at(&t->figures[row], i), rows[row].unit,
			                    unicode);
		add_note(table, t, (enum type_figure)row);
	}
}

void stats_view(const struct all_type_stats *all, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "TYPE", TABLE_LEFT, .min_width = 8 },
		{ "JOBS", TABLE_RIGHT, 1 },
		{ "FAILED", TABLE_RIGHT, 2 },
		{ "", TABLE_LEFT, .min_width = 13 },
		{ "MEDIAN", TABLE_RIGHT },
		{ "P95", TABLE_RIGHT, 3 },
		{ "MAX", TABLE_RIGHT },
		{ "", TABLE_LEFT, 4, .min_width = 12, .wraps = true },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	vec_each(&all->types, type)
		add_type(&t, type, to->unicode);
	table_print(&t, to);
	table_done(&t);
	if (all->dropped)
		canvas_printf(to, INK_WARN, "and %s jobs of other types\n",
		              format_count(all->dropped).at);
}

static void set_json(const struct figure_set *set, const char *key, enum metric_unit unit,
                     struct json *j)
{
	json_open_object(j, key);
	json_put_u64(j, "jobs", set->known.len);
	for (size_t i = 0; i < ARRAY_LEN(columns_of_figures); i++) {
		json_key(j, columns_of_figures[i].key);
		field_figure_json(j, unit, figure_at(set, i));
	}
	json_open_object(j, "quality");
	for (size_t i = 0; i < ARRAY_LEN(columns_of_figures); i++)
		json_put_str(j, columns_of_figures[i].key, quality_key(figure_at(set, i).quality));
	json_end_object(j);
	json_end_object(j);
}

void stats_view_json(const struct all_type_stats *all, struct json *j)
{
	json_open_array(j, "types");
	vec_each(&all->types, t) {
		json_begin_object(j);
		json_put_str(j, "job_type", t->type);
		json_put_u64(j, "jobs", t->jobs);
		json_put_u64(j, "failed", t->failed);
		json_put_u64(j, "running", t->running);
		json_put_u64(j, "lost", t->lost);
		for (int row = 0; row < TYPE_FIGURES; row++)
			set_json(&t->figures[row], rows[row].key, rows[row].unit, j);
		json_put_u64(j, "memory_by_largest_process", t->largest);
		json_end_object(j);
	}
	json_end_array(j);
	json_put_u64(j, "jobs_of_other_types", all->dropped);
}
