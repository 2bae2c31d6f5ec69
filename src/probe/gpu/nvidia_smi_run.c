/* SPDX-License-Identifier: MIT */
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
#include "probe/gpu/gpu_spawn.h"
#include "probe/gpu/nvidia_smi.h"

#define PATIENCE_NS (2 * NS_PER_S)
#define OUTPUT_MAX ((size_t)256 << 10)

enum { /* exit status of nvidia-smi */
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

/* In the child. It dies with us, also if we are dead already, and says nothing but its answer. */
static void become(const char *path, const char *query, int to_fd, pid_t parent)
{
	const char *const argv[] = { "nvidia-smi", query, NVIDIA_SMI_FORMAT, NULL };

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() == parent && dup2(to_fd, STDOUT_FILENO) >= 0)
		execv(path, exec_words(argv));
	_exit(NOT_STARTED);
}

/* Until the end of its output, or of our patience: false. */
static bool collect(int fd, struct buf *to)
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
static int end(pid_t pid, bool is_done)
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

static int run(const char *path, const char *query, struct buf *to)
{
	cleanup(closep) int from = -1;
	int fds[2];
	pid_t parent = getpid(), pid;

	if (pipe2(fds, O_CLOEXEC) < 0)
		return -1;
	from = fds[0];
	pid = fork();
	if (pid == 0)
		become(path, query, fds[1], parent);
	close(fds[1]);
	return pid < 0 ? -1 : end(pid, collect(from, to));
}

static struct scan first_line(const struct buf *b)
{
	struct scan text = scan_mem(b->at ? b->at : "", b->len), line = text;

	scan_line(&text, &line);
	return line;
}

static void refuse(struct gpu_report *ret, int status, const struct buf *said)
{
	struct scan line = first_line(said);

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

static void read_gpus(const char *path, struct buf *said, struct gpu_report *ret)
{
	int status = run(path, NVIDIA_SMI_QUERY_GPUS, said);

	ret->gpu_count = ret->use_count = 0;
	ret->verdict = GPU_TOLD;
	ret->text[0] = '\0';
	if (status == SMI_NO_DEVICE)
		return;
	if (status != 0)
		refuse(ret, status, said);
	else if (nvidia_smi_parse_gpus(scan_mem(said->at ? said->at : "", said->len), ret) == 0)
		gpu_report_refuse(ret, GPU_BROKEN, "its answer is not understood");
}

void nvidia_smi_read(const char *path, struct gpu_report *ret)
{
	struct buf said = { .max = OUTPUT_MAX };

	path = path ? path : find_program();
	if (!path) {
		gpu_report_refuse(ret, GPU_IMPOSSIBLE, "it is not installed");
		return;
	}
	read_gpus(path, &said, ret);
	buf_reset(&said);
	/* Who uses the memory is an extra: without an answer the GPUs are still true. */
	if (ret->verdict == GPU_TOLD && ret->gpu_count &&
	    run(path, NVIDIA_SMI_QUERY_APPS, &said) == 0)
		nvidia_smi_parse_apps(scan_mem(said.at ? said.at : "", said.len), ret);
	buf_done(&said);
}
