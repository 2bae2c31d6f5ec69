/* SPDX-License-Identifier: MIT */
/* rules.h - the rules of anomaly_rules.c. Each returns whether it holds, and then fills in the values of the finding; who it is
 * about is filled in before. An absent value never matches. */
#pragma once

#include "analyze/anomaly_rules.h"

#define PROCESS_RULE(name)                                                                         \
	bool name(const struct anomaly_input *in, const struct proc_snap *p,                       \
	          const struct trail *t, struct finding *f)
#define JOB_RULE(name)                                                                             \
	bool name(const struct anomaly_input *in, size_t job, const struct job_trail *t,           \
	          struct finding *f)
#define MACHINE_RULE(name) bool name(const struct anomaly_input *in, struct finding *f)

PROCESS_RULE(rule_memory_spike);
PROCESS_RULE(rule_runaway_process);
PROCESS_RULE(rule_zombie);
PROCESS_RULE(rule_fd_exhaustion);
PROCESS_RULE(rule_thread_explosion);
JOB_RULE(rule_memory_leak);
JOB_RULE(rule_memory_exhaustion);
JOB_RULE(rule_stall);
JOB_RULE(rule_fork_storm);
JOB_RULE(rule_gpu_idle);
JOB_RULE(rule_throttled);
JOB_RULE(rule_disk_filling);
MACHINE_RULE(rule_memory_pressure);
MACHINE_RULE(rule_swap_thrash);
