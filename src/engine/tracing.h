/* SPDX-License-Identifier: MIT */
/* tracing.h - has the system calls of all processes of jobs counted, but for jobs that another recorder
 * writes into the same store. Children of a traced process are traced
 * from birth; those that join a job later are found at the next tick. What fails is tried again at the
 * next ticks, but not for ever. */
#pragma once

#include "engine/sampler.h"
#include "job/jobs.h"

struct tracing {
	struct map traced; /* pid → start ticks, of processes that live; also those given up */
	char why_not[600]; /* the last failure; "": none */
	unsigned failures; /* in a row, of some that are not traced yet */
};

void tracing_done(struct tracing *t);
/* A command that is about to run its program, which counts from there on. */
int tracing_begin(struct tracing *t, struct sampler *s, struct proc_id command, struct err *err)
	must_check;
/* Before the probes are read: the processes of jobs are the focus of the sample. False: t->why_not is
 * new. */
bool tracing_follow(struct tracing *t, struct sampler *s, const struct jobs *jobs);
