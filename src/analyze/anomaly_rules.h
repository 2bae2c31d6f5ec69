/* SPDX-License-Identifier: MIT */
/* anomaly_rules.h - finds anomalies in a snapshot. A pure function of the snapshot and the history
 * that was fed with it; anomaly_episodes.h turns its findings into episodes. docs/anomalies.md
 * describes the rules; a new kind is a row in model/anomaly.h, a rule, and its row in anomaly_rules.c. */
#pragma once

#include "analyze/job_history.h"
#include "analyze/process_history.h"

#define FINDINGS_MAX 256

/* An anomaly in this snapshot. Values as in struct anomaly. */
struct finding {
	enum anomaly_kind kind;
	enum severity severity;
	struct proc_id id; /* pid 0: the whole job or machine */
	char comm[COMM_LEN];
	int32_t job;
	uint32_t sheet;
	double value, threshold, base;
	uint64_t base_boot_ns;
	double other;
	char text[ANOMALY_TEXT_MAX];
	uint32_t runs;
};

struct findings {
	struct finding *at;
	size_t len, cap;
	uint64_t dropped; /* findings beyond FINDINGS_MAX, in total */
};

/* The input of a rule. */
struct anomaly_input {
	const struct snapshot *snap;
	const struct anomaly_config *config;
	const struct process_history *processes;
	const struct job_history *jobs;
	bool owns_group; /* snap->cgroup is the group around the job, not that of a daemon */
};

/* `ret` is emptied first; its memory is reused. */
void anomaly_rules_apply(const struct anomaly_input *in, struct findings *ret);
