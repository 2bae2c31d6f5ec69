/* SPDX-License-Identifier: MIT */
/* admission.h - whether there is room for more work on this machine: the daemon is asked, and where none
 * answers, a look of our own has to do. That one is there and does not answer, or no longer, is
 * told. */
#pragma once

#include "cli/cli.h"
#include "engine/sampler.h"
#include "job/pressure.h"

/* Zeroed is ready, with the limits of the configuration in it. */
struct admission {
	const char *socket; /* --socket; NULL: not given */
	struct pressure_limits limits;
	struct sampler *sampler; /* for looks of our own */
	struct snapshot look;
	enum pressure_level level; /* at the look before, or as the daemon said last */
	bool was_answered;         /* by a daemon */
	bool is_told;              /* that it no longer is */
};

struct admission_answer {
	struct pressure pressure;
	uint64_t delay_ns; /* to wait before the next start */
	bool admits_job, is_from_daemon;
};

/* `job_type`: what is to be started; NULL: not told. */
int admission_ask(struct admission *room, const char *job_type, struct admission_answer *ret,
                  struct err *err) must_check;
/* Until a job may begin, and then the delay that its level asks for. Why it waits is told once. A
 * machine that cannot be looked at holds up nobody: told, too. */
void admission_wait(struct admission *room, const char *job_type);
void admission_done(struct admission *room);
