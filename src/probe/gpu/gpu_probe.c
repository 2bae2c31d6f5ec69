/* SPDX-License-Identifier: MIT */
/* GPUs of NVIDIA, by the driver's library, else by nvidia-smi; both in a helper process. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/pid_namespace.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/gpu/gpu_link.h"
#include "probe/probe.h"

#define WAIT_STEP_NS (20 * NS_PER_MS)

struct gpu_probe {
	struct probe_env env;
	const char *source; /* as users read it */
	struct gpu_link *link;
	bool is_awake;      /* the first tick starts nothing: many jobs end before the second */
	bool pids_are_ours; /* the driver counts processes as we do */
	uint64_t read_ns;   /* of the last tick */
	unsigned reported;  /* failures that are in the events */
};

/* Files that are there when the driver is loaded. */
static const char *const devices[] = {
	"dev/nvidiactl",
	"proc/driver/nvidia/version",
	"usr/lib/wsl/lib/libnvidia-ml.so.1",
};

static bool has_device(const struct probe_env *env)
{
	for (size_t i = 0; i < ARRAY_LEN(devices); i++)
		if (faccessat(env->root_fd, devices[i], F_OK, 0) == 0)
			return true;
	return false;
}

static bool is_test(void)
{
	return secure_getenv(GPU_ENV_NVML) || secure_getenv(GPU_ENV_SMI);
}

static int check(const struct probe_env *env, struct err *err)
{
	if (!env->is_live)
		return err_set(err, ENODEV, "GPUs are asked on the live machine only");
	if (!env->gpu_helper)
		return err_set(err, ENODEV, "switched off");
	if (!env->gpu_insist && !is_test() && !has_device(env))
		return err_set(err, ENODEV, "no NVIDIA device found");
	return 0;
}

static int gpu_open(const struct probe_env *env, const char *source,
                    const struct gpu_link_options *options, void **ret_self, struct err *err)
{
	struct gpu_link_options o = *options;
	struct gpu_probe *self;

	if (check(env, err) < 0)
		return -err->code;
	self = xcalloc(1, sizeof *self);
	o.program = env->gpu_helper;
	self->env = *env;
	self->source = source;
	self->link = gpu_link_new(&o);
	self->pids_are_ours = pid_namespace_is_initial(env->root_fd);
	*ret_self = self;
	return 0;
}

static int nvml_tier_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	static const struct gpu_link_options options = {
		.source = gpu_source_nvml,
		.start_ns = 10 * NS_PER_S, /* an unused GPU is woken first */
		.answer_ns = 2 * NS_PER_S,
		.gap_ns = 90 * NS_PER_MS, /* the driver's own figures are not newer */
		.grace_ns = 10 * NS_PER_MS,
		.retry_ns = NS_PER_S,
		.tries = 3,
	};

	return gpu_open(env, "NVML", &options, ret_self, err);
}

static int smi_tier_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	static const struct gpu_link_options options = {
		.source = gpu_source_smi,
		.start_ns = 10 * NS_PER_S, /* two runs of 2 s, and their ends */
		.answer_ns = 10 * NS_PER_S,
		.gap_ns = 1900 * NS_PER_MS, /* it costs a tenth of a second of CPU */
		.retry_ns = 4 * NS_PER_S,
		.tries = 3,
	};

	return gpu_open(env, "nvidia-smi", &options, ret_self, err);
}

static void gpu_close(void *self_)
{
	struct gpu_probe *self = self_;

	if (!self)
		return;
	gpu_link_free(self->link);
	free(self);
}

/* What the helper takes is our cost, too. */
static void add_cost(const struct gpu_probe *self, struct host_readings *host)
{
	if (readings_has(host, HOST_SELF_CPU))
		host->value[HOST_SELF_CPU] += self->link->past_cpu_ns + self->link->cpu_ns;
	if (readings_has(host, HOST_SELF_RSS))
		host->value[HOST_SELF_RSS] += self->link->peak_bytes;
}

static void add_to(struct proc_readings *r, enum proc_metric id, const struct gpu_use_readings *use,
                   enum gpu_use_metric from)
{
	if (readings_has(use, from))
		readings_set(r, id, readings_or(r, id, 0) + use->value[from]);
}

/* The driver counts pids as the host does; in a container the same number may be another process. One
 * that has a GPU's device open is most likely the one that is meant. */
static bool holds_device(const struct gpu_probe *self, pid_t pid)
{
	struct process_request q = { .pid = pid, .device = "/dev/nvidia" };

	process_reader_read(self->env.reader, &q, 1);
	return !q.error && q.has_device;
}

static void add_use(const struct gpu_probe *self, const struct gpu_use *use, struct sample *out)
{
	struct gpu_use *u = vec_push(&out->gpu_uses, GPU_USES_MAX);
	struct proc_sample *p;

	if (!u)
		return;
	*u = *use;
	u->is_foreign = !self->pids_are_ours && !holds_device(self, use->id.pid);
	if (u->is_foreign)
		out->gpus.at[u->gpu].knows_processes = false;
	p = u->is_foreign ? NULL : sample_find_proc(out, use->id.pid);
	if (!p)
		return;
	u->id = p->id;
	add_to(&p->r, PROC_GPU_MEM, &u->r, GPU_USE_MEM);
	add_to(&p->r, PROC_GPU_SM, &u->r, GPU_USE_SM);
}

static void add_report(const struct gpu_probe *self, bool is_fresh, struct sample *out)
{
	const struct gpu_report *r = &self->link->report;

	for (uint32_t i = 0; i < r->gpu_count; i++) {
		struct gpu_sample *gpu = vec_push(&out->gpus, GPUS_MAX);

		if (!gpu)
			return;
		*gpu = r->gpus[i];
		gpu->knows_processes = is_fresh && r->listed >> i & 1;
		if (!is_fresh)
			gpu->r.present = 0;
	}
	for (uint32_t i = 0; is_fresh && i < r->use_count; i++)
		add_use(self, &r->uses[i], out);
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
	snprintf(text, sizeof text, "%s: %s; it is started again", self->source,
	         self->link->reason);
	e->boot_ns = out->boot_ns;
	e->text = sample_add_text(out, text, strlen(text));
}

static int gpu_read(void *self_, struct sample *out, struct err *err)
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
		add_report(self, is_fresh(self, out->mono_ns), out);
	self->read_ns = out->mono_ns;
	if (gpu_link_state(self->link) == GPU_LINK_GAVE_UP)
		return err_set(err, EIO, "%s: %s", self->source, self->link->reason);
	report_failure(self, out);
	return 0;
}

static int gpu_await(void *self_, uint64_t until_ns, struct err *err)
{
	struct gpu_probe *self = self_;

	self->is_awake = true;
	for (;;) {
		uint64_t now_ns = clock_mono_ns();

		gpu_link_turn(self->link, now_ns);
		if (gpu_link_state(self->link) == GPU_LINK_GAVE_UP)
			return err_set(err, EIO, "%s: %s", self->source, self->link->reason);
		if (gpu_link_state(self->link) == GPU_LINK_WORKS || now_ns >= until_ns)
			return 0;
		gpu_link_wait(self->link, MIN(until_ns - now_ns, WAIT_STEP_NS));
	}
}

static void describe(const struct gpu_probe *self, struct probe_health *ret)
{
	const struct gpu_report *r = &self->link->report;
	size_t len;

	if (!r->gpu_count) {
		ret->state = PROBE_ABSENT;
		snprintf(ret->note, sizeof ret->note, "the driver knows no GPU");
		return;
	}
	len = (size_t)snprintf(ret->note, sizeof ret->note, "%u GPU%s%s%s", r->gpu_count,
	                       r->gpu_count == 1 ? "" : "s", r->text[0] ? ", " : "", r->text);
	for (size_t id = 0, n = 0; id < GPU_METRIC_COUNT && len < sizeof ret->note; id++) {
		if (readings_has(&r->gpus[0].r, id))
			continue;
		len += (size_t)snprintf(ret->note + len, sizeof ret->note - len, "%s%s",
		                        n++ ? ", " : "; not reported: ", gpu_metrics[id].key);
	}
	if (!self->pids_are_ours && len < sizeof ret->note)
		snprintf(ret->note + len, sizeof ret->note - len,
		         "; in a container: processes are known where they hold the device open");
}

static void gpu_health(const void *self_, struct probe_health *ret)
{
	const struct gpu_probe *self = self_;

	*ret = (struct probe_health){ .state = PROBE_DEGRADED };
	snprintf(ret->source, sizeof ret->source, "%s", self->source);
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

static bool gpu_owns(const void *self_, pid_t pid)
{
	const struct gpu_probe *self = self_;

	return gpu_link_owns(self->link, pid);
}

const struct probe_ops probe_gpu_nvml = {
	.name = "nvml",
	.open = nvml_tier_open,
	.read = gpu_read,
	.await = gpu_await,
	.owns = gpu_owns,
	.health = gpu_health,
	.close = gpu_close,
};

const struct probe_ops probe_gpu_smi = {
	.name = "nvidia-smi",
	.open = smi_tier_open,
	.read = gpu_read,
	.await = gpu_await,
	.owns = gpu_owns,
	.health = gpu_health,
	.close = gpu_close,
};
