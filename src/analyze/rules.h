/* SPDX-License-Identifier: MIT */
/* rules.h - the rules of anomaly_rules.c. Each returns whether it holds, and then fills in the
 * values of the finding; its subject is filled in before. An absent value never matches. */
#pragma once

#include "analyze/anomaly_rules.h"

#define PROCESS_RULE(name)                                                                         \
	bool name(const struct anomaly_input *in, const struct proc_snap *p,                       \
	          const struct trail *t, struct finding *f)
#define JOB_RULE(name)                                                                             \
	bool name(const struct anomaly_input *in, size_t job, const struct job_trail *t,           \
	          struct finding *f)
#define MACHINE_RULE(name) bool name(const struct anomaly_input *in, struct finding *f)

#define X(id, key, name, scope, ...) scope##_RULE(rule_##key);
ANOMALY_KINDS(X)
#undef X
