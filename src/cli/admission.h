/* SPDX-License-Identifier: MIT */
/* admission.h - whether the machine has room for more work: as the daemon answers or, without a daemon,
 * by a sample of our own. A daemon that does not answer, or stopped answering, is reported. */
#pragma once

#include "cli/cli.h"
#include "engine/sampler.h"
#include "job/pressure.h"

/* Initialised with zeros and the limits of the configuration. */
struct admission {
	const char *socket; /* --socket; NULL: not given */
	struct pressure_limits limits;
	struct sampler *sampler; /* for samples of our own */
	struct snapshot snap;
	uint64_t estimated_bytes;  /* what the job will need; 0: not known */
	enum pressure_level level; /* of the previous sample, or the daemon's last answer */
	bool was_answered;         /* by a daemon */
	bool is_warned;            /* it was reported that the daemon stopped answering */
};

struct admission_answer {
	struct pressure pressure;
	uint64_t delay_ns; /* to wait before the next start */
	bool admits_job, is_from_daemon;
};

/* `job_type`: of the job that is to start; NULL: unknown. */
int admission_ask(struct admission *room, const char *job_type, struct admission_answer *ret,
                  struct err *err) must_check;
/* Waits until a job may start, and then for the delay of the current level. The reason is logged
 * once. If the machine cannot be sampled, that is logged and the job starts. */
void admission_wait(struct admission *room, const char *job_type);
void admission_done(struct admission *room);
