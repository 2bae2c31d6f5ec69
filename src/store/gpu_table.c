/* SPDX-License-Identifier: MIT */
/* GPUs of a snapshot: one row each, who they are once, and a row for each process on them. */
#include <string.h>

#include "store/store_handle.h"

static int64_t find_device(struct store *st, enum statement q, const struct gpu_sample *gpu,
                           struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, q, err);
	int64_t id = 0;
	int r;

	if (!stmt)
		return -err->code;
	db_bind_text(stmt, 1, gpu->uuid, strlen(gpu->uuid));
	db_bind_text(stmt, 2, gpu->name, strlen(gpu->name));
	r = db_step(stmt, err);
	if (r > 0)
		id = sqlite3_column_int64(stmt, 0);
	sqlite3_reset(stmt);
	return r < 0 ? r : id;
}

static int64_t device_of(struct store *st, const struct gpu_sample *gpu, struct err *err)
{
	int64_t id = find_device(st, Q_FIND_GPU_DEVICE, gpu, err);

	return id ? id : find_device(st, Q_PUT_GPU_DEVICE, gpu, err);
}

static int put_gpu(struct store *st, const struct gpu_sample *gpu, int64_t snapshot,
                   struct err *err)
{
	int64_t device = device_of(st, gpu, err);
	sqlite3_stmt *stmt = device < 0 ? NULL : statement_get(st, Q_PUT_GPU, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, snapshot);
	sqlite3_bind_int64(stmt, 2, gpu->index);
	sqlite3_bind_int64(stmt, 3, device);
	store_bind_readings(stmt, 4, gpu_metrics, GPU_METRIC_COUNT, gpu->r.present, gpu->r.value);
	return db_run(stmt, err);
}

static int put_use(struct store *st, const struct gpu_use *use, uint32_t index, int64_t snapshot,
                   struct err *err)
{
	sqlite3_stmt *stmt = statement_get(st, Q_PUT_GPU_USE, err);

	if (!stmt)
		return -err->code;
	sqlite3_bind_int64(stmt, 1, snapshot);
	sqlite3_bind_int64(stmt, 2, index);
	sqlite3_bind_int64(stmt, 3, use->id.pid);
	sqlite3_bind_int64(stmt, 4, (int64_t)use->id.start_ticks);
	sqlite3_bind_int64(stmt, 5, use->is_foreign);
	store_bind_readings(stmt, 6, gpu_use_metrics, GPU_USE_METRIC_COUNT, use->r.present,
	                    use->r.value);
	return db_run(stmt, err);
}

int gpu_put_all(struct store *st, const struct snapshot *snap, int64_t snapshot, struct err *err)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < snap->gpus.len; i++)
		r = put_gpu(st, &snap->gpus.at[i], snapshot, err);
	for (size_t i = 0; r == 0 && i < snap->gpu_uses.len; i++) {
		const struct gpu_use *use = &snap->gpu_uses.at[i];

		if (use->gpu < snap->gpus.len)
			r = put_use(st, use, snap->gpus.at[use->gpu].index, snapshot, err);
	}
	return r;
}
