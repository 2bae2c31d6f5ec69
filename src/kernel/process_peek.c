/* SPDX-License-Identifier: MIT */
#include "kernel/process_peek.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/kernel_file.h"

#define CPUS_MAX 65536

static ssize_t read_file(int root_fd, pid_t pid, const char *name, char *to, size_t cap)
{
	char path[40];

	if (pid)
		snprintf(path, sizeof path, "proc/%d/%s", pid, name);
	else
		snprintf(path, sizeof path, "proc/self/%s", name);
	return kernel_file_read(root_fd, path, to, cap);
}

ssize_t process_peek_status(int root_fd, pid_t pid, char ret[static PROCESS_PEEK_STATUS_MAX])
{
	return read_file(root_fd, pid, "status", ret, PROCESS_PEEK_STATUS_MAX);
}

void process_peek_comm(int root_fd, pid_t pid, char ret[static COMM_LEN])
{
	char text[COMM_LEN + 1];
	ssize_t n = read_file(root_fd, pid, "comm", text, sizeof text);

	n = n > 1 ? MIN(n - 1, (ssize_t)COMM_LEN - 1) : 0; /* without the newline */
	memcpy(ret, text, (size_t)n);
	ret[n] = '\0';
}

/* State:	T (stopped)
 * VmHWM:	    1492 kB
 * ShdPnd:	0000000000004000 */
static bool find_in_status(int root_fd, pid_t pid, const char *key,
                           char text[static PROCESS_PEEK_STATUS_MAX], struct scan *ret)
{
	ssize_t n = process_peek_status(root_fd, pid, text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0);

	while (scan_line(&s, ret))
		if (scan_lit(ret, key))
			return true;
	return false;
}

uint64_t process_peek_pending_signals(int root_fd, pid_t pid)
{
	char text[PROCESS_PEEK_STATUS_MAX];
	struct scan line;
	uint64_t set;

	return find_in_status(root_fd, pid, "ShdPnd:", text, &line) && scan_hex(&line, &set) ? set
	                                                                                     : 0;
}

uint64_t process_peek_peak(int root_fd, pid_t pid)
{
	char text[PROCESS_PEEK_STATUS_MAX];
	struct scan line;
	uint64_t kib;

	return find_in_status(root_fd, pid, "VmHWM:", text, &line) && scan_u64(&line, &kib)
	               ? kib * 1024
	               : 0;
}

char process_peek_state(int root_fd, pid_t pid)
{
	char text[PROCESS_PEEK_STATUS_MAX];
	struct scan line, state;

	return find_in_status(root_fd, pid, "State:", text, &line) && scan_word(&line, &state)
	               ? *state.p
	               : '\0';
}

bool process_peek_is_stopped(int root_fd, pid_t pid)
{
	char state = process_peek_state(root_fd, pid);

	return state == 'T' || state == 't';
}

ssize_t process_peek_cgroup(int root_fd, pid_t pid, char *to, size_t cap)
{
	return read_file(root_fd, pid, "cgroup", to, cap);
}

/* sched_getaffinity() of libc knows a fixed number of CPUs; the kernel returns the size of its mask. */
unsigned process_peek_cpus(pid_t pid)
{
	unsigned long mask[CPUS_MAX / (8 * sizeof(unsigned long))];
	long bytes = syscall(SYS_sched_getaffinity, pid, sizeof mask, mask);
	unsigned n = 0;

	for (size_t i = 0; bytes > 0 && i < (size_t)bytes / sizeof *mask; i++)
		n += (unsigned)__builtin_popcountl(mask[i]);
	return n;
}

/* Max address space         1048576000           unlimited            bytes */
uint64_t process_peek_address_limit(int root_fd, pid_t pid)
{
	char text[4096];
	ssize_t n = read_file(root_fd, pid, "limits", text, sizeof text);
	struct scan s = scan_mem(text, n > 0 ? (size_t)n : 0), line;
	uint64_t bytes = 0;

	while (scan_line(&s, &line))
		if (scan_lit(&line, "Max address space"))
			return scan_u64(&line, &bytes) ? bytes : 0;
	return 0;
}

/* Max cpu time              60                   3600                 seconds */
static uint64_t hard_cpu_limit_s(struct scan s)
{
	struct scan line, soft;
	uint64_t hard;

	while (scan_line(&s, &line))
		if (scan_lit(&line, "Max cpu time"))
			return scan_word(&line, &soft) && scan_u64(&line, &hard) ? hard : 0;
	return 0;
}

uint64_t process_peek_used_up_cpu_ns(int root_fd, pid_t pid)
{
	char text[4096];
	ssize_t n = read_file(root_fd, pid, "limits", text, sizeof text);
	uint64_t limit_s = hard_cpu_limit_s(scan_mem(text, n > 0 ? (size_t)n : 0));

	return limit_s && clock_ticks_of_ns(pid) >= limit_s * NS_PER_S ? limit_s * NS_PER_S : 0;
}

int process_peek_ended_io(int root_fd, pid_t pid, struct proc_readings *ret)
{
	char text[512];
	ssize_t n = read_file(root_fd, pid, "io", text, sizeof text);

	if (n < 0)
		return (int)n;
	return process_files_parse(PROCESS_IO, scan_mem(text, (size_t)n), ret) ? 0 : -EBADMSG;
}

uint64_t process_peek_start(int root_fd, pid_t pid)
{
	char text[1024];
	ssize_t n = read_file(root_fd, pid, "stat", text, sizeof text);
	struct process_files_stat st;

	return n > 0 && process_files_parse_stat(scan_mem(text, (size_t)n), &st) ? st.start_ticks
	                                                                         : 0;
}
