/* SPDX-License-Identifier: MIT */
#include "view/estimate_view.h"

#include <math.h>

#include "base/clock.h"
#include "view/format.h"
#include "view/table.h"

#define MIB 1048576.0

/* Requests are whole MiB and minutes, never less than what is estimated. */
static uint64_t request_mib(const struct type_estimate *e)
{
	return (uint64_t)MAX(ceil(e->memory.value / MIB), 1);
}

static uint64_t request_minutes(const struct type_estimate *e)
{
	return (uint64_t)MAX(ceil(e->time.upper / 60e9), 1);
}

static void put_slurm(struct buf *to, unsigned long long mib, unsigned long long minutes)
{
	buf_printf(to, "--mem=%lluM", mib);
	if (minutes)
		buf_printf(to, " --time=%llu", minutes);
}

static void put_systemd(struct buf *to, unsigned long long mib, unsigned long long minutes)
{
	buf_printf(to, "-p MemoryMax=%lluM", mib);
	if (minutes)
		buf_printf(to, " -p RuntimeMaxSec=%llu", 60 * minutes);
}

static void put_snakemake(struct buf *to, unsigned long long mib, unsigned long long minutes)
{
	buf_printf(to, "mem_mb=%llu", mib);
	if (minutes)
		buf_printf(to, ", runtime=%llu", minutes);
}

static void put_nextflow(struct buf *to, unsigned long long mib, unsigned long long minutes)
{
	buf_printf(to, "memory = '%llu MB'", mib);
	if (minutes)
		buf_printf(to, "\ntime = '%llu min'", minutes);
}

void estimate_put_request(const struct type_estimate *e, enum estimate_syntax syntax,
                          struct buf *to)
{
	static void (*const put[ESTIMATE_SYNTAXES])(struct buf *, unsigned long long,
	                                            unsigned long long) = {
		[ESTIMATE_SLURM] = put_slurm,
		[ESTIMATE_SYSTEMD] = put_systemd,
		[ESTIMATE_SNAKEMAKE] = put_snakemake,
		[ESTIMATE_NEXTFLOW] = put_nextflow,
	};

	put[syntax](to, request_mib(e), e->time.runs ? request_minutes(e) : 0);
	buf_putc(to, '\n');
}

/* ---- for people ---- */

static struct fmt format_part(double value, bool is_memory)
{
	return is_memory ? format_bytes((uint64_t)value) : format_duration((uint64_t)value);
}

static void add_part(struct table *t, const char *name, const struct estimate_part *p,
                     bool is_memory)
{
	bool is_known = p->runs > 0;

	table_add(t, name, INK_PLAIN);
	table_add_figure(t, is_known ? format_part(p->value, is_memory).at : "-", INK_STRONG);
	table_add_figure(t, is_known ? format_part(p->upper, is_memory).at : "-", INK_PLAIN);
	for (size_t i = 0; i < ESTIMATE_QUANTILES; i++)
		if (estimate_quantiles[i].share == 0.5 || estimate_quantiles[i].share == 1)
			table_add_figure(
				t, is_known ? format_part(p->quantiles[i], is_memory).at : "-",
				INK_PLAIN);
	table_add(t, format_count(p->runs).at, INK_PLAIN);
}

static const char *policy_name(enum peak_policy policy)
{
	return policy == PEAK_LOW_WASTE ? "low-waste" : "low-failure";
}

static void put_notes(const struct estimate_query *query, const struct type_estimate *e,
                      struct canvas *to)
{
	if (e->basis == RUN_BASIS_PROCESS)
		canvas_put(to, INK_WARN,
		           "memory is that of the largest process: the whole job may need more\n");
	if (e->raised != RAISED_NOTHING)
		canvas_printf(to, INK_PLAIN,
		              "attempt %u: more %s, because the last one ended with %s\n",
		              query->attempt, e->raised == RAISED_MEMORY ? "memory" : "time",
		              query->last_exit);
	if (e->other_shapes)
		canvas_printf(to, INK_QUIET,
		              "left out, because their options differ from the latest run's: %s\n",
		              format_count(e->other_shapes).at);
	if (e->failed)
		canvas_printf(to, INK_QUIET, "left out, because they failed: %s\n",
		              format_count(e->failed).at);
}

void estimate_view(const struct estimate_query *query, const struct type_estimate *e,
                   struct canvas *to)
{
	static const struct table_column columns[] = {
		{ "", TABLE_LEFT },
		{ "ESTIMATE", TABLE_RIGHT },
		{ "95 % BELOW", TABLE_RIGHT },
		{ "MEDIAN", TABLE_RIGHT, 1 },
		{ "MAX", TABLE_RIGHT },
		{ "RUNS", TABLE_RIGHT },
	};
	struct table t = { .columns = columns, .n_columns = ARRAY_LEN(columns) };

	canvas_printf(to, INK_PLAIN, "the next run of %s, from %s earlier %s (%s)\n\n", query->type,
	              format_count(e->runs).at, e->runs == 1 ? "run" : "runs",
	              policy_name(query->policy));
	add_part(&t, "memory", &e->memory, true);
	add_part(&t, "time", &e->time, false);
	add_part(&t, "CPU", &e->cpu, false);
	table_print(&t, to);
	table_done(&t);
	canvas_printf(to, INK_PLAIN,
	              "\nconfidence %.2f that this memory is enough; best rule so far: %s × %.2f\n",
	              e->confidence, peak_center_name(e->rule.center), e->rule.margin);
	put_notes(query, e, to);
}

/* ---- JSON ---- */

static void number_json(struct json *j, const char *key, bool is_known, double value, double unit)
{
	json_put_double(j, key, is_known ? value / unit : NAN, 3);
}

static const struct {
	const char *key;
	size_t at;
	double unit;
} parts[] = {
	{ "peak_memory_mb", offsetof(struct type_estimate, memory), MIB },
	{ "cpu_seconds", offsetof(struct type_estimate, cpu), 1e9 },
	{ "duration_seconds", offsetof(struct type_estimate, time), 1e9 },
};

static const struct estimate_part *part_of(const struct type_estimate *e, size_t i)
{
	return (const struct estimate_part *)((const char *)e + parts[i].at);
}

static void quantiles_json(const struct type_estimate *e, struct json *j)
{
	json_open_object(j, "quantiles");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
		const struct estimate_part *p = part_of(e, i);

		json_open_object(j, parts[i].key);
		for (size_t k = 0; k < ESTIMATE_QUANTILES; k++)
			number_json(j, estimate_quantiles[k].key, p->runs, p->quantiles[k],
			            parts[i].unit);
		json_end_object(j);
	}
	json_end_object(j);
	json_open_object(j, "upper_95");
	for (size_t i = 0; i < ARRAY_LEN(parts); i++)
		number_json(j, parts[i].key, part_of(e, i)->runs, part_of(e, i)->upper,
		            parts[i].unit);
	json_end_object(j);
}

void estimate_view_json(const struct estimate_query *query, const struct type_estimate *e,
                        struct json *j)
{
	static const char *const raised[] = { NULL, "memory", "time" };

	json_begin_object(j);
	json_put_u64(j, "schema", 1);
	json_put_str(j, "job_type", query->type);
	json_key(j, "sheet_num");
	if (query->sheet)
		json_u64(j, query->sheet);
	else
		json_nil(j);
	json_put_str(j, "policy", policy_name(query->policy));
	number_json(j, "estimated_peak_memory_mb", e->memory.runs, e->memory.value, MIB);
	number_json(j, "estimated_cpu_seconds", e->cpu.runs, e->cpu.value, 1e9);
	number_json(j, "estimated_duration_seconds", e->time.runs, e->time.value, 1e9);
	json_put_double(j, "confidence", e->runs ? e->confidence : 0, 3);
	json_put_u64(j, "sample_size", e->runs);
	json_put_str(j, "basis", e->runs ? past_run_basis_name(e->basis) : NULL);
	json_put_str(j, "raised", raised[e->raised]);
	json_put_u64(j, "runs_with_other_options", e->other_shapes);
	json_put_u64(j, "failed_runs", e->failed);
	quantiles_json(e, j);
	json_end_object(j);
}
