/* SPDX-License-Identifier: MIT */
#include "probe/gpu/gpu_helper.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "model/own_process.h"
#include "probe/gpu/drm_devices.h"
#include "probe/gpu/nvml.h"
#include "probe/gpu/nvidia_smi.h"

const char gpu_source_nvml[] = "nvml", gpu_source_smi[] = "nvidia-smi", gpu_source_drm[] = "drm";

struct gpu_helper {
	const char *source;
	int root_fd;
	struct drm_devices devices;
	struct nvidia_smi smi;
	struct nvml *nvml; /* NULL before the first request */
	struct gpu_report report;
	struct buf message;
};

/* No core file when the library aborts, and no directory is kept busy. */
static bool settle(void)
{
	const struct rlimit no_core = { 0 };
	int type = 0;
	socklen_t len = sizeof type;

	prctl(PR_SET_NAME, OURS_GPU); /* as its keeper: adoption recognises it by that */
	return setrlimit(RLIMIT_CORE, &no_core) == 0 && chdir("/") == 0 &&
	       getsockopt(GPU_HELPER_FD, SOL_SOCKET, SO_TYPE, &type, &len) == 0 &&
	       type == SOCK_SEQPACKET;
}

static void set_cost(struct gpu_report *r)
{
	struct rusage self, children;

	if (getrusage(RUSAGE_SELF, &self) < 0 || getrusage(RUSAGE_CHILDREN, &children) < 0)
		return;
	r->cpu_ns = clock_timeval_ns(self.ru_utime) + clock_timeval_ns(self.ru_stime) +
	            clock_timeval_ns(children.ru_utime) + clock_timeval_ns(children.ru_stime);
	r->peak_bytes = (uint64_t)(self.ru_maxrss + children.ru_maxrss) * 1024;
}

static void read_source(struct gpu_helper *h)
{
	if (h->source == gpu_source_drm) {
		drm_devices_read(h->root_fd, &h->devices, &h->report);
		return;
	}
	if (h->source == gpu_source_smi) {
		nvidia_smi_read(&h->smi, secure_getenv(GPU_ENV_SMI), &h->report);
		return;
	}
	if (!h->nvml)
		h->nvml = nvml_open(secure_getenv(GPU_ENV_NVML), &h->report);
	if (h->nvml)
		nvml_read(h->nvml, &h->report);
}

static bool send_answer(struct gpu_helper *h)
{
	buf_reset(&h->message);
	return gpu_report_encode(&h->report, &h->message) &&
	       send(GPU_HELPER_FD, h->message.at, h->message.len, MSG_NOSIGNAL) ==
	               (ssize_t)h->message.len;
}

static bool await_request(void)
{
	char request;
	ssize_t n;

	do
		n = recv(GPU_HELPER_FD, &request, sizeof request, 0);
	while (n < 0 && errno == EINTR);
	return n > 0;
}

static const char *find_source(const char *name)
{
	static const char *const sources[] = { gpu_source_nvml, gpu_source_smi, gpu_source_drm };

	for (size_t i = 0; i < ARRAY_LEN(sources); i++)
		if (strcmp(sources[i], name) == 0)
			return sources[i];
	return NULL;
}

int gpu_helper_main(int argc, char **argv)
{
	const char *source = argc == 2 ? find_source(argv[1]) : NULL;
	struct gpu_helper *h;

	if (!source)
		return 2; /* only the recorder starts this */
	if (!settle())
		return 1;
	h = xcalloc(1, sizeof *h);
	h->source = source;
	h->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	while (await_request()) {
		uint64_t begin_ns = clock_mono_ns();

		read_source(h);
		h->report.took_ns = clock_mono_ns() - begin_ns;
		set_cost(&h->report);
		if (!send_answer(h) || h->report.verdict != GPU_REPORTED)
			_exit(1); /* the library's own ends may hang, too */
	}
	_exit(0);
}
