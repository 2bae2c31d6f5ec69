/* SPDX-License-Identifier: MIT */
/* gpu_probe.h - what the probes of GPUs share: a helper process that is asked at each tick, how fresh its last answer
 * is, failures, cost, health, and events of GPUs. A vendor's probe adds what the answer means. */
#pragma once

#include "probe/gpu/gpu_events.h"
#include "probe/gpu/gpu_link.h"
#include "probe/probe.h"

struct gpu_probe;

struct gpu_vendor {
	const char *source; /* as users read it */
	struct gpu_link_options link;
	/* Adds the GPUs of the link's report to the sample, and their processes. */
	void (*add)(struct gpu_probe *self, bool is_fresh, struct sample *out);
	/* Words for `doctor`, behind the number of GPUs. */
	void (*describe)(const struct gpu_probe *self, struct buf *to);
	void (*close)(struct gpu_probe *self); /* frees `own`; NULL: there is none */
};

struct gpu_probe {
	struct probe_env env;
	const struct gpu_vendor *vendor;
	void *own; /* of the vendor's probe */
	struct gpu_link *link;
	bool pids_are_ours; /* a driver counts processes as we do */
	bool is_awake;      /* the first tick starts nothing: many jobs end before the second */
	uint64_t read_ns;   /* of the last tick */
	unsigned reported;  /* failures that are in the events */
	struct gpu_events events;
};

/* Whether GPUs are to be watched at all. */
int gpu_probe_check(const struct probe_env *env, struct err *err) must_check;
struct gpu_probe *gpu_probe_new(const struct probe_env *env, const struct gpu_vendor *vendor);
/* Removes the readings of a GPU whose answer is too old. */
void gpu_probe_forget(struct gpu_sample *gpu);
/* The keys of figures that a GPU does not report, behind these words. */
void gpu_probe_put_missing(struct buf *to, const char *before, const struct gpu_readings *r);

/* Functions of struct probe_ops. */
int gpu_probe_read(void *self, struct sample *out, struct err *err);
int gpu_probe_await(void *self, uint64_t until_ns, struct err *err);
void gpu_probe_health(const void *self, struct probe_health *ret);
void gpu_probe_close(void *self);
#define GPU_PROBE_OPS                                                                              \
	.read = gpu_probe_read, .await = gpu_probe_await, .health = gpu_probe_health,              \
	.close = gpu_probe_close

/* Whether NVIDIA's own driver is here, or is to be asked all the same. */
bool gpu_probe_expects_nvidia(const struct probe_env *env);
