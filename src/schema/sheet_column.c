/* SPDX-License-Identifier: MIT */
#include "schema/sheet_column.h"

#include <math.h>

const char *const sheet_columns[] = {
	[SHEET_FIGURE_CPU] = "cpu_time_us",           [SHEET_FIGURE_PEAK_RSS] = "peak_rss_kib",
	[SHEET_FIGURE_READ] = "read_bytes",           [SHEET_FIGURE_WRITTEN] = "written_bytes",
	[SHEET_FIGURE_MINOR_FAULTS] = "minor_faults", [SHEET_FIGURE_MAJOR_FAULTS] = "major_faults",
};

static struct figure read_figure(sqlite3_stmt *stmt, int column, enum sheet_figure i)
{
	int64_t value = db_column_or_absent(stmt, column);
	int64_t quality = db_column_or_absent(stmt, column + 1);

	if (value < 0)
		return (struct figure){ 0 };
	return (struct figure){ column_inside(&sheet_figures[i], value),
		                quality > 0 && quality < QUALITY_COUNT ? (enum quality)quality
		                                                       : QUALITY_AT_LEAST };
}

static void select_figures(struct buf *sql, const char *prefix)
{
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++)
		buf_printf(sql, ", t.%s%s, t.%s%s_q", prefix, sheet_columns[i], prefix,
		           sheet_columns[i]);
}

static void read_figures(sqlite3_stmt *stmt, int column, struct sheet_use *ret)
{
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++)
		ret->figures[i] = read_figure(stmt, column + 2 * (int)i, i);
}

static enum sheet_lack read_lack(sqlite3_stmt *stmt, int column)
{
	int64_t lack = sqlite3_column_int64(stmt, column);

	return lack > 0 && lack < SHEET_LACK_COUNT ? (enum sheet_lack)lack : SHEET_LACKS_NOTHING;
}

void sheet_columns_select_use(struct buf *sql)
{
	select_figures(sql, "");
	buf_puts(sql, ", t.max_cpu, t.processes, t.lack");
}

void sheet_columns_read_use(sqlite3_stmt *stmt, int column, struct sheet_use *ret)
{
	int at = column + 2 * SHEET_FIGURE_COUNT;

	*ret = (struct sheet_use){ .max_cpu_ratio = column_ratio_inside(
					   db_column_or_absent(stmt, at)),
		                   .processes = (uint64_t)sqlite3_column_int64(stmt, at + 1),
		                   .lack = read_lack(stmt, at + 2) };
	read_figures(stmt, column, ret);
}

void sheet_columns_select_parts(struct buf *sql)
{
	select_figures(sql, "own_");
	buf_puts(sql,
	         ", t.own_max_cpu, t.lack, t.is_wrapper, t.own_waited_us,"
	         " (t.pid IS NOT NULL) + coalesce(s.joined, 0), s.cpu, s.cpu_q, s.peak, s.peak_q,"
	         " s.minor_faults, NULL, s.major_faults, NULL, s.max_cpu, s.born");
}

void sheet_columns_read_parts(sqlite3_stmt *stmt, int column, struct sheet *ret_own,
                              struct sheet_use *ret)
{
	int at = column + 2 * SHEET_FIGURE_COUNT;
	struct sheet_use own = {
		.max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, at)),
		.lack = read_lack(stmt, at + 1),
		.processes = (uint64_t)sqlite3_column_int(stmt, at + 4),
		.waited_cpu_ns = 1000 * (uint64_t)sqlite3_column_int64(stmt, at + 3)
	};
	bool is_wrapper = sqlite3_column_int(stmt, at + 2) != 0;
	const struct sheet_use born = {
		.figures = { [SHEET_FIGURE_CPU] = read_figure(stmt, at + 5, SHEET_FIGURE_CPU),
		             [SHEET_FIGURE_PEAK_RSS] = read_figure(stmt, at + 7,
		                                                   SHEET_FIGURE_PEAK_RSS),
		             [SHEET_FIGURE_MINOR_FAULTS] = read_figure(stmt, at + 9,
		                                                       SHEET_FIGURE_MINOR_FAULTS),
		             [SHEET_FIGURE_MAJOR_FAULTS] = read_figure(stmt, at + 11,
		                                                       SHEET_FIGURE_MAJOR_FAULTS) },
		.max_cpu_ratio = column_ratio_inside(db_column_or_absent(stmt, at + 13)),
		.processes = (uint64_t)sqlite3_column_int64(stmt, at + 14),
	};

	read_figures(stmt, column, &own);
	ret_own->own = own;
	ret_own->is_wrapper = is_wrapper;
	*ret = sheet_use_join(&own, &born, is_wrapper);
}

void sheet_columns_values(const struct sheet_use *use, int64_t ret[2 * SHEET_FIGURE_COUNT])
{
	for (enum sheet_figure i = 0; i < SHEET_FIGURE_COUNT; i++) {
		struct figure f = use->figures[i];
		bool is_known = figure_is_known(f);

		ret[2 * i] = is_known ? column_value(&sheet_figures[i], f.value) : COLUMN_ABSENT;
		ret[2 * i + 1] = is_known ? (int64_t)f.quality : COLUMN_ABSENT;
	}
}
