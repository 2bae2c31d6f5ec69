/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvml_library.h"

#include <dlfcn.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/defs.h"

/* A later name for the same call is used when the first is missing: older drivers. */
#define AT(member) offsetof(struct nvml_calls, member)
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
	{ AT(clock_reasons),
	  false,
	  { "nvmlDeviceGetCurrentClocksEventReasons",
	    "nvmlDeviceGetCurrentClocksThrottleReasons" } },
	{ AT(ecc_errors), false, { "nvmlDeviceGetTotalEccErrors" } },
	{ AT(events_new), false, { "nvmlEventSetCreate" } },
	{ AT(events_register), false, { "nvmlDeviceRegisterEvents" } },
	{ AT(events_wait), false, { "nvmlEventSetWait_v2", "nvmlEventSetWait" } },
	{ AT(mig_mode), false, { "nvmlDeviceGetMigMode" } },
	{ AT(mig_count), false, { "nvmlDeviceGetMaxMigDeviceCount" } },
	{ AT(mig_handle), false, { "nvmlDeviceGetMigDeviceHandleByIndex" } },
};

/* Found by the loader's own rules first; the others are places it does not search. */
static const char *const places[] = {
	"libnvidia-ml.so.1",
	"/usr/lib/wsl/lib/libnvidia-ml.so.1",
	"/run/opengl-driver/lib/libnvidia-ml.so.1",
	"/usr/local/nvidia/lib64/libnvidia-ml.so.1",
};

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

static bool find_calls(void *library, struct nvml_calls *ret, struct gpu_report *why)
{
	for (size_t i = 0; i < ARRAY_LEN(symbols); i++) {
		void *at = NULL;

		for (size_t k = 0; !at && k < ARRAY_LEN(symbols[i].names) && symbols[i].names[k];
		     k++)
			at = dlsym(library, symbols[i].names[k]);
		if (!at && symbols[i].is_needed) {
			gpu_report_refuse(why, GPU_IMPOSSIBLE, "libnvidia-ml.so.1 has no %s",
			                  symbols[i].names[0]);
			return false;
		}
		memcpy((char *)ret + symbols[i].at, &at, sizeof at);
	}
	return true;
}

bool nvml_library_load(const char *path, struct nvml_calls *ret, struct gpu_report *why)
{
	void *library = load(path, why);

	return library && find_calls(library, ret, why);
}
