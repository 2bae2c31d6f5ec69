/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_probe.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/pid_namespace.h"

#define WAIT_STEP_NS (20 * NS_PER_MS)

int gpu_probe_check(const struct probe_env *env, struct err *err)
{
	if (!env->is_live)
		return err_set(err, ENODEV, "GPUs are asked on the live machine only");
	if (!env->gpu_helper)
		return err_set(err, ENODEV, "switched off");
	return 0;
}

struct gpu_probe *gpu_probe_new(const struct probe_env *env, const struct gpu_vendor *vendor)
{
	struct gpu_link_options o = vendor->link;
	struct gpu_probe *self = xcalloc(1, sizeof *self);

	o.program = env->gpu_helper;
	self->env = *env;
	self->vendor = vendor;
	self->link = gpu_link_new(&o);
	self->pids_are_ours = pid_namespace_is_initial(env->root_fd);
	return self;
}

void gpu_probe_close(void *self_)
{
	struct gpu_probe *self = self_;

	if (!self)
		return;
	gpu_link_free(self->link);
	if (self->vendor->close)
		self->vendor->close(self);
	free(self);
}

void gpu_probe_forget(struct gpu_sample *gpu)
{
	gpu->r.present = 0;
	gpu->is_lost = false;
	gpu->health = (struct gpu_health){ 0 };
}

/* The helper's CPU time is part of our cost. */
static void add_cost(const struct gpu_probe *self, struct host_readings *host)
{
	if (readings_has(host, HOST_SELF_CPU))
		host->value[HOST_SELF_CPU] += self->link->past_cpu_ns + self->link->cpu_ns;
	if (readings_has(host, HOST_SELF_RSS))
		host->value[HOST_SELF_RSS] += self->link->peak_bytes;
}

/* The helper is asked at each tick, or as often as it may be; if it did not answer at once, the answer of the
 * tick before holds, and no older one. */
static bool is_fresh(const struct gpu_probe *self, uint64_t now_ns)
{
	uint64_t answered_ns = self->link->answered_ns, interval_ns = now_ns - self->read_ns;
	uint64_t limit_ns = MAX(interval_ns * 3 / 2, interval_ns + self->link->options.gap_ns);

	return gpu_link_state(self->link) == GPU_LINK_WORKS &&
	       (answered_ns >= now_ns || now_ns - answered_ns <= limit_ns);
}

/* A failure that is tried again is no failure of the probe, and is kept as an event. */
static void report_failure(struct gpu_probe *self, struct sample *out)
{
	struct event *e;
	char text[320];

	if (self->link->failures == self->reported)
		return;
	self->reported = self->link->failures;
	e = sample_add_event(out, EVENT_PROBE);
	if (!e)
		return;
	snprintf(text, sizeof text, "%s: %s; it is started again", self->vendor->source,
	         self->link->reason);
	e->boot_ns = out->boot_ns;
	e->text = sample_add_text(out, text, strlen(text));
}

static void report_events(struct gpu_probe *self, size_t first, struct sample *out)
{
	struct gpu_link *l = self->link;

	for (size_t i = first; i < out->gpus.len; i++) {
		gpu_events_feed(&self->events, &out->gpus.at[i], out);
		for (uint32_t k = 0; k < l->xid_count; k++)
			if (l->xids[k].gpu == out->gpus.at[i].index)
				gpu_events_xid(&out->gpus.at[i], l->xids[k].code, out);
	}
	l->xid_count = 0;
}

static void add_gpus(struct gpu_probe *self, struct sample *out)
{
	size_t first = out->gpus.len;
	bool fresh = is_fresh(self, out->mono_ns);

	self->vendor->add(self, fresh, out);
	report_events(self, first, out);
	if (fresh)
		gpu_events_end_tick(&self->events, out);
}

int gpu_probe_read(void *self_, struct sample *out, struct err *err)
{
	struct gpu_probe *self = self_;

	if (!self->is_awake) {
		self->is_awake = true;
		self->read_ns = out->mono_ns;
		return 0;
	}
	gpu_link_turn(self->link, out->mono_ns);
	add_cost(self, &out->host);
	if (self->link->has_report)
		add_gpus(self, out);
	self->read_ns = out->mono_ns;
	if (gpu_link_state(self->link) == GPU_LINK_GAVE_UP)
		return err_set(err, EIO, "%s: %s", self->vendor->source, self->link->reason);
	report_failure(self, out);
	return 0;
}

int gpu_probe_await(void *self_, uint64_t until_ns, struct err *err)
{
	struct gpu_probe *self = self_;

	self->is_awake = true;
	for (;;) {
		uint64_t now_ns = clock_mono_ns();

		gpu_link_turn(self->link, now_ns);
		if (gpu_link_state(self->link) == GPU_LINK_GAVE_UP)
			return err_set(err, EIO, "%s: %s", self->vendor->source,
			               self->link->reason);
		if (gpu_link_state(self->link) == GPU_LINK_WORKS || now_ns >= until_ns)
			return 0;
		gpu_link_wait(self->link, MIN(until_ns - now_ns, WAIT_STEP_NS));
	}
}

void gpu_probe_put_missing(struct buf *to, const char *before, const struct gpu_readings *r)
{
	for (size_t id = 0, n = 0; id < GPU_METRIC_COUNT; id++)
		if (!readings_has(r, id))
			buf_printf(to, "%s%s", n++ ? ", " : before, gpu_metrics[id].key);
}

static void describe(const struct gpu_probe *self, struct probe_health *ret)
{
	cleanup(buf_done) struct buf text = { 0 };
	uint32_t n = self->link->report.gpu_count;

	if (!n) {
		ret->state = PROBE_ABSENT;
		snprintf(ret->note, sizeof ret->note, "the driver knows no GPU");
		return;
	}
	buf_printf(&text, "%u GPU%s", n, n == 1 ? "" : "s");
	self->vendor->describe(self, &text);
	snprintf(ret->note, sizeof ret->note, "%s", text.at);
}

void gpu_probe_health(const void *self_, struct probe_health *ret)
{
	const struct gpu_probe *self = self_;

	*ret = (struct probe_health){ .state = PROBE_DEGRADED };
	snprintf(ret->source, sizeof ret->source, "%s", self->vendor->source);
	switch (gpu_link_state(self->link)) {
	case GPU_LINK_QUIET:
		snprintf(ret->note, sizeof ret->note, "has not answered yet");
		break;
	case GPU_LINK_WORKS:
		ret->state = PROBE_WORKS;
		describe(self, ret);
		break;
	case GPU_LINK_FAILING:
		snprintf(ret->note, sizeof ret->note, "%s; it is tried again", self->link->reason);
		break;
	case GPU_LINK_GAVE_UP:
		ret->state = PROBE_ABSENT;
		snprintf(ret->note, sizeof ret->note, "%s", self->link->reason);
		break;
	}
}
