/* SPDX-License-Identifier: MIT */
#include "sqlite/column.h"

#include <math.h>
#include <stdio.h>
#include <string.h>


/* The end of a key with this unit, the end of its column, the factor between the value and the stored
 * integer, and SQL that converts the latter to the shown unit. */
static const struct {
	const char *key_end, *column_end;
	uint64_t divide;
	const char *scale;
} units[] = {
	[UNIT_COUNT] = { "", "", 1, "" },
	[UNIT_BYTES] = { "", "", 1, "" },
	[UNIT_MIB] = { "_mb", "_kib", 1024, "/1024.0" },
	[UNIT_NS] = { "_seconds", "_us", 1000, "/1e6" },
	[UNIT_MILLI] = { "", "_milli", 1, "/1000.0" },
	[UNIT_PCT] = { "_pct", "", 1, "/10.0" },
	[UNIT_WH] = { "_wh", "_mj", 1, "/3.6e6" },
};

const char column_states[] = "SRDITtZXPKW?";

void column_name(const struct metric *m, char to[COLUMN_NAME_MAX])
{
	size_t len = strlen(m->key), end = strlen(units[m->unit].key_end);

	if (len > end && !strcmp(m->key + len - end, units[m->unit].key_end))
		len -= end;
	snprintf(to, COLUMN_NAME_MAX, "%.*s%s", (int)len, m->key, units[m->unit].column_end);
}

int64_t column_value(const struct metric *m, uint64_t value)
{
	return (int64_t)MIN(value / units[m->unit].divide, (uint64_t)INT64_MAX);
}

uint64_t column_inside(const struct metric *m, int64_t stored)
{
	uint64_t inside;

	if (stored < 0 || __builtin_mul_overflow((uint64_t)stored, units[m->unit].divide, &inside))
		return 0;
	return inside;
}

const char *column_scale(const struct metric *m)
{
	return units[m->unit].scale;
}

void column_put_shown(struct buf *sql, const struct metric *m, const char *table,
                      const char *suffix)
{
	char name[COLUMN_NAME_MAX];

	column_name(m, name);
	buf_printf(sql, "%s.%s%s%s", table, name, suffix, column_scale(m));
}

void column_select(struct buf *sql, const struct metric *m, const char *table, const char *suffix)
{
	buf_puts(sql, ", ");
	column_put_shown(sql, m, table, suffix);
	buf_printf(sql, " AS %s%s", m->key, suffix);
}

void column_put_case(struct buf *sql, const char *column, const char *const *names, size_t n)
{
	buf_printf(sql, "CASE %s", column);
	for (size_t i = 0; i < n; i++)
		buf_printf(sql, " WHEN %zu THEN '%s'", i, names[i]);
	buf_puts(sql, " END");
}

static bool is_in_group(const struct metric *m, enum column_group group)
{
	if (group == COLUMNS_CELLS || group == COLUMNS_DETAILS)
		return (m->need == METRIC_ALWAYS) == (group == COLUMNS_CELLS);
	if (group == COLUMNS_TOTALS)
		return m->kind == METRIC_COUNTER || m == &proc_metrics[PROC_PEAK_RSS];
	return m->kind == METRIC_GAUGE ||
	       (group != COLUMNS_HOST_GAUGES && group != COLUMNS_CGROUP_GAUGES);
}

struct column_set column_set(enum column_group group)
{
	static const struct {
		const struct metric *metrics;
		uint8_t n;
	} tables[] = {
		[COLUMNS_CELLS] = { proc_metrics, PROC_METRIC_COUNT },
		[COLUMNS_DETAILS] = { proc_metrics, PROC_METRIC_COUNT },
		[COLUMNS_TOTALS] = { proc_metrics, PROC_METRIC_COUNT },
		[COLUMNS_HOST] = { host_metrics, HOST_METRIC_COUNT },
		[COLUMNS_HOST_GAUGES] = { host_metrics, HOST_METRIC_COUNT },
		[COLUMNS_CGROUP] = { cgroup_metrics, CGROUP_METRIC_COUNT },
		[COLUMNS_CGROUP_GAUGES] = { cgroup_metrics, CGROUP_METRIC_COUNT },
		[COLUMNS_GPU] = { gpu_metrics, GPU_METRIC_COUNT },
		[COLUMNS_GPU_USE] = { gpu_use_metrics, GPU_USE_METRIC_COUNT },
	};
	struct column_set set = { .metrics = tables[group].metrics };

	for (uint8_t id = 0; id < tables[group].n; id++)
		if (is_in_group(&set.metrics[id], group))
			set.id[set.n++] = id;
	return set;
}

void column_set_values(const struct column_set *set, uint64_t present, const uint64_t *value,
                       int64_t *ret)
{
	for (size_t i = 0; i < set->n; i++) {
		uint8_t id = set->id[i];

		ret[i] = present >> id & 1 ? column_value(&set->metrics[id], value[id])
		                           : COLUMN_ABSENT;
	}
}

int64_t column_final(const struct event *e)
{
	const struct proc_readings *final = &e->final;

	return (readings_has(final, PROC_CPU_TIME) ? FINAL_CPU : 0) |
	       (readings_has(final, PROC_PEAK_RSS) ? FINAL_PEAK : 0) |
	       (readings_has(final, PROC_READ_BYTES) ? FINAL_READ : 0) |
	       (readings_has(final, PROC_WRITE_BYTES) ? FINAL_WRITE : 0) |
	       (e->is_peak_bound ? FINAL_BOUND : 0);
}

int64_t column_state_code(char state)
{
	const char *at = state ? strchr(column_states, state) : NULL;

	return at ? at - column_states : (int64_t)sizeof column_states - 2;
}

char column_state_letter(int64_t code)
{
	return code >= 0 && code < (int64_t)sizeof column_states - 1 ? column_states[code] : '?';
}

int64_t column_ratio(double ratio)
{
	return isfinite(ratio) && ratio >= 0 ? (int64_t)llround(fmin(ratio, 1e6) * 1000)
	                                     : COLUMN_ABSENT;
}

double column_ratio_inside(int64_t stored)
{
	return stored < 0 ? NAN : (double)stored / 1000;
}
