/* SPDX-License-Identifier: MIT */
#include "history/gpu_query.h"

#include <stdio.h>

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
