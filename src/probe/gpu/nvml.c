/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvml.h"

#include <dlfcn.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* ---- the parts of NVML's public interface that are used, in our own words ---- */

typedef void *nvml_device;

enum nvml_code {
	NVML_OK = 0,
	NVML_NO_PERMISSION = 4,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_VERSION_MISMATCH = 18,
};

enum { NVML_TEMPERATURE_GPU = 0, NVML_CLOCK_SM = 1, NVML_CLOCK_MEM = 2 };

struct nvml_memory_v1 {
	unsigned long long total, free, used;
};
struct nvml_memory_v2 {
	unsigned version; /* size and number of the layout */
	unsigned long long total, reserved, free, used;
};
#define NVML_MEMORY_V2 ((unsigned)sizeof(struct nvml_memory_v2) | 2u << 24)

struct nvml_utilization {
	unsigned gpu, memory;
};
struct nvml_process_v1 {
	unsigned pid;
	unsigned long long used_bytes; /* all ones: not known */
};
struct nvml_process_v2 { /* of the calls _v2 and _v3 */
	unsigned pid;
	unsigned long long used_bytes;
	unsigned gpu_instance, compute_instance;
};
struct nvml_process_use {
	unsigned pid;
	unsigned long long at_us;
	unsigned sm, memory, encoder, decoder;
};

typedef int nvml_list(nvml_device, unsigned *n, void *at);

struct calls {
	int (*init)(void);
	const char *(*error_string)(int code);
	int (*driver_version)(char *to, unsigned cap);
	int (*count)(unsigned *ret);
	int (*handle)(unsigned index, nvml_device *ret);
	int (*name)(nvml_device, char *to, unsigned cap);
	int (*uuid)(nvml_device, char *to, unsigned cap);
	int (*utilization)(nvml_device, struct nvml_utilization *ret);
	int (*memory_v2)(nvml_device, struct nvml_memory_v2 *ret);
	int (*memory_v1)(nvml_device, struct nvml_memory_v1 *ret);
	int (*temperature)(nvml_device, int sensor, unsigned *ret);
	int (*power)(nvml_device, unsigned *ret_mw);
	int (*clock)(nvml_device, int which, unsigned *ret_mhz);
	nvml_list *compute, *compute_v1, *graphics, *graphics_v1;
	int (*process_use)(nvml_device, struct nvml_process_use *at, unsigned *n,
	                   unsigned long long since_us);
};

/* A later name for the same call is used when the first is missing: older drivers. */
#define AT(member) offsetof(struct calls, member)
static const struct {
	size_t at;
	bool is_needed;
	const char *names[3];
} symbols[] = {
	{ AT(init), true, { "nvmlInit_v2", "nvmlInit" } },
	{ AT(count), true, { "nvmlDeviceGetCount_v2", "nvmlDeviceGetCount" } },
	{ AT(handle), true, { "nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex" } },
	{ AT(error_string), false, { "nvmlErrorString" } },
	{ AT(driver_version), false, { "nvmlSystemGetDriverVersion" } },
	{ AT(name), false, { "nvmlDeviceGetName" } },
	{ AT(uuid), false, { "nvmlDeviceGetUUID" } },
	{ AT(utilization), false, { "nvmlDeviceGetUtilizationRates" } },
	{ AT(memory_v2), false, { "nvmlDeviceGetMemoryInfo_v2" } },
	{ AT(memory_v1), false, { "nvmlDeviceGetMemoryInfo" } },
	{ AT(temperature), false, { "nvmlDeviceGetTemperature" } },
	{ AT(power), false, { "nvmlDeviceGetPowerUsage" } },
	{ AT(clock), false, { "nvmlDeviceGetClockInfo" } },
	{ AT(compute),
	  false,
	  { "nvmlDeviceGetComputeRunningProcesses_v3",
	    "nvmlDeviceGetComputeRunningProcesses_v2" } },
	{ AT(compute_v1), false, { "nvmlDeviceGetComputeRunningProcesses" } },
	{ AT(graphics),
	  false,
	  { "nvmlDeviceGetGraphicsRunningProcesses_v3",
	    "nvmlDeviceGetGraphicsRunningProcesses_v2" } },
	{ AT(graphics_v1), false, { "nvmlDeviceGetGraphicsRunningProcesses" } },
	{ AT(process_use), false, { "nvmlDeviceGetProcessUtilization" } },
};

/* Found by the loader's own rules first; the others are places it does not search. */
static const char *const places[] = {
	"libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
	"/run/opengl-driver/lib/libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
};

#define PROCESSES_MAX 1024

struct device {
	nvml_device handle;
	char name[GPU_TEXT_MAX],
		uuid[GPU_TEXT_MAX]; /* kept: a lost GPU does not report them again */
	unsigned long long seen_us; /* the newest figure of a process that was read */
};

struct nvml {
	void *library;
	struct calls call;
	char driver[80];
	struct device devices[GPUS_MAX];
	union {
		struct nvml_process_v1 v1[PROCESSES_MAX];
		struct nvml_process_v2 v2[PROCESSES_MAX];
		struct nvml_process_use use[PROCESSES_MAX];
	} room;
};

/* ---- loading ---- */

/* One that another user could have put there or changed is not loaded. */
static bool is_trusted(const char *path)
{
	struct stat st;

	return path[0] == '/' && stat(path, &st) == 0 && S_ISREG(st.st_mode) &&
	       (st.st_uid == 0 || st.st_uid == geteuid()) && !(st.st_mode & (S_IWGRP | S_IWOTH));
}

static void *load(const char *path, struct gpu_report *why)
{
	void *library = NULL;

	if (path && !is_trusted(path)) {
		gpu_report_refuse(why, GPU_IMPOSSIBLE,
		                  "'%s' is not a file that only this user and root can change",
		                  path);
		return NULL;
	}
	if (path)
		library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
	for (size_t i = 0; !path && !library && i < ARRAY_LEN(places); i++)
		library = dlopen(places[i], RTLD_LAZY | RTLD_LOCAL);
	if (!library)
		gpu_report_refuse(why, GPU_IMPOSSIBLE, "%s cannot be loaded",
		                  path ? path : places[0]);
	return library;
}

static bool find_calls(struct nvml *n, struct gpu_report *why)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		void *at = NULL;

		for (size_t k = 0; !at && k < ARRAY_LEN(symbols[i].names) && symbols[i].names[k];
		     k++)
			at = dlsym(n->library, symbols[i].names[k]);
		if (!at && symbols[i].is_needed) {
			gpu_report_refuse(why, GPU_IMPOSSIBLE, "libnvidia-ml.so.1 has no %s",
			                  symbols[i].names[0]);
			return false;
		}
		memcpy((char *)&n->call + symbols[i].at, &at, sizeof at);
	}
	return true;
}

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
	return true;
}

struct nvml *nvml_open(const char *path, struct gpu_report *why)
{
	struct nvml *n = xcalloc(1, sizeof *n);

	n->library = load(path, why);
	if (n->library && find_calls(n, why) && initialise(n, why))
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

/* ---- its processes ---- */

/* A process that computes and draws is in both lists, with the same figure. */
static void add_use(struct gpu_report *to, uint32_t gpu, unsigned pid, unsigned long long bytes)
{
	struct gpu_use *u = gpu_report_use(to, gpu, pid);

	if (u && bytes != ~0ULL)
		readings_set(&u->r, GPU_USE_MEM, MAX(bytes, readings_or(&u->r, GPU_USE_MEM, 0)));
}

/* Whether the driver has such a list. */
static bool read_list(struct nvml *n, nvml_list *newer, nvml_list *older, uint32_t gpu,
                      struct gpu_report *to)
{
	nvml_device dev = n->devices[gpu].handle;
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

static void read_process_use(struct nvml *n, uint32_t gpu, struct gpu_report *to)
{
	struct device *d = &n->devices[gpu];
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

static void read_gpu(struct nvml *n, uint32_t i, struct gpu_report *to)
{
	struct gpu_sample *gpu = &to->gpus[i];
	struct device *d = &n->devices[i];
	bool is_there = n->call.handle(i, &d->handle) == NVML_OK;

	*gpu = (struct gpu_sample){ .index = i };
	if (is_there) {
		read_text(n->call.name, d->handle, d->name);
		read_text(n->call.uuid, d->handle, d->uuid);
	}
	memcpy(gpu->name, d->name, sizeof gpu->name);
	memcpy(gpu->uuid, d->uuid, sizeof gpu->uuid);
	if (!is_there) /* fallen off the bus, or not ours to see */
		return;
	read_device(n, d->handle, &gpu->r);
	if (read_list(n, n->call.compute, n->call.compute_v1, i, to))
		to->listed |= UINT64_C(1) << i;
	read_list(n, n->call.graphics, n->call.graphics_v1, i, to);
	read_process_use(n, i, to);
}

void nvml_read(struct nvml *n, struct gpu_report *ret)
{
	unsigned count = 0;
	int code = n->call.count(&count);

	if (code != NVML_OK) {
		refuse(n, ret, "count", code);
		return;
	}
	ret->verdict = GPU_REPORTED;
	snprintf(ret->text, sizeof ret->text, "driver %.70s",
	         n->driver[0] ? n->driver : "of unknown version");
	ret->gpu_count = (uint32_t)MIN(count, GPUS_MAX);
	ret->use_count = 0;
	ret->listed = 0;
	for (uint32_t i = 0; i < ret->gpu_count; i++)
		read_gpu(n, i, ret);
}
