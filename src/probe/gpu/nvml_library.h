/* SPDX-License-Identifier: MIT */
/* nvml_library.h - the parts of NVML's public interface that are used, in our own words, and the library's calls.
 * Every one but three may be missing: older drivers. */
#pragma once

#include "probe/gpu/gpu_report.h"

typedef void *nvml_device;

enum nvml_code {
	NVML_OK = 0,
	NVML_NO_PERMISSION = 4,
	NVML_DRIVER_NOT_LOADED = 9,
	NVML_LIBRARY_NOT_FOUND = 12,
	NVML_FUNCTION_NOT_FOUND = 13,
	NVML_VERSION_MISMATCH = 18,
};

enum { NVML_ECC_CORRECTED = 0, NVML_ECC_UNCORRECTED = 1, NVML_ECC_VOLATILE = 0 };
#define NVML_EVENT_XID 8ULL

typedef void *nvml_events;
struct nvml_event {
	nvml_device device;
	unsigned long long type, data;           /* data: of an XID, its number */
	unsigned gpu_instance, compute_instance; /* of the second layout only */
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

struct nvml_calls {
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
	int (*clock_reasons)(nvml_device, unsigned long long *ret);
	int (*ecc_errors)(nvml_device, int severity, int since, unsigned long long *ret);
	int (*events_new)(nvml_events *ret);
	int (*events_register)(nvml_device, unsigned long long types, nvml_events);
	int (*events_wait)(nvml_events, struct nvml_event *ret, unsigned timeout_ms);
	int (*mig_mode)(nvml_device, unsigned *ret_now, unsigned *ret_next);
	int (*mig_count)(nvml_device, unsigned *ret);
	int (*mig_handle)(nvml_device, unsigned index, nvml_device *ret);
};

/* path: the library, for tests; NULL: the system's. False with the reason; it stays loaded until the process
 * ends. */
bool nvml_library_load(const char *path, struct nvml_calls *ret, struct gpu_report *why);
