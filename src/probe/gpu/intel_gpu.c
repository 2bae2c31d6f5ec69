/* SPDX-License-Identifier: MIT */
/* GPUs of Intel. Neither driver has the load or the memory in use in sysfs: those come from the
 * clients (drm_clients.h). */
#include "probe/gpu/drm_devices.h"

static void i915_read(int device_fd, int card_fd, struct gpu_sample *to)
{
	drm_read_reading(card_fd, "gt/gt0/rps_act_freq_mhz", 1, GPU_SM_CLOCK, &to->r);
	drm_read_reading(card_fd, "gt_act_freq_mhz", 1, GPU_SM_CLOCK, &to->r); /* before 5.18 */
	drm_read_sensors(device_fd, &to->r);
}

static void xe_read(int device_fd, int card_fd, struct gpu_sample *to)
{
	(void)card_fd;
	drm_read_reading(device_fd, "tile0/gt0/freq0/act_freq", 1, GPU_SM_CLOCK, &to->r);
	drm_read_sensors(device_fd, &to->r);
}

const struct drm_driver drm_i915 = { "i915", "Intel", i915_read };
const struct drm_driver drm_xe = { "xe", "Intel", xe_read };
