/* SPDX-License-Identifier: MIT */
#include "kernel/process_files.h"

#include <string.h>

#define PF_WQ_WORKER 0x20 /* flag of kworkers, part of what /proc/PID/stat shows */

/* A kworker's name in /proc carries what it works on: "kworker/0:1-events", a moment later
 * "kworker/0:1+mm". The task itself is called "kworker/0:1": the name that stays, and the one that
 * BPF sees. */
static size_t worker_name_len(const char *comm, size_t len)
{
	const char *colon = memchr(comm, ':', len);

	for (const char *p = colon; p && p < comm + len; p++)
		if (*p == '-' || *p == '+')
			return (size_t)(p - comm);
	return len;
}

static void take_comm(struct scan comm, uint64_t flags, char ret[COMM_LEN])
{
	size_t len = scan_left(&comm);

	if (flags & PF_WQ_WORKER)
		len = worker_name_len(comm.p, len);
	len = MIN(len, (size_t)COMM_LEN - 1);
	memset(ret, 0, COMM_LEN);
	memcpy(ret, comm.p, len);
}

/* The kernel moves code and stack at every exec (address space randomisation), and shows both to
 * those who may trace the process; others read 1 and 0, which never change. */
static uint64_t mix_exec_id(uint64_t start_code, uint64_t start_stack)
{
	return start_code > 1 ? start_code * 31 + start_stack : 0;
}

/* 812 (postgres: main) S 1 812 812 0 -1 4194560 minflt cminflt majflt cmajflt utime stime cutime
 * cstime priority nice num_threads itrealvalue starttime vsize rss rsslim startcode endcode
 * startstack … The command name may hold spaces, newlines and ')', so fields are counted from the
 * last ')'. */
bool process_files_parse_stat(struct scan text, struct process_files_stat *ret)
{
	const char *last = scan_at_end(&text) ? NULL : memrchr(text.p, ')', scan_left(&text));
	struct scan s = { last ? last + 1 : text.end, text.end }, state;
	uint64_t pid, ppid, flags, utime, stime, start_code, start_stack;
	struct process_files_stat st = { 0 };

	if (!scan_u64(&text, &pid) || !scan_lit(&text, " (") || !last || text.p > last)
		return false;
	if (!scan_word(&s, &state) || scan_left(&state) != 1 || !scan_u64(&s, &ppid))
		return false;
	if (!scan_skip(&s, 4) || !scan_u64(&s, &flags) || !scan_u64(&s, &st.minor_faults) ||
	    !scan_skip(&s, 1) || !scan_u64(&s, &st.major_faults) || !scan_skip(&s, 1) ||
	    !scan_u64(&s, &utime) || !scan_u64(&s, &stime) || !scan_skip(&s, 4) ||
	    !scan_u64(&s, &st.threads) || !scan_skip(&s, 1) || !scan_u64(&s, &st.start_ticks))
		return false;
	if (pid > INT32_MAX || ppid > INT32_MAX)
		return false;
	/* Old and odd kernels may end here; what an exec changes is a help, not a need. */
	if (scan_skip(&s, 3) && scan_u64(&s, &start_code) && scan_skip(&s, 1) &&
	    scan_u64(&s, &start_stack))
		st.exec_id = mix_exec_id(start_code, start_stack);
	st.pid = (pid_t)pid;
	st.ppid = (pid_t)ppid;
	st.state = *state.p;
	st.cpu_ticks = utime + stime;
	take_comm((struct scan){ text.p, last }, flags, st.comm);
	*ret = st;
	return true;
}

/* 2102 410 361 165 0 110 0: size and resident, in pages */
bool process_files_parse_statm(struct scan text, struct process_files_statm *ret)
{
	struct process_files_statm st;

	if (!scan_u64(&text, &st.size_pages) || !scan_u64(&text, &st.resident_pages))
		return false;
	*ret = st;
	return true;
}

/* rchar: 323934931
 * …
 * read_bytes: 0
 * write_bytes: 323932160
 * cancelled_write_bytes: 0 */
bool process_files_parse_io(struct scan text, struct process_files_io *ret)
{
	struct process_files_io io;
	bool has_read = false, has_write = false;
	struct scan line;

	while (scan_line(&text, &line)) {
		if (scan_lit(&line, "read_bytes:"))
			has_read = scan_u64(&line, &io.read_bytes);
		else if (scan_lit(&line, "write_bytes:"))
			has_write = scan_u64(&line, &io.write_bytes);
	}
	if (!has_read || !has_write)
		return false;
	*ret = io;
	return true;
}

/* 55e49c35e000-7ffd5df62000 ---p 00000000 00:00 0                          [rollup]
 * Rss:                1800 kB
 * Pss:                 323 kB
 * Private_Clean:        36 kB
 * Private_Dirty:       112 kB
 * Private_Hugetlb:       0 kB */
bool process_files_parse_rollup(struct scan text, struct process_files_rollup *ret)
{
	static const char *const private[] = { "Private_Clean:", "Private_Dirty:",
		                               "Private_Hugetlb:" };
	uint64_t pss = 0, uss = 0, kib;
	unsigned found = 0;
	struct scan line;

	while (scan_line(&text, &line)) {
		if (scan_lit(&line, "Pss:") && scan_u64(&line, &kib)) {
			pss = kib;
			found |= 1;
		}
		for (size_t i = 0; i < ARRAY_LEN(private); i++) {
			if (scan_lit(&line, private[i]) && scan_u64(&line, &kib)) {
				uss += kib;
				found |= 2;
			}
		}
	}
	if (found != 3)
		return false;
	*ret = (struct process_files_rollup){ .pss_bytes = pss * 1024, .uss_bytes = uss * 1024 };
	return true;
}

/* Name:	python3
 * …
 * VmHWM:	   17220 kB
 * The name comes first, and the kernel escapes newlines in it: it cannot pass for another line. */
bool process_files_parse_peak(struct scan text, uint64_t *ret_bytes)
{
	struct scan line;
	uint64_t kib;

	while (scan_line(&text, &line)) {
		if (scan_lit(&line, "VmHWM:") && scan_u64(&line, &kib)) {
			*ret_bytes = kib * 1024;
			return true;
		}
	}
	return false;
}

/* Limit                     Soft Limit           Hard Limit           Units
 * Max open files            1024                 524288               files */
bool process_files_parse_fd_limit(struct scan text, uint64_t *ret)
{
	struct scan line;

	while (scan_line(&text, &line))
		if (scan_lit(&line, "Max open files "))
			return scan_u64(&line, ret);
	return false;
}
