/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_uses.h"

static void add_to(struct proc_readings *r, enum proc_metric id, const struct gpu_use_readings *use,
                   enum gpu_use_metric from)
{
	if (readings_has(use, from))
		readings_set(r, id, readings_or(r, id, 0) + use->value[from]);
}

void gpu_uses_add(struct sample *out, const struct gpu_use *use)
{
	struct gpu_use *u = vec_push(&out->gpu_uses, GPU_USES_MAX);
	struct proc_sample *p;

	if (!u)
		return;
	*u = *use;
	if (u->has_host_pid)
		out->gpus.at[u->gpu].knows_processes = false;
	p = u->has_host_pid ? NULL : sample_find_proc(out, use->id.pid);
	if (!p)
		return;
	u->id = p->id;
	add_to(&p->r, PROC_GPU_MEM, &u->r, GPU_USE_MEM);
	add_to(&p->r, PROC_GPU_SM, &u->r, GPU_USE_SM);
}
