/* SPDX-License-Identifier: MIT */
/* anomaly_rules.h - judges a snapshot. Pure: the snapshot and the history that was fed with it come in,
 * findings go out; anomaly_episodes.h makes episodes of them. docs/numbers.md tells how each kind is
 * judged; a new kind is a row in anomaly_rules.h and a rule in anomaly.c. */
#pragma once

#include "analyze/process_history.h"

#define FINDINGS_MAX 256

/* That it is so now. Values as in struct anomaly. */
struct finding {
	enum anomaly_kind kind;
	enum severity severity;
	struct proc_id id; /* pid 0: the whole machine */
	char comm[COMM_LEN];
	int32_t job;
	uint32_t sheet;
	double value, threshold, base;
	uint64_t base_boot_ns;
};

struct findings {
	struct finding *at;
	size_t len, cap;
	uint64_t dropped; /* at FINDINGS_MAX, ever */
};

/* `ret` is emptied first; its memory is used again. */
void anomaly_detect(const struct snapshot *snap, const struct process_history *h,
                    const struct anomaly_config *config, struct findings *ret);
