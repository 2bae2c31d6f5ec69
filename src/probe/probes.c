/* SPDX-License-Identifier: MIT */
#include "probe/probe.h"

/* The order of roles matters: detail, gpu and drm need the processes that tasks found; syscalls come before
 * lifecycle (see below). */
static const struct probe_ops *const tasks_tiers[] = { &probe_tasks_bpf, &probe_tasks_proc, NULL };
static const struct probe_ops *const system_tiers[] = { &probe_system, NULL };
static const struct probe_ops *const cgroup_tiers[] = { &probe_cgroup, NULL };
static const struct probe_ops *const lifecycle_tiers[] = { &probe_lifecycle_bpf,
	                                                   &probe_lifecycle_connector, NULL };
static const struct probe_ops *const detail_tiers[] = { &probe_detail, NULL };
static const struct probe_ops *const gpu_tiers[] = { &probe_gpu_nvml, &probe_gpu_smi, NULL };
static const struct probe_ops *const drm_tiers[] = { &probe_gpu_drm, NULL };
static const struct probe_ops *const syscalls_tiers[] = { &probe_syscalls_bpf, &probe_syscalls_strace,
	                                                  NULL };

const struct probe_role probe_roles[] = {
	{ "tasks", "processes and all that is known about each", tasks_tiers },
	{ "system", "memory, load, CPU, pressure, disk and network of the machine", system_tiers },
	{ "cgroup", "usage and limits of the control group we live in", cgroup_tiers },
	/* Before lifecycle: the birth of a process that it reports on is then known, however short its life was. */
	{ "syscalls", NULL, syscalls_tiers },
	{ "lifecycle", "exact beginnings and ends of processes: short lives stay unseen",
	  lifecycle_tiers },
	{ "detail", "PSS, USS, peak memory and file limits of processes", detail_tiers },
	{ "gpu", NULL, gpu_tiers },
	{ "drm", NULL, drm_tiers },
	{ 0 },
};
