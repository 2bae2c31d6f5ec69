/* SPDX-License-Identifier: MIT */
/* drm_devices.h - the GPUs that the kernel's DRM layer shows in /sys/class/drm, except those that NVIDIA's own
 * driver serves. Finding them asks no driver: only links, and files of the bus. Their figures do,
 * and a driver may hang, so only the helper process reads those (gpu_helper.h). */
#pragma once

#include "probe/gpu/gpu_report.h"

#define DRM_NODES_MAX 4
#define DRM_TEXT_SHORT 24

/* A driver and what its sysfs files report; one file for each. */
struct drm_driver {
	const char *name;  /* the kernel's: "amdgpu" */
	const char *maker; /* "AMD" */
	/* Adds what it finds in the device's directory (and that of its card); NULL: it has no figures there. */
	void (*read)(int device_fd, int card_fd, struct gpu_sample *to);
};
extern const struct drm_driver drm_amdgpu, drm_i915, drm_xe;

struct drm_device {
	const struct drm_driver *driver;
	unsigned card;                             /* of /sys/class/drm/cardN */
	char bus[GPU_BUS_MAX];                     /* "0000:03:00.0", "ff9a0000.gpu" */
	char id[DRM_TEXT_SHORT];                   /* "1002:73bf"; "": not a PCI device */
	char nodes[DRM_NODES_MAX][DRM_TEXT_SHORT]; /* "card1", "renderD128" */
};

#define DRM_DEVICES_MAX (GPU_INDEX_PARTS - GPU_INDEX_OTHERS) /* as many as have indexes */

struct drm_devices {
	size_t count;
	struct drm_device at[DRM_DEVICES_MAX];
};

/* Adds those that are new: a device keeps its place, also when it is gone. */
void drm_devices_find(int root_fd, struct drm_devices *d);
/* By the address on the bus, or the node of an open file; -1: none. */
int drm_devices_by_bus(const struct drm_devices *d, const char *bus);
int drm_devices_by_node(const struct drm_devices *d, const char *node);
/* All devices with their figures. */
void drm_devices_read(int root_fd, struct drm_devices *d, struct gpu_report *ret);

/* The lines of a device's uevent. */
struct drm_uevent {
	char driver[DRM_TEXT_SHORT], bus[GPU_BUS_MAX], id[DRM_TEXT_SHORT];
};
void drm_uevent_parse(struct scan text, struct drm_uevent *ret);

/* ---- for drivers ----------------------------------------------------------------------------- */

/* The number that is all of a small file, if there is one. */
void drm_read_reading(int dir_fd, const char *name, uint64_t divisor, enum gpu_metric id,
                      struct gpu_readings *to);
/* Temperature and power, by the sensors of the device. */
void drm_read_sensors(int device_fd, struct gpu_readings *to);
