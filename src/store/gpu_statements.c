/* SPDX-License-Identifier: MIT */
#include "store/gpu_statements.h"

#include "sqlite/column.h"

static void put_columns(struct buf *sql, const struct metric *table, size_t n, const char *fmt_1,
                        const char *fmt_2)
{
	for (size_t i = 0; i < n; i++) {
		char name[COLUMN_NAME_MAX];

		column_name(&table[i], name);
		buf_printf(sql, ", %s%s%s", fmt_1, name, fmt_2);
	}
}

static void put_names(struct buf *sql, const struct metric *table, size_t n)
{
	put_columns(sql, table, n, "", "");
}

static void put_insert(struct buf *sql, const char *start, size_t own, const struct metric *table,
                       size_t n)
{
	buf_puts(sql, start);
	put_names(sql, table, n);
	buf_puts(sql, ") VALUES(?1");
	for (size_t i = 2; i <= own + n; i++)
		buf_printf(sql, ", ?%zu", i);
	buf_puts(sql, ")");
}

/* The snapshots of one minute: ?1 is the first, ?2 the last, ?3 their keyframe. */
#define THE_MINUTE                                                                                 \
	" WHERE snapshot IN (SELECT s.id FROM snapshot s WHERE s.id BETWEEN ?1 AND ?2"             \
	" AND s.kf = ?3)"

static void put_means(struct buf *sql, const char *start, const char *keys,
                      const struct metric *table, size_t n, const char *end)
{
	buf_puts(sql, start);
	put_names(sql, table, n);
	buf_puts(sql, keys);
	put_columns(sql, table, n, "CAST(round(avg(", ")) AS INTEGER)");
	buf_puts(sql, end);
}

static void put_range(struct buf *sql)
{
	buf_puts(sql, "INSERT OR REPLACE INTO gpu_range(snapshot, gpu");
	put_columns(sql, gpu_metrics, GPU_METRIC_COUNT, "", "_min");
	put_columns(sql, gpu_metrics, GPU_METRIC_COUNT, "", "_max");
	buf_puts(sql, ") SELECT ?1, gpu");
	put_columns(sql, gpu_metrics, GPU_METRIC_COUNT, "min(", ")");
	put_columns(sql, gpu_metrics, GPU_METRIC_COUNT, "max(", ")");
	buf_puts(sql, " FROM gpu" THE_MINUTE " GROUP BY gpu");
}

bool statement_put_gpu(struct buf *sql, enum statement q)
{
	if (q == Q_PUT_GPU)
		put_insert(sql, "INSERT OR REPLACE INTO gpu(snapshot, gpu, device", 3, gpu_metrics,
		           GPU_METRIC_COUNT);
	else if (q == Q_PUT_GPU_USE)
		put_insert(sql,
		           "INSERT OR REPLACE INTO gpu_use(snapshot, gpu, pid, start_ticks,"
		           " is_foreign",
		           5, gpu_use_metrics, GPU_USE_METRIC_COUNT);
	else if (q == Q_PUT_GPU_RANGE)
		put_range(sql);
	else if (q == Q_MEAN_GPUS)
		put_means(sql, "INSERT OR REPLACE INTO gpu(snapshot, gpu, device",
		          ") SELECT ?1, gpu, max(device)", gpu_metrics, GPU_METRIC_COUNT,
		          " FROM gpu" THE_MINUTE " GROUP BY gpu");
	else if (q == Q_MEAN_GPU_USES)
		put_means(sql,
		          "INSERT OR REPLACE INTO gpu_use(snapshot, gpu, pid, start_ticks,"
		          " is_foreign",
		          ") SELECT ?1, gpu, pid, max(start_ticks), is_foreign", gpu_use_metrics,
		          GPU_USE_METRIC_COUNT,
		          " FROM gpu_use" THE_MINUTE " GROUP BY gpu, is_foreign, pid");
	else
		return false;
	return true;
}
