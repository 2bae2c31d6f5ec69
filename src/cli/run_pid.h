/* SPDX-License-Identifier: MIT */
/* run_pid.h - `proctor run --pid`: records a process that runs already, until it ends or Ctrl-C. */
#pragma once

#include "cli/run_recording.h"
#include "engine/pidhost.h"

/* Finds the process of `o` and names the job after its program. */
int run_pid_name_job(const struct run_options *o, struct pidhost_target *ret_target,
                     struct job *ret_job, struct err *err) must_check;
/* The exit status of `run`. */
int run_pid(struct run_recording *r, const struct pidhost_target *target);
