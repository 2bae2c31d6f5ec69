/* SPDX-License-Identifier: MIT */
/* GPUs of NVIDIA, by the driver's library, else by nvidia-smi. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/process_reader.h"
#include "probe/gpu/gpu_helper.h"
#include "probe/gpu/gpu_probe.h"
#include "probe/gpu/gpu_uses.h"

/* Files that are there when the driver is loaded. */
static const char *const driver_files[] = {
	"dev/nvidiactl",
	"proc/driver/nvidia/version",
	"usr/lib/wsl/lib/libnvidia-ml.so.1",
};

static bool has_device(const struct probe_env *env)
{
	for (size_t i = 0; i < ARRAY_LEN(driver_files); i++)
		if (faccessat(env->root_fd, driver_files[i], F_OK, 0) == 0)
			return true;
	return false;
}

static bool is_test(void)
{
	return secure_getenv(GPU_ENV_NVML) || secure_getenv(GPU_ENV_SMI);
}

bool gpu_probe_expects_nvidia(const struct probe_env *env)
{
	return env->gpu_insist || is_test() || has_device(env);
}

/* The driver counts pids as the host does; in a container the same number may be another process. One
 * that has a GPU's device open is most likely the one that is meant. */
static bool holds_device(const struct gpu_probe *self, pid_t pid)
{
	struct process_request q = { .pid = pid, .device = "/dev/nvidia" };

	process_reader_read(self->env.reader, &q, 1);
	return !q.error && q.has_device;
}

static void add_use(const struct gpu_probe *self, const struct gpu_use *use, size_t first,
                    struct sample *out)
{
	struct gpu_use u = *use;

	u.gpu += (uint32_t)first;
	u.has_host_pid = !self->pids_are_ours && !holds_device(self, use->id.pid);
	gpu_uses_add(out, &u);
}

static void nvidia_add(struct gpu_probe *self, bool is_fresh, struct sample *out)
{
	const struct gpu_report *r = &self->link->report;
	size_t first = out->gpus.len;

	for (uint32_t i = 0; i < r->gpu_count; i++) {
		struct gpu_sample *gpu = vec_push(&out->gpus, GPUS_MAX);

		if (!gpu)
			return;
		*gpu = r->gpus[i];
		gpu->knows_processes = is_fresh && r->listed >> i & 1;
		if (!is_fresh)
			gpu_probe_forget(gpu);
	}
	for (uint32_t i = 0; is_fresh && i < r->use_count; i++)
		add_use(self, &r->uses[i], first, out);
}

static void nvidia_describe(const struct gpu_probe *self, struct buf *to)
{
	const struct gpu_report *r = &self->link->report;

	if (r->text[0])
		buf_printf(to, ", %s", r->text);
	gpu_probe_put_missing(to, "; not reported: ", &r->gpus[0].r);
	if (!self->pids_are_ours)
		buf_puts(to,
		         "; in a container: processes are known where they hold the device open");
}

static const struct gpu_vendor nvml = {
	.source = "NVML",
	.link = { .source = gpu_source_nvml,
	          .start_ns = 10 * NS_PER_S, /* an unused GPU is woken first */
	          .answer_ns = 2 * NS_PER_S,
	          .gap_ns = 90 * NS_PER_MS, /* the driver's own figures are not newer */
	          .grace_ns = 10 * NS_PER_MS,
	          .retry_ns = NS_PER_S,
	          .tries = 3 },
	.add = nvidia_add,
	.describe = nvidia_describe,
};

static const struct gpu_vendor smi = {
	.source = "nvidia-smi",
	.link = { .source = gpu_source_smi,
	          .start_ns = 10 * NS_PER_S, /* two runs of 2 s, and their ends */
	          .answer_ns = 10 * NS_PER_S,
	          .gap_ns = 1900 * NS_PER_MS, /* it costs a tenth of a second of CPU */
	          .retry_ns = 4 * NS_PER_S,
	          .tries = 3 },
	.add = nvidia_add,
	.describe = nvidia_describe,
};

static int nvidia_open(const struct probe_env *env, const struct gpu_vendor *vendor,
                       void **ret_self, struct err *err)
{
	if (gpu_probe_check(env, err) < 0)
		return -err->code;
	if (!gpu_probe_expects_nvidia(env))
		return err_set(err, ENODEV, "no NVIDIA device found");
	*ret_self = gpu_probe_new(env, vendor);
	return 0;
}

static int nvml_open_tier(const struct probe_env *env, void **ret_self, struct err *err)
{
	return nvidia_open(env, &nvml, ret_self, err);
}

static int smi_open_tier(const struct probe_env *env, void **ret_self, struct err *err)
{
	return nvidia_open(env, &smi, ret_self, err);
}

const struct probe_ops probe_gpu_nvml = { .name = "nvml", .open = nvml_open_tier, GPU_PROBE_OPS };
const struct probe_ops probe_gpu_smi = { .name = "nvidia-smi",
	                                 .open = smi_open_tier,
	                                 GPU_PROBE_OPS };
