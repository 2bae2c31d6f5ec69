/* SPDX-License-Identifier: MIT */
/* engine.h - the conductor: one tick reads the probes, makes the snapshot and hands it on. Hosted
 * by `record`, `run` and the daemon alike. It never logs: what people should hear goes to the
 * host's notice function. */
#pragma once

#include "base/loop.h"
#include "engine/budget.h"
#include "engine/recorder.h"
#include "engine/sampler.h"

struct engine;

struct engine_options {
	struct sampler_options sampler;
	struct recorder_options recorder;
	uint64_t interval_ns;
	double budget_ratio; /* of one core; 0: no budget */
	bool keep_interval;  /* the budget may not stretch it */
	void (*notice)(void *self, const char *text);
	void *notice_self;
};

struct engine_totals {
	uint64_t ticks, missed_ticks;
	uint64_t cpu_ns; /* our own */
	uint64_t processes, events;
	struct recorder_status recorder;
};

int engine_new(struct loop *loop, const struct engine_options *options, struct engine **ret,
               struct err *err) must_check;
void engine_free(struct engine *e); /* stores what waits; NULL is fine */
DEFINE_CLEANUP(struct engine *, engine_free)
/* Stores what waits, tells the totals, and frees it. */
void engine_stop(struct engine *take_e, struct engine_totals *ret);
struct sampler *engine_sampler(struct engine *e);
