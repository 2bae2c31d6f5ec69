/* SPDX-License-Identifier: MIT */
#include "probe/gpu/nvidia_smi.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/helper_process.h"
#include "probe/gpu/gpu_child.h"
#include "probe/gpu/nvml.h"

#define PATIENCE_NS (2 * NS_PER_S)
#define OUTPUT_MAX ((size_t)256 << 10)
#define BLANKS " \t\r"

static void trim(struct scan *s)
{
	while (s->p < s->end && strchr(BLANKS, *s->p))
		s->p++;
	while (s->end > s->p && strchr(BLANKS, s->end[-1]))
		s->end--;
}

/* Up to the next comma, without the blanks around. False when there is none left. */
static bool next_field(struct scan *line, struct scan *ret)
{
	if (!line->p)
		return false;
	if (!scan_until(line, ',', ret)) {
		*ret = *line;
		line->p = line->end = NULL;
	}
	trim(ret);
	return true;
}

/* The number alone: "[N/A]", "1e5" and "12 W" are none. */
static bool is_number(struct scan field, unsigned decimals, uint64_t *ret)
{
	uint64_t v;

	if (!scan_fixed(&field, decimals, &v) || !scan_at_end(&field))
		return false;
	*ret = v;
	return true;
}

static void copy_text(struct scan field, char to[GPU_TEXT_MAX])
{
	size_t n = MIN(scan_left(&field), (size_t)GPU_TEXT_MAX - 1);

	if (n && !memchr(field.p, '\0', n))
		memcpy(to, field.p, n);
}

#define MIB (UINT64_C(1) << 20)
#define MIB_MAX (UINT64_MAX / MIB)

/* "0x0000000000000004, 0, [N/A], " */
static bool parse_health(struct scan *line, struct gpu_health *ret)
{
	struct scan reasons, corrected, uncorrected;
	uint64_t bits;

	if (!next_field(line, &reasons) || !next_field(line, &corrected) ||
	    !next_field(line, &uncorrected))
		return false;
	ret->knows_throttle = scan_lit(&reasons, "0x") && scan_hex(&reasons, &bits) &&
	                      scan_at_end(&reasons);
	ret->throttle = ret->knows_throttle ? nvml_throttle(bits) : 0;
	ret->knows_corrected = is_number(corrected, 0, &ret->ecc_corrected);
	ret->knows_uncorrected = is_number(uncorrected, 0, &ret->ecc_uncorrected);
	return true;
}

/* "0, GPU-5d1f5a4e-…, 34, 12, 1234, 40536, 45, 123.45, 1410, 1215, NVIDIA A100-SXM4-40GB" */
static bool parse_gpu(struct scan line, bool has_health, struct gpu_sample *ret)
{
	static const struct {
		enum gpu_metric id;
		unsigned decimals;
		uint64_t unit, max;
	} columns[] = {
		{ GPU_UTIL, 0, 1, 100 },
		{ GPU_MEM_UTIL, 0, 1, 100 },
		{ GPU_MEM_USED, 0, MIB, MIB_MAX },
		{ GPU_MEM_TOTAL, 0, MIB, MIB_MAX },
		{ GPU_TEMPERATURE, 0, 1, 1000 },
		{ GPU_POWER, 3, 1, UINT64_MAX },
		{ GPU_SM_CLOCK, 0, 1, UINT64_MAX },
		{ GPU_MEM_CLOCK, 0, 1, UINT64_MAX },
	};
	struct gpu_sample gpu = { 0 };
	struct scan field;
	uint64_t v;

	if (!next_field(&line, &field) || !is_number(field, 0, &v) || v > UINT32_MAX)
		return false;
	gpu.index = (uint32_t)v;
	if (!next_field(&line, &field))
		return false;
	copy_text(field, gpu.uuid);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++) {
		if (!next_field(&line, &field))
			return false;
		if (is_number(field, columns[i].decimals, &v) && v <= columns[i].max)
			readings_set(&gpu.r, columns[i].id, v * columns[i].unit);
	}
	gpu.is_lost = !gpu.r.present;
	if (has_health && !parse_health(&line, &gpu.health))
		return false;
	if (line.p) {
		trim(&line);
		copy_text(line, gpu.name);
	}
	*ret = gpu;
	return true;
}

size_t nvidia_smi_parse_gpus(struct scan text, bool has_health, struct gpu_report *ret)
{
	struct scan line;
	size_t understood = 0;

	while (scan_line(&text, &line)) {
		struct gpu_sample gpu;

		if (ret->gpu_count == GPUS_MAX || !parse_gpu(line, has_health, &gpu))
			continue;
		ret->gpus[ret->gpu_count++] = gpu;
		understood++;
	}
	return understood;
}

static bool find_gpu(const struct gpu_report *r, struct scan uuid, uint32_t *ret)
{
	for (uint32_t i = 0; i < r->gpu_count; i++)
		if (r->gpus[i].uuid[0] && scan_eq(&uuid, r->gpus[i].uuid)) {
			*ret = i;
			return true;
		}
	return false;
}

/* "GPU-5d1f5a4e-…, 4711, 1024" */
static bool parse_app(struct scan line, struct gpu_report *to)
{
	struct scan uuid, field;
	struct gpu_use *u;
	uint32_t gpu;
	uint64_t pid, mib;

	if (!next_field(&line, &uuid) || !next_field(&line, &field) || !is_number(field, 0, &pid) ||
	    !next_field(&line, &field) || !find_gpu(to, uuid, &gpu))
		return false;
	u = gpu_report_use(to, gpu, pid);
	if (!u)
		return false;
	if (is_number(field, 0, &mib) && mib <= MIB_MAX)
		readings_set(&u->r, GPU_USE_MEM, mib * MIB);
	return true;
}

size_t nvidia_smi_parse_apps(struct scan text, struct gpu_report *ret)
{
	struct scan line;
	size_t understood = 0;

	while (scan_line(&text, &line))
		understood += parse_app(line, ret);
	return understood;
}

/* ---- running it ---- */

enum { /* exit status of nvidia-smi */
       SMI_BAD_QUERY = 2,
       SMI_NO_DEVICE = 6,
       SMI_NO_DRIVER = 9,
       SMI_NO_LIBRARY = 12,
       SMI_MISMATCH = 18,
       NOT_STARTED = 127,
};

static const char *const places[] = {
	"/usr/bin/nvidia-smi",
	"/usr/lib/wsl/lib/nvidia-smi",
	"/run/current-system/sw/bin/nvidia-smi",
	"/usr/local/nvidia/bin/nvidia-smi",
};

static const char *find_program(void)
{
	for (size_t i = 0; i < ARRAY_LEN(places); i++)
		if (access(places[i], X_OK) == 0)
			return places[i];
	return NULL;
}

/* In the child. It dies with us, also if we are dead already, and prints nothing but its answer. */
static void exec_smi(const char *path, const char *query, int to_fd, pid_t parent)
{
	const char *const argv[] = { "nvidia-smi", query, NVIDIA_SMI_FORMAT, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(to_fd, STDOUT_FILENO) >= 0)
		execv(path, helper_process_words(argv));
	_exit(NOT_STARTED);
}

/* Until the end of its output, or of our patience: false. */
static bool collect_output(int fd, struct buf *to)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;

	for (;;) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		uint64_t now_ns = clock_mono_ns();
		char *at = buf_grow(to, 4096);
		ssize_t n;

		if (!at || now_ns >= end_ns ||
		    poll(&p, 1, (int)((end_ns - now_ns) / NS_PER_MS) + 1) <= 0)
			return false;
		n = read(fd, at, 4096);
		if (n == 0)
			return true;
		if (n < 0 && errno != EINTR)
			return false;
		to->len += n > 0 ? (size_t)n : 0;
	}
}

/* Its exit status; -1: it took too long or died. It may also close its output and go on: so the
 * wait ends in time, too. */
static int reap_smi(pid_t pid, bool is_done)
{
	uint64_t end_ns = clock_mono_ns() + PATIENCE_NS;
	int status = 0;
	pid_t r = 0;

	while (is_done && (r = waitpid(pid, &status, WNOHANG)) == 0 && clock_mono_ns() < end_ns)
		usleep(1000);
	if (r == pid)
		return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	kill(pid, SIGKILL); /* it is ours and not yet reaped */
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return -1;
}

static int run_smi(const char *path, const char *query, struct buf *to)
{
	cleanup(closep) int from = -1;
	int fds[2];
	pid_t parent = getpid(), pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	from = fds[0];
	pid = fork();
	if (pid == 0)
		exec_smi(path, query, fds[1], parent);
	close(fds[1]);
	return pid < 0 ? -1 : reap_smi(pid, collect_output(from, to));
}

static struct scan text_of(const struct buf *b)
{
	return scan_mem(b->at ? b->at : "", b->len);
}

/* By its exit status and the first line that it printed. */
static void refuse(struct gpu_report *ret, int status, const struct buf *printed)
{
	struct scan text = text_of(printed), line = text;

	scan_line(&text, &line);
	if (status == NOT_STARTED)
		gpu_report_refuse(ret, GPU_IMPOSSIBLE, "it cannot be started");
	else if (status < 0)
		gpu_report_refuse(ret, GPU_BROKEN, "no answer within 2 s");
	else
		gpu_report_refuse(ret,
		                  status == SMI_NO_DRIVER || status == SMI_NO_LIBRARY ||
		                                  status == SMI_MISMATCH
		                          ? GPU_IMPOSSIBLE
		                          : GPU_BROKEN,
		                  "%.*s (exit status %d)", (int)MIN(scan_left(&line), (size_t)120),
		                  line.p, status);
}

static int query_gpus(const char *path, bool has_health, struct buf *printed)
{
	buf_reset(printed);
	return run_smi(path,
	               has_health
	                       ? NVIDIA_SMI_QUERY_GPUS NVIDIA_SMI_QUERY_HEALTH NVIDIA_SMI_QUERY_NAME
	                       : NVIDIA_SMI_QUERY_GPUS NVIDIA_SMI_QUERY_NAME,
	               printed);
}

static void read_gpus(struct nvidia_smi *smi, const char *path, struct buf *printed,
                      struct gpu_report *ret)
{
	int status = query_gpus(path, !smi->lacks_health, printed);

	if (status == SMI_BAD_QUERY && !smi->lacks_health) {
		smi->lacks_health = true;
		status = query_gpus(path, false, printed);
	}
	gpu_report_begin(ret);
	if (status == SMI_NO_DEVICE)
		return;
	if (status != 0)
		refuse(ret, status, printed);
	else if (nvidia_smi_parse_gpus(text_of(printed), !smi->lacks_health, ret) == 0)
		gpu_report_refuse(ret, GPU_BROKEN, "its answer is not understood");
}

void nvidia_smi_read(struct nvidia_smi *smi, const char *path, struct gpu_report *ret)
{
	struct buf printed = { .max = OUTPUT_MAX };

	path = path ? path : find_program();
	if (!path) {
		gpu_report_refuse(ret, GPU_IMPOSSIBLE, "it is not installed");
		return;
	}
	read_gpus(smi, path, &printed, ret);
	buf_reset(&printed);
	/* The processes are an extra: without them the GPUs are still true. */
	if (ret->verdict == GPU_REPORTED && ret->gpu_count &&
	    run_smi(path, NVIDIA_SMI_QUERY_APPS, &printed) == 0) {
		nvidia_smi_parse_apps(text_of(&printed), ret);
		ret->listed = UINT64_MAX;
	}
	buf_done(&printed);
}
