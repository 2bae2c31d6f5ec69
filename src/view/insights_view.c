/* SPDX-License-Identifier: MIT */
#include "view/insights_view.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "model/record_fields.h"
#include "view/format.h"

/* ---- one sentence ------------------------------------------------------------------------------ */

/* A phrase for such jobs: "jobs that use more than 3.1 GiB", "jobs that run for 3s or less". */
static const char *const verbs[JOB_PROPERTY_COUNT] = {
	[PROPERTY_MEMORY] = "that use %s",
	[PROPERTY_LARGEST] = "with a process of %s",
	[PROPERTY_CPU] = "that need %s of CPU time",
	[PROPERTY_DURATION] = "that run for %s",
	[PROPERTY_READ] = "that read %s",
	[PROPERTY_WRITTEN] = "that write %s",
	[PROPERTY_INPUT] = "with an input of %s",
	[PROPERTY_PROCESSES] = "with %s processes",
	[PROPERTY_SHEETS] = "with %s sheets",
	[PROPERTY_LOAD] = "that start at a load of %s",
	[PROPERTY_CALL_SHARE] = "that spend %s of their time in system calls in a single one",
};

static struct fmt format_value(enum job_property kind, double value)
{
	const enum metric_unit unit = job_properties[kind].unit;
	uint64_t number = value > 0 ? (uint64_t)llround(value) : 0;

	if (unit == UNIT_BYTES || unit == UNIT_MIB)
		return format_bytes(number);
	if (unit == UNIT_NS)
		return format_duration(number);
	if (unit == UNIT_MILLI)
		return format_milli(number, 1);
	if (unit == UNIT_PCT)
		return format_percent(value / 1000);
	return format_count((uint64_t)floor(fmax(value, 0))); /* more than 4.5 are more than 4 */
}

static void put_range(const struct insight *i, struct buf *to)
{
	const struct pattern *p = &i->pattern;
	struct fmt from = format_value(i->property.kind, p->from);
	struct fmt up_to = format_value(i->property.kind, p->to);

	if (isfinite(p->from) && isfinite(p->to))
		buf_printf(to, "between %s and %s", from.at, up_to.at);
	else if (isfinite(p->from))
		buf_printf(to, "more than %s", from.at);
	else
		buf_printf(to, "%s or less", up_to.at);
}

/* Yes or no. */
static void put_presence(const struct insight *i, struct buf *to)
{
	const char *with = isfinite(i->pattern.from) ? "with" : "without";

	if (i->property.kind == PROPERTY_TAG)
		buf_printf(to, "%s tag %s", with, i->property.name);
	else if (i->property.kind == PROPERTY_CALL)
		buf_printf(to, "%s most of their time in system calls in %s", with,
		           i->property.name);
	else
		buf_printf(to, "%s an anomaly", with);
}

static void put_which(const struct insight *i, struct buf *to)
{
	cleanup(buf_done) struct buf range = { 0 };
	const char *verb = verbs[i->property.kind], *gap = verb ? strstr(verb, "%s") : NULL;

	if (!gap) {
		put_presence(i, to);
		return;
	}
	put_range(i, &range);
	buf_put(to, verb, (size_t)(gap - verb));
	buf_puts(to, range.at);
	buf_puts(to, gap + 2);
}

static const char *anomaly_name(const char *key)
{
	for (size_t i = 0; i < ANOMALY_KIND_COUNT; i++)
		if (strcmp(anomaly_kinds[i].key, key) == 0)
			return anomaly_kinds[i].name;
	return key;
}

void insight_describe(const struct insight *i, char *to, size_t size)
{
	cleanup(buf_done) struct buf text = { 0 };
	const struct pattern *p = &i->pattern;

	if (p->type == PATTERN_ANOMALY) {
		snprintf(to, size, "%u of %u jobs of type %s had an anomaly: %s", i->inside.failed,
		         i->inside.jobs, p->job_type, anomaly_name(p->subject));
		return;
	}
	put_which(i, &text);
	snprintf(to, size,
	         "jobs of type %s %s failed %s of the time, others %s; n = %llu; q %s %.4g",
	         p->job_type, text.at, format_percent(rate_test_ratio(i->inside)).at,
	         format_percent(rate_test_ratio(i->outside)).at, (unsigned long long)p->support,
	         p->q <= 1.0 / (CORRELATION_PERMUTATIONS + 1) ? "<=" : "=", p->q);
}

/* ---- the page ---------------------------------------------------------------------------------- */

static const char *plural(size_t n)
{
	return n == 1 ? "" : "s";
}

static void put_insight(const struct insight *i, struct canvas *to)
{
	char text[PATTERN_DESCRIPTION_MAX];
	const struct pattern *p = &i->pattern;

	insight_describe(i, text, sizeof text);
	canvas_text(to, INK_STRONG, text, strlen(text), SIZE_MAX);
	canvas_newline(to);
	if (p->type == PATTERN_ANOMALY)
		return;
	canvas_printf(to, INK_QUIET,
	              "  difference %+.0f points, 95 %% interval %+.0f to %+.0f; confidence %.2f",
	              p->effect * 100, p->low * 100, p->high * 100, p->confidence);
	canvas_newline(to);
}

/* How many jobs there were, and what is missing. */
static void put_basis(const struct insights *in, uint64_t now_ns, struct canvas *to)
{
	canvas_printf(to, INK_PLAIN, "%s of %s finished job%s of %s of %s type%s since %s analysed",
	              format_count(in->judged_jobs).at, format_count(in->jobs).at, plural(in->jobs),
	              format_count(in->judged_types).at, format_count(in->types.len).at,
	              plural(in->types.len), format_when(in->since_ns, now_ns).at);
	canvas_newline(to);
	if (!in->jobs) {
		canvas_put(to, INK_QUIET, "  go further back with --since, e.g. --since 90d");
		canvas_newline(to);
	}
	if (in->small_types) {
		canvas_printf(
			to, INK_QUIET,
			"  %zu type%s with fewer than %zu jobs ([correlation] min_sample_size)",
			in->small_types, plural(in->small_types), in->min_jobs);
		canvas_newline(to);
	}
	if (in->even_types) {
		canvas_printf(to, INK_QUIET, "  %zu type%s whose jobs all ended alike",
		              in->even_types, plural(in->even_types));
		canvas_newline(to);
	}
	if (in->dropped) {
		canvas_printf(to, INK_QUIET, "  %s older jobs left out: at most %d of a type",
		              format_count(in->dropped).at, CORRELATION_JOBS_MAX);
		canvas_newline(to);
	}
}

void insights_view(const struct insights *in, uint64_t now_ns, struct canvas *to)
{
	size_t correlations = 0;

	vec_each(&in->list, i) {
		correlations += i->pattern.type == PATTERN_CORRELATION;
		put_insight(i, to);
	}
	if (!correlations) {
		canvas_put(to, INK_PLAIN, "nothing found that goes with failure");
		canvas_newline(to);
	}
	put_basis(in, now_ns, to);
}

/* ---- the document ------------------------------------------------------------------------------ */

static void put_number(struct json *j, const char *key, double value)
{
	json_key(j, key);
	json_exact(j, value);
}

static void put_pattern(const struct insight *i, struct json *j)
{
	char text[PATTERN_DESCRIPTION_MAX];
	const struct pattern *p = &i->pattern;

	insight_describe(i, text, sizeof text);
	json_begin_object(j);
	json_put_str(j, "type", pattern_type_name(p->type));
	json_put_str(j, "job_type", p->job_type);
	json_put_u64(j, "uid", p->uid);
	json_put_str(j, "subject", p->subject);
	json_put_str(j, "description", text);
	json_put_double(j, "confidence", p->confidence, 3);
	json_put_u64(j, "support", p->support);
	put_number(j, "from", p->from);
	put_number(j, "to", p->to);
	put_number(j, "p", p->p);
	put_number(j, "q", p->q);
	json_put_double(j, "effect", p->effect, 4);
	json_key(j, "interval");
	if (isfinite(p->low)) {
		json_begin_array(j);
		json_double(j, p->low, 4);
		json_double(j, p->high, 4);
		json_end_array(j);
	} else {
		json_nil(j);
	}
	json_put_double(j, "first_seen", (double)p->first_seen_ns / 1e9, 3);
	json_put_double(j, "last_seen", (double)p->last_seen_ns / 1e9, 3);
	json_end_object(j);
}

void insights_view_json(const struct insights *in, struct json *j)
{
	json_begin_object(j);
	json_put_u64(j, "schema", RECORD_SCHEMA);
	json_put_double(j, "since", (double)in->since_ns / 1e9, 3);
	json_put_u64(j, "jobs", in->jobs);
	json_put_u64(j, "job_types", in->types.len);
	json_put_u64(j, "analysed_jobs", in->judged_jobs);
	json_put_u64(j, "analysed_types", in->judged_types);
	json_put_u64(j, "types_too_small", in->small_types);
	json_put_u64(j, "types_without_both_outcomes", in->even_types);
	json_put_u64(j, "jobs_left_out", in->dropped);
	json_put_u64(j, "min_sample_size", in->min_jobs);
	json_open_array(j, "patterns");
	vec_each(&in->list, i)
		put_pattern(i, j);
	json_end_array(j);
	json_end_object(j);
}
