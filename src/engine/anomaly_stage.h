/* SPDX-License-Identifier: MIT */
/* anomaly_stage.h - detects anomalies in each snapshot and adds them to it: the episodes that last or
 * have just ended, and an event when one begins and when it ends. */
#pragma once

#include "analyze/anomaly_episodes.h"
#include "kernel/written_disks.h"

struct anomaly_stage {
	struct anomaly_config config; /* zeros: nothing is detected */
	bool owns_group;              /* as in struct anomaly_input */
	/* What processes wait for, if all of them do; NULL: not determined. */
	void (*list_calls)(void *self, const struct proc_id *ids, size_t n,
	                   struct blocked_calls *ret);
	void *list_self;
	uint64_t (*clock_ns)(void); /* how long that takes is measured by it */
	uint64_t examines_again_ns; /* boot clock: no job is examined before */
	int root_fd; /* where processes are found, to see what disks jobs write to; 0: not determined */
	struct written_disks *search; /* NULL: none is under way */
	uint64_t searched_ns;         /* boot clock */
	unsigned n_hung;              /* searches that were left behind */
	struct process_history processes;
	struct job_history jobs;
	struct findings findings;
	struct episodes episodes;
};

/* For ticks and flushes, after the figures of jobs: compares each tick with the history, and ends open episodes with
 * the last flush. `past` has what earlier runs of the type of each of the snapshot's jobs used; NULL: not known. */
void anomaly_stage_run(struct anomaly_stage *stage, struct snapshot *snap,
                       const struct type_history *const *past);
void anomaly_stage_done(struct anomaly_stage *stage);
