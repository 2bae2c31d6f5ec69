/* SPDX-License-Identifier: MIT */
#include "history/gpu_query.h"

#include <stdio.h>
#include <stdlib.h>

#include "history/job_query.h"

static void copy_text(sqlite3_stmt *stmt, int column, char to[GPU_TEXT_MAX])
{
	const unsigned char *text = sqlite3_column_text(stmt, column);

	snprintf(to, GPU_TEXT_MAX, "%s", text ? (const char *)text : "");
}

static int read_devices(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result = history_prepare_readings(
		r, "SELECT t.gpu, d.name, d.uuid", "gpu", gpu_metrics, GPU_METRIC_COUNT,
		" FROM gpu t LEFT JOIN gpu_device d ON d.id = t.device"
		" WHERE t.snapshot = ? ORDER BY t.gpu",
		&r->gpus, err);

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->gpus, 1, snapshot);
	while ((result = db_step(r->gpus, err)) > 0) {
		struct gpu_sample *gpu = vec_push(&to->gpus, GPUS_MAX);

		if (!gpu)
			break;
		gpu->index = (uint32_t)sqlite3_column_int64(r->gpus, 0);
		copy_text(r->gpus, 1, gpu->name);
		copy_text(r->gpus, 2, gpu->uuid);
		history_read_readings(r->gpus, 3, gpu_metrics, GPU_METRIC_COUNT, &gpu->r.present,
		                      gpu->r.value);
	}
	sqlite3_reset(r->gpus);
	return MIN(result, 0);
}

static bool find_gpu(const struct snapshot *snap, int64_t index, uint32_t *ret)
{
	for (size_t i = 0; i < snap->gpus.len; i++)
		if (snap->gpus.at[i].index == index) {
			*ret = (uint32_t)i;
			return true;
		}
	return false;
}

/* A process is its pid and its start. */
static void find_job(const struct snapshot *snap, struct gpu_use *use)
{
	const struct proc_snap *p = snapshot_find(snap, use->id.pid);

	use->job = -1;
	if (!p || use->is_foreign || !proc_id_eq(p->s.id, use->id))
		return;
	use->job = p->job;
	use->sheet = p->sheet;
}

static int read_uses(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result = history_prepare_readings(
		r, "SELECT t.gpu, t.pid, t.start_ticks, t.is_foreign", "gpu_use", gpu_use_metrics,
		GPU_USE_METRIC_COUNT, " FROM gpu_use t WHERE t.snapshot = ? ORDER BY t.gpu, t.pid",
		&r->gpu_uses, err);
	uint32_t gpu;

	if (result < 0)
		return result;
	sqlite3_bind_int64(r->gpu_uses, 1, snapshot);
	while ((result = db_step(r->gpu_uses, err)) > 0) {
		struct gpu_use *use = find_gpu(to, sqlite3_column_int64(r->gpu_uses, 0), &gpu)
		                              ? vec_push(&to->gpu_uses, GPU_USES_MAX)
		                              : NULL;

		if (!use)
			continue;
		use->gpu = gpu;
		use->id.pid = sqlite3_column_int(r->gpu_uses, 1);
		use->id.start_ticks = (uint64_t)sqlite3_column_int64(r->gpu_uses, 2);
		use->is_foreign = sqlite3_column_int(r->gpu_uses, 3) != 0;
		history_read_readings(r->gpu_uses, 4, gpu_use_metrics, GPU_USE_METRIC_COUNT,
		                      &use->r.present, use->r.value);
		find_job(to, use);
	}
	sqlite3_reset(r->gpu_uses);
	return MIN(result, 0);
}

int history_read_gpus(struct history *r, int64_t snapshot, struct snapshot *to, struct err *err)
{
	int result;

	if (!r->gpus && !history_has_column(r, "gpu", "device"))
		return 0; /* no recorder has brought it up to date */
	result = read_devices(r, snapshot, to, err);
	return result < 0 || !to->gpus.len ? result : read_uses(r, snapshot, to, err);
}

/* What was thinned out to minutes still has the extremes of each. */
static const char job_gpus[] =
	"SELECT g.gpu_index, max(g.name), avg(g.utilization_pct) / 100,"
	" max(coalesce(g.utilization_pct_max, g.utilization_pct)) / 100.0,"
	" max(coalesce(g.memory_used_mb_max, g.memory_used_mb)) * 1048576,"
	" max(g.memory_total_mb) * 1048576, avg(g.power_w),"
	" max(coalesce(g.power_w_max, g.power_w))"
	" FROM job j JOIN job_sample m ON m.snapshot >= j.first_snapshot AND m.snapshot <="
	" coalesce(j.last_snapshot, 9223372036854775807) AND m.job = j.id"
	" JOIN gpu_metrics g ON g.snapshot_id = m.snapshot WHERE j.id = ?1"
	" GROUP BY g.gpu_index ORDER BY g.gpu_index";

static int read_job_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                         struct err *err)
{
	cleanup(sqlite3_finalizep) sqlite3_stmt *stmt = NULL;
	int result, n = 0;

	/* Older stores have neither. */
	if (!history_has_column(r, "job_sample", "job") ||
	    !history_has_column(r, "gpu", "snapshot"))
		return 0;
	result = history_prepare_for_job(r, job_gpus, key, &stmt, err);
	if (result < 0)
		return result;
	while ((result = db_step(stmt, err)) > 0) {
		const struct gpu_record g = {
			.index = (uint32_t)sqlite3_column_int64(stmt, 0),
			.name = (const char *)sqlite3_column_text(stmt, 1),
			.util_mean_ratio = history_read_real(stmt, 2),
			.util_max_ratio = history_read_real(stmt, 3),
			.mem_peak_bytes = history_read_real(stmt, 4),
			.mem_total_bytes = history_read_real(stmt, 5),
			.power_mean_w = history_read_real(stmt, 6),
			.power_max_w = history_read_real(stmt, 7),
		};

		result = fn(self, &g);
		if (result < 0)
			return result;
		n++;
	}
	return result < 0 ? result : n;
}

int history_job_gpus(struct history *r, struct job_key key, reader_gpu_fn fn, void *self,
                     struct err *err)
{
	int result = history_begin(r, err);

	if (result < 0)
		return result;
	result = read_job_gpus(r, key, fn, self, err);
	history_end(r);
	return result;
}
