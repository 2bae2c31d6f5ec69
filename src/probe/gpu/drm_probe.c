/* SPDX-License-Identifier: MIT */
/* GPUs of other vendors than NVIDIA: what the kernel's DRM layer shows in sysfs, and in the open files of
 * processes. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "probe/gpu/drm_search.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/gpu/gpu_probe.h"

struct drm_own {
	struct drm_devices devices; /* which keep their places, whatever the helper lists */
	struct drm_clients *clients;
	struct drm_search *search;
	uint32_t first_index;
};

static const struct gpu_sample *find_by_bus(const struct gpu_report *r, const char *bus)
{
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (strcmp(r->gpus[i].bus, bus) == 0)
			return &r->gpus[i];
	return NULL;
}

/* The helper may have found one that was added since. */
static void find_new_devices(const struct gpu_probe *self, struct drm_devices *d)
{
	const struct gpu_report *r = &self->link->report;

	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (drm_devices_by_bus(d, r->gpus[i].bus) < 0) {
			drm_devices_find(self->env.root_fd, d);
			return;
		}
}

static void drm_add(struct gpu_probe *self, bool is_fresh, struct sample *out)
{
	struct drm_own *own = self->own;
	size_t first = out->gpus.len;

	find_new_devices(self, &own->devices);
	for (size_t i = 0; i < own->devices.count; i++) {
		const struct gpu_sample *read = find_by_bus(&self->link->report,
		                                            own->devices.at[i].bus);
		struct gpu_sample *gpu = vec_push(&out->gpus, GPUS_MAX);

		if (!gpu)
			return;
		if (read)
			*gpu = *read;
		gpu->index = own->first_index + (uint32_t)i;
		if (!is_fresh)
			gpu_probe_forget(gpu);
	}
	drm_search_read(own->search, own->clients, &own->devices, self->env.reader, first, out);
}

static void drm_describe(const struct gpu_probe *self, struct buf *to)
{
	const struct drm_own *own = self->own;
	const struct drm_devices *d = &own->devices;
	char before[64];

	for (size_t i = 0; i < d->count; i++)
		buf_printf(to, "%s%s", i ? ", " : " (", d->at[i].driver->name);
	buf_puts(to, ")");
	for (size_t i = 0; i < d->count; i++) {
		const struct gpu_sample *gpu = find_by_bus(&self->link->report, d->at[i].bus);

		snprintf(before, sizeof before, "; not in sysfs of %s: ", d->at[i].driver->name);
		if (gpu)
			gpu_probe_put_missing(to, before, &gpu->r);
	}
}

static void drm_close(struct gpu_probe *self)
{
	struct drm_own *own = self->own;

	drm_search_free(own->search);
	drm_clients_free(own->clients);
	free(own);
}

/* Reading sysfs takes well below a millisecond, but for a driver that hangs. */
static const struct gpu_vendor vendor = {
	.source = "DRM",
	.link = { .source = gpu_source_drm,
	          .start_ns = 5 * NS_PER_S,
	          .answer_ns = 2 * NS_PER_S,
	          .gap_ns = 90 * NS_PER_MS,
	          .grace_ns = 10 * NS_PER_MS,
	          .retry_ns = NS_PER_S,
	          .tries = 3 },
	.add = drm_add,
	.describe = drm_describe,
	.close = drm_close,
};

static int drm_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(freep) struct drm_own *own = NULL;
	struct gpu_probe *self;

	if (gpu_probe_check(env, err) < 0)
		return -err->code;
	own = xcalloc(1, sizeof *own);
	drm_devices_find(env->root_fd, &own->devices);
	if (!own->devices.count)
		return err_set(err, ENODEV, "no GPU of AMD, Intel or another vendor found");
	own->clients = drm_clients_new();
	own->search = drm_search_new();
	own->first_index = gpu_probe_expects_nvidia(env) ? GPU_INDEX_OTHERS : 0;
	self = gpu_probe_new(env, &vendor);
	self->own = TAKE_PTR(own);
	*ret_self = self;
	return 0;
}

const struct probe_ops probe_gpu_drm = { .name = "drm", .open = drm_open, GPU_PROBE_OPS };
