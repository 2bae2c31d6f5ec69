/* SPDX-License-Identifier: MIT */
/* flight_account.h - the last system calls of processes that failed: which of them are kept. Of a job these are
 * the first few and the latest that died of a signal, the same of those that ended with a status, and of those that
 * still ran when the job failed. */
#pragma once

#include "model/job_roster.h"
#include "model/snapshot.h"

#define FLIGHT_KEPT_FIRST 4
#define FLIGHT_KEPT 16 /* of each kind of end */

enum flight_end { FLIGHT_SIGNAL, FLIGHT_STATUS, FLIGHT_RUNNING };

struct flight_process {
	struct proc_id id;
	job_handle job;
	enum flight_end end;
	uint64_t seen_boot_ns; /* when calls of it were read last */
	bool has_changed;
	bool is_left_out; /* others are kept instead */
	bool has_lost;    /* some of its calls are missing */
	uint32_t keep;    /* so many calls */
	VEC(struct flight_call) calls;
};

struct flight_account {
	VEC(struct flight_process) processes; /* in the order of their ends */
};

void flight_account_done(struct flight_account *a);
/* Takes the calls read since the last snapshot. */
void flight_account_take(struct flight_account *a, const struct job_roster *jobs,
                         const struct sample *s);
/* Puts those that have changed into the snapshot. */
void flight_account_show(struct flight_account *a, const struct job_roster *jobs,
                         struct snapshot *snap);
