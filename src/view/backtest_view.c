/* SPDX-License-Identifier: MIT */
#include "view/backtest_view.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "view/format.h"
#include "view/table.h"

#define TYPES_SHOWN 20

static void add_number(struct table *t, double value, unsigned decimals, enum ink ink)
{
	char text[32];

	snprintf(text, sizeof text, "%.*f", (int)decimals, value);
	table_add_figure(t, isfinite(value) ? text : "-", ink);
}

static unsigned decimals_of(double gbh)
{
	return gbh < 10 ? 3 : gbh < 1000 ? 1 : 0;
}

static void add_waste(struct table *t, double byte_seconds, enum ink ink)
{
	double gbh = backtest_gbh(byte_seconds);

	add_number(t, gbh, decimals_of(gbh), ink);
}

static void put_rules(const struct backtest *b, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "RULE", TABLE_LEFT },
		{ "GB·h WASTED", TABLE_RIGHT },
		{ "FAILED %", TABLE_RIGHT },
		{ "COVERED %", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	for (unsigned i = 0; i < BACKTEST_RULES; i++) {
		enum ink ink = i == BACKTEST_OURS ? INK_STRONG : INK_PLAIN;

		table_add(&t, backtest_rule_name(i), ink);
		add_waste(&t, b->total.rules[i].waste, ink);
		add_number(&t, backtest_failed_pct(&b->total, i), 2, ink);
		add_number(&t, i == BACKTEST_OURS ? backtest_coverage_pct(&b->total) : NAN, 1, ink);
	}
	table_print(&t, to);
	table_done(&t);
}

static int by_waste(const void *left, const void *right)
{
	const struct backtest_type *const *a = left, *const *b = right;
	double wa = (*a)->sums.rules[BACKTEST_OURS].waste,
	       wb = (*b)->sums.rules[BACKTEST_OURS].waste;

	return wa > wb ? -1 : wa < wb;
}

/* The types that waste most, first. */
static void put_types(const struct backtest *b, struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "TYPE", TABLE_LEFT, .min_width = 8 }, { "RUNS", TABLE_RIGHT },
		{ "GB·h WASTED", TABLE_RIGHT },         { "FAILED %", TABLE_RIGHT },
		{ "COVERED %", TABLE_RIGHT },           { "PRESETS", TABLE_RIGHT, 2 },
		{ "LEADER", TABLE_RIGHT, 1 },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };
	VEC(struct backtest_type *) sorted = { 0 };

	vec_copy(&sorted, &b->types);
	if (sorted.len)
		qsort(sorted.at, sorted.len, sizeof *sorted.at, by_waste);
	for (size_t i = 0; i < MIN(sorted.len, (size_t)TYPES_SHOWN); i++) {
		const struct backtest_type *type = sorted.at[i];
		const struct backtest_sums *s = &type->sums;
		char name[JOB_ID_MAX + 16];

		snprintf(name, sizeof name, type->sheet ? "%s/%u" : "%s", type->type, type->sheet);
		table_add(&t, name, INK_PLAIN);
		table_add(&t, format_count(s->runs).at, INK_PLAIN);
		add_waste(&t, s->rules[BACKTEST_OURS].waste, INK_PLAIN);
		add_number(&t, backtest_failed_pct(s, BACKTEST_OURS), 1, INK_PLAIN);
		add_number(&t, backtest_coverage_pct(s), 1, INK_PLAIN);
		add_waste(&t, s->rules[BACKTEST_PRESETS].waste, INK_PLAIN);
		add_waste(&t, s->rules[BACKTEST_BASELINES + BASELINE_LEADER_INPUT].waste,
		          INK_PLAIN);
	}
	table_print_section(&t, "by type", sorted.len, "type", to);
	vec_done(&sorted);
}

void backtest_view(const struct backtest *b, struct canvas *to)
{
	canvas_printf(to, INK_PLAIN, "%s runs of %s %s, policy %s\n\n",
	              format_count(b->total.runs).at, format_count(b->types.len).at,
	              b->types.len == 1 ? "type" : "types",
	              b->experience.policy == PEAK_LOW_WASTE ? "low-waste" : "low-failure");
	put_rules(b, to);
	put_types(b, to);
	if (b->dropped)
		canvas_printf(to, INK_WARN, "and %s runs of other types, which were left out\n",
		              format_count(b->dropped).at);
}

static void score_json(const struct backtest_sums *s, unsigned rule, struct json *j)
{
	json_put_double(j, "gbh_wasted", backtest_gbh(s->rules[rule].waste), 4);
	json_put_double(j, "failed_attempts_pct", backtest_failed_pct(s, rule), 3);
}

static void sums_json(const struct backtest_sums *s, struct json *j)
{
	json_put_u64(j, "runs", s->runs);
	score_json(s, BACKTEST_OURS, j);
	json_put_double(j, "coverage_95_pct", backtest_coverage_pct(s), 2);
}

static void baselines_json(const struct backtest_sums *s, struct json *j)
{
	json_open_object(j, "baselines");
	for (unsigned i = BACKTEST_PRESETS; i < BACKTEST_RULES; i++) {
		json_open_object(j, backtest_rule_name(i));
		score_json(s, i, j);
		json_end_object(j);
	}
	json_end_object(j);
}

void backtest_view_json(const struct backtest *b, struct json *j)
{
	json_put_str(j, "policy",
	             b->experience.policy == PEAK_LOW_WASTE ? "low-waste" : "low-failure");
	json_open_object(j, "total");
	sums_json(&b->total, j);
	json_end_object(j);
	json_open_array(j, "types");
	vec_each(&b->types, t) {
		json_begin_object(j);
		json_put_str(j, "job_type", (*t)->type);
		json_key(j, "sheet");
		if ((*t)->sheet)
			json_u64(j, (*t)->sheet);
		else
			json_nil(j);
		json_put_str(j, "basis", past_run_basis_name((*t)->basis));
		sums_json(&(*t)->sums, j);
		baselines_json(&(*t)->sums, j);
		json_end_object(j);
	}
	json_end_array(j);
	baselines_json(&b->total, j);
	json_put_u64(j, "runs_of_other_types", b->dropped);
}
