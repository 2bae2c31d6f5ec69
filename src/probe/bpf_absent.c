/* SPDX-License-Identifier: MIT */
/* Replaces the BPF probes in a build without them. */
#include <errno.h>

#include "probe/bpf/bpf_call.h"
#include "probe/probe.h"

int bpf_check_rights(struct err *err)
{
	return err_set(err, ENOTSUP, "built without BPF");
}

static int absent_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	(void)env;
	(void)ret_self;
	return err_set(err, ENOTSUP, "built without BPF");
}

const struct probe_ops probe_tasks_bpf = { .name = "tasks-bpf",
	                                   .flags = PROBE_NEEDS_BPF,
	                                   .open = absent_open };
const struct probe_ops probe_lifecycle_bpf = { .name = "lifecycle-bpf",
	                                       .flags = PROBE_NEEDS_BPF,
	                                       .open = absent_open };
const struct probe_ops probe_syscalls_bpf = { .name = "syscalls-bpf",
	                                      .flags = PROBE_NEEDS_BPF | PROBE_TRACES,
	                                      .open = absent_open };
