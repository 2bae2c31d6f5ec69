/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvml.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "probe/gpu/nvml_library.h"

/* Bits of the reasons for the clocks in use, that mean throttling. */
static const struct {
	unsigned long long bit;
	enum gpu_throttle reason;
} throttles[] = {
	{ 0x04, GPU_THROTTLE_POWER_CAP },   { 0x20, GPU_THROTTLE_SW_THERMAL },
	{ 0x40, GPU_THROTTLE_HW_THERMAL },  { 0x80, GPU_THROTTLE_POWER_BRAKE },
	{ 0x08, GPU_THROTTLE_HW_SLOWDOWN },
};

#define PROCESSES_MAX 1024
#define EVENT_WAIT_MS 1

struct device {
	nvml_device handle;
	char name[GPU_TEXT_MAX],
		uuid[GPU_TEXT_MAX]; /* kept: a lost GPU does not report them again */
	unsigned long long seen_us; /* the newest figure of a process that was read */
	bool is_watched;            /* its errors are in the set of events, or cannot be */
};

struct nvml {
	struct nvml_calls call;
	char driver[80];
	nvml_events events; /* NULL: there is none */
	struct device devices[GPUS_MAX];
	union {
		struct nvml_process_v1 v1[PROCESSES_MAX];
		struct nvml_process_v2 v2[PROCESSES_MAX];
		struct nvml_process_use use[PROCESSES_MAX];
	} room;
};

/* ---- the library ---- */

static bool is_final(int code)
{
	return code == NVML_NO_PERMISSION || code == NVML_DRIVER_NOT_LOADED ||
	       code == NVML_LIBRARY_NOT_FOUND || code == NVML_FUNCTION_NOT_FOUND ||
	       code == NVML_VERSION_MISMATCH;
}

static void refuse(const struct nvml *n, struct gpu_report *why, const char *call, int code)
{
	const char *words = n->call.error_string ? n->call.error_string(code) : NULL;

	gpu_report_refuse(why, is_final(code) ? GPU_IMPOSSIBLE : GPU_BROKEN, "%s: %.80s (%d)", call,
	                  words ? words : "error", code);
}

static bool initialise(struct nvml *n, struct gpu_report *why)
{
	int code = n->call.init();

	if (code != NVML_OK) {
		refuse(n, why, "init", code);
		return false;
	}
	if (!n->call.driver_version ||
	    n->call.driver_version(n->driver, sizeof n->driver) != NVML_OK)
		n->driver[0] = '\0';
	n->driver[sizeof n->driver - 1] = '\0';
	if (!n->call.events_new || !n->call.events_register || !n->call.events_wait ||
	    n->call.events_new(&n->events) != NVML_OK)
		n->events = NULL;
	return true;
}

struct nvml *nvml_open(const char *path, struct gpu_report *why)
{
	struct nvml *n = xcalloc(1, sizeof *n);

	if (nvml_library_load(path, &n->call, why) && initialise(n, why))
		return n;
	free(n);
	return NULL;
}

/* ---- one GPU ---- */

static void read_memory(const struct nvml *n, nvml_device dev, struct gpu_readings *r)
{
	struct nvml_memory_v2 v2 = { .version = NVML_MEMORY_V2 };
	struct nvml_memory_v1 v1;

	/* The older layout counts what the driver keeps for itself as used; nvidia-smi shows the
	 * newer one. */
	if (n->call.memory_v2 && n->call.memory_v2(dev, &v2) == NVML_OK) {
		readings_set(r, GPU_MEM_USED, v2.used);
		readings_set(r, GPU_MEM_TOTAL, v2.total);
	} else if (n->call.memory_v1 && n->call.memory_v1(dev, &v1) == NVML_OK) {
		readings_set(r, GPU_MEM_USED, v1.used);
		readings_set(r, GPU_MEM_TOTAL, v1.total);
	}
}

static void read_clock(const struct nvml *n, nvml_device dev, int which, enum gpu_metric id,
                       struct gpu_readings *r)
{
	unsigned mhz;

	if (n->call.clock && n->call.clock(dev, which, &mhz) == NVML_OK)
		readings_set(r, id, mhz);
}

static void read_device(const struct nvml *n, nvml_device dev, struct gpu_readings *r)
{
	struct nvml_utilization utilization;
	unsigned v;

	if (n->call.utilization && n->call.utilization(dev, &utilization) == NVML_OK) {
		readings_set(r, GPU_UTIL, utilization.gpu);
		readings_set(r, GPU_MEM_UTIL, utilization.memory);
	}
	read_memory(n, dev, r);
	if (n->call.temperature && n->call.temperature(dev, NVML_TEMPERATURE_GPU, &v) == NVML_OK)
		readings_set(r, GPU_TEMPERATURE, v);
	if (n->call.power && n->call.power(dev, &v) == NVML_OK)
		readings_set(r, GPU_POWER, v);
	read_clock(n, dev, NVML_CLOCK_SM, GPU_SM_CLOCK, r);
	read_clock(n, dev, NVML_CLOCK_MEM, GPU_MEM_CLOCK, r);
}

static void read_health(const struct nvml *n, nvml_device dev, struct gpu_health *ret)
{
	unsigned long long v;

	if (n->call.clock_reasons && n->call.clock_reasons(dev, &v) == NVML_OK) {
		ret->knows_throttle = true;
		ret->throttle = nvml_throttle(v);
	}
	if (!n->call.ecc_errors)
		return;
	ret->knows_corrected = n->call.ecc_errors(dev, NVML_ECC_CORRECTED, NVML_ECC_VOLATILE, &v) ==
	                       NVML_OK;
	ret->ecc_corrected = ret->knows_corrected ? v : 0;
	ret->knows_uncorrected = n->call.ecc_errors(dev, NVML_ECC_UNCORRECTED, NVML_ECC_VOLATILE,
	                                            &v) == NVML_OK;
	ret->ecc_uncorrected = ret->knows_uncorrected ? v : 0;
}

uint32_t nvml_throttle(uint64_t bits)
{
	uint32_t ret = 0;

	for (size_t i = 0; i < ARRAY_LEN(throttles); i++)
		if (bits & throttles[i].bit)
			ret |= 1U << throttles[i].reason;
	return ret;
}

/* ---- its processes ---- */

/* A process that computes and draws is in both lists, with the same figure. */
static void add_use(struct gpu_report *to, uint32_t gpu, unsigned pid, unsigned long long bytes)
{
	struct gpu_use *u = gpu_report_use(to, gpu, pid);

	if (u && bytes != ~0ULL)
		readings_set(&u->r, GPU_USE_MEM, MAX(bytes, readings_or(&u->r, GPU_USE_MEM, 0)));
}

/* Whether the driver has such a list. */
static bool read_list(struct nvml *n, nvml_list *newer, nvml_list *older, nvml_device dev,
                      uint32_t gpu, struct gpu_report *to)
{
	unsigned count = PROCESSES_MAX;

	if (newer && newer(dev, &count, n->room.v2) == NVML_OK) {
		for (unsigned i = 0; i < MIN(count, PROCESSES_MAX); i++)
			add_use(to, gpu, n->room.v2[i].pid, n->room.v2[i].used_bytes);
		return true;
	}
	count = PROCESSES_MAX;
	if (!older || older(dev, &count, n->room.v1) != NVML_OK)
		return false;
	for (unsigned i = 0; i < MIN(count, PROCESSES_MAX); i++)
		add_use(to, gpu, n->room.v1[i].pid, n->room.v1[i].used_bytes);
	return true;
}

/* The driver keeps a ring of figures; each call gives those since the last one, in any order, and
 * the newest of each process counts. Some drivers fill in nonsense. */
static bool is_newest(const struct nvml_process_use *all, unsigned count, unsigned i)
{
	for (unsigned k = 0; k < count; k++)
		if (all[k].pid == all[i].pid && all[k].at_us > all[i].at_us)
			return false;
	return all[i].sm <= 100;
}

static void read_process_use(struct nvml *n, struct device *d, uint32_t gpu, struct gpu_report *to)
{
	unsigned count = PROCESSES_MAX;

	if (!n->call.process_use ||
	    n->call.process_use(d->handle, n->room.use, &count, d->seen_us) != NVML_OK)
		return;
	count = MIN(count, PROCESSES_MAX);
	for (unsigned i = 0; i < count; i++) {
		struct gpu_use *u = is_newest(n->room.use, count, i)
		                            ? gpu_report_use(to, gpu, n->room.use[i].pid)
		                            : NULL;

		if (u)
			readings_set(&u->r, GPU_USE_SM, n->room.use[i].sm);
		d->seen_us = MAX(d->seen_us, n->room.use[i].at_us);
	}
}

/* Anything may come back in the text; it ends within its place. */
static void read_text(int (*call)(nvml_device, char *to, unsigned cap), nvml_device dev,
                      char to[GPU_TEXT_MAX])
{
	if (to[0] || !call)
		return;
	if (call(dev, to, GPU_TEXT_MAX) != NVML_OK)
		to[0] = '\0';
	to[GPU_TEXT_MAX - 1] = '\0';
}

static void read_lists(struct nvml *n, nvml_device dev, uint32_t gpu, struct gpu_report *to)
{
	if (read_list(n, n->call.compute, n->call.compute_v1, dev, gpu, to))
		to->listed |= UINT64_C(1) << gpu;
	read_list(n, n->call.graphics, n->call.graphics_v1, dev, gpu, to);
}

/* ---- its parts ---- */

static bool is_divided(const struct nvml *n, nvml_device dev)
{
	unsigned now = 0, next = 0;

	return n->call.mig_mode && n->call.mig_count && n->call.mig_handle &&
	       n->call.mig_mode(dev, &now, &next) == NVML_OK && now == 1;
}

/* A part has memory and processes of its own; there is no load of one, nor power, clocks or
 * temperature. */
static void read_part(struct nvml *n, nvml_device dev, uint32_t parent, unsigned number,
                      struct gpu_report *to)
{
	uint32_t at = to->gpu_count;
	struct gpu_sample *gpu = &to->gpus[at];

	*gpu = (struct gpu_sample){ .index = GPU_INDEX_PARTS * (parent + 1) + number,
		                    .is_part = true,
		                    .parent = parent };
	read_text(n->call.name, dev, gpu->name);
	read_text(n->call.uuid, dev, gpu->uuid);
	read_memory(n, dev, &gpu->r);
	to->gpu_count++;
	read_lists(n, dev, at, to);
}

/* The processes of a divided GPU are those of its parts: its own list would count them twice. */
static void read_parts(struct nvml *n, nvml_device dev, uint32_t parent, struct gpu_report *to)
{
	unsigned count = 0;
	nvml_device part;

	if (n->call.mig_count(dev, &count) != NVML_OK)
		return;
	for (unsigned i = 0; i < MIN(count, GPU_INDEX_PARTS) && to->gpu_count < GPUS_MAX; i++)
		if (n->call.mig_handle(dev, i, &part) == NVML_OK)
			read_part(n, part, parent, i, to);
}

/* ---- all of them ---- */

static void watch_errors(struct nvml *n, struct device *d)
{
	if (n->events && !d->is_watched)
		(void)!n->call.events_register(d->handle, NVML_EVENT_XID, n->events);
	d->is_watched = true;
}

static void read_gpu(struct nvml *n, uint32_t index, struct gpu_report *to)
{
	uint32_t at = to->gpu_count;
	struct gpu_sample *gpu = &to->gpus[at];
	struct device *d = &n->devices[index];
	bool is_there = n->call.handle(index, &d->handle) == NVML_OK;

	*gpu = (struct gpu_sample){ .index = index };
	to->gpu_count++;
	if (is_there) {
		read_text(n->call.name, d->handle, d->name);
		read_text(n->call.uuid, d->handle, d->uuid);
	}
	memcpy(gpu->name, d->name, sizeof gpu->name);
	memcpy(gpu->uuid, d->uuid, sizeof gpu->uuid);
	gpu->is_lost = !is_there;
	if (!is_there) /* fallen off the bus, or not ours to see */
		return;
	watch_errors(n, d);
	read_device(n, d->handle, &gpu->r);
	gpu->is_lost = !gpu->r.present;
	read_health(n, d->handle, &gpu->health);
	if (is_divided(n, d->handle)) {
		to->listed |= UINT64_C(1) << at;
		read_parts(n, d->handle, index, to);
		return;
	}
	read_lists(n, d->handle, at, to);
	read_process_use(n, d, at, to);
}

/* False: the handle is not one of the last list, because it has changed since. */
static bool find_by_handle(const struct nvml *n, nvml_device dev, const struct gpu_report *r,
                           uint32_t *ret)
{
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (!r->gpus[i].is_part && n->devices[r->gpus[i].index].handle == dev) {
			*ret = i;
			return true;
		}
	return false;
}

/* Errors that came since the last request: the driver keeps them until they are taken. */
static void read_errors(const struct nvml *n, struct gpu_report *to)
{
	struct nvml_event e = { 0 };
	uint32_t gpu;

	for (int i = 0; n->events && i < GPU_XIDS_MAX; i++) {
		if (n->call.events_wait(n->events, &e, EVENT_WAIT_MS) != NVML_OK)
			return;
		if (e.type == NVML_EVENT_XID && find_by_handle(n, e.device, to, &gpu))
			to->xids[to->xid_count++] = (struct gpu_xid){ gpu, (uint32_t)e.data };
	}
}

void nvml_read(struct nvml *n, struct gpu_report *ret)
{
	unsigned count = 0;
	int code = n->call.count(&count);

	if (code != NVML_OK) {
		refuse(n, ret, "count", code);
		return;
	}
	gpu_report_begin(ret);
	snprintf(ret->text, sizeof ret->text, "driver %.70s",
	         n->driver[0] ? n->driver : "of unknown version");
	for (uint32_t i = 0; i < MIN(count, GPUS_MAX) && ret->gpu_count < GPUS_MAX; i++)
		read_gpu(n, i, ret);
	read_errors(n, ret);
}
