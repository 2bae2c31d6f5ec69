/* SPDX-License-Identifier: MIT */
/* gpu_helper.h - the process in which a driver is asked: by its library, by running
 * nvidia-smi, or by its files in sysfs. The
 * recorder starts itself anew as "PROGRAM gpu-helper SOURCE" with a socket as fd 3; every message
 * from there is a request, and a gpu_report the answer. It ends when the recorder does, and after a
 * failure. */
#pragma once

#define GPU_HELPER_VERB "gpu-helper"
#define GPU_HELPER_FD 3

/* For tests, honoured unless we run with borrowed rights: the library, and the program, to be used
 * in place of the system's. With either set no device is required. */
#define GPU_ENV_NVML "PROCTOR_NVML_PATH"
#define GPU_ENV_SMI "PROCTOR_NVIDIA_SMI"
#define GPU_ENV_FAKE                                                                               \
	"PROCTOR_FAKE_" /* what begins so is handed to the helper for the test's library */

extern const char gpu_source_nvml[], gpu_source_smi[], gpu_source_drm[];

/* argv[0] is the verb. Returns the exit status. */
int gpu_helper_main(int argc, char **argv);
