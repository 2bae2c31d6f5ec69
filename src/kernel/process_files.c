/* SPDX-License-Identifier: MIT */
#include "kernel/process_files.h"

#include <elf.h>
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

static void copy_comm(struct scan comm, uint64_t flags, char ret[COMM_LEN])
{
	size_t len = scan_left(&comm);

	if (flags & PF_WQ_WORKER)
		len = worker_name_len(comm.p, len);
	len = MIN(len, (size_t)COMM_LEN - 1);
	memset(ret, 0, COMM_LEN);
	memcpy(ret, comm.p, len);
}

/* The kernel moves code and stack at every exec (address space randomisation), and shows both to
 * processes that may trace it; others read 1 and 0, which never change. */
static uint64_t mix_exec_id(uint64_t start_code, uint64_t start_stack)
{
	return start_code > 1 ? start_code * 31 + start_stack : 0;
}

/* Fields of /proc/PID/stat by their number in proc(5); two of one metric are added. */
enum stat_field {
	STAT_PPID = 4,
	STAT_FLAGS = 9,
	STAT_MINFLT = 10,
	STAT_MAJFLT = 12,
	STAT_UTIME = 14,
	STAT_STIME = 15,
	STAT_CUTIME = 16,
	STAT_CSTIME = 17,
	STAT_NUM_THREADS = 20,
	STAT_STARTTIME = 22,
	STAT_STARTCODE = 26,
	STAT_STARTSTACK = 28,
	STAT_FIELDS,
};

static const struct {
	enum stat_field field;
	enum proc_metric metric;
	uint64_t unit;
} stat_metrics[] = {
	/* clang-format off */
	{ STAT_MINFLT, PROC_MINOR_FAULTS, 1 },
	{ STAT_MAJFLT, PROC_MAJOR_FAULTS, 1 },
	{ STAT_UTIME, PROC_CPU_TIME, NS_PER_TICK },
	{ STAT_STIME, PROC_CPU_TIME, NS_PER_TICK },
	{ STAT_NUM_THREADS, PROC_THREADS, 1 },
	/* clang-format on */
};

/* Those from the parent on: how many there are. Some may be negative; none of them is used. */
static int scan_fields(struct scan *s, uint64_t ret[STAT_FIELDS])
{
	int field = STAT_PPID;
	struct scan word;

	for (; field < STAT_FIELDS && scan_word(s, &word); field++)
		if (*word.p != '-' && !scan_u64(&word, &ret[field]))
			break;
	return field;
}

/* 812 (postgres: main) S 1 812 812 0 -1 4194560 minflt cminflt majflt cmajflt utime stime cutime
 * cstime priority nice num_threads itrealvalue starttime vsize rss rsslim startcode endcode
 * startstack … The command name may hold spaces, newlines and ')', so fields are counted from the
 * last ')'. Old and odd kernels may end after the start time: what an exec changes is a help, not a
 * need. */
bool process_files_parse_stat(struct scan text, struct process_files_stat *ret)
{
	const char *last = scan_at_end(&text) ? NULL : memrchr(text.p, ')', scan_left(&text));
	struct scan s = { last ? last + 1 : text.end, text.end }, state;
	uint64_t pid, field[STAT_FIELDS] = { 0 };
	struct process_files_stat st = { 0 };

	if (!scan_u64(&text, &pid) || !scan_lit(&text, " (") || !last || text.p > last)
		return false;
	if (!scan_word(&s, &state) || scan_left(&state) != 1 ||
	    scan_fields(&s, field) <= STAT_STARTTIME || pid > INT32_MAX ||
	    field[STAT_PPID] > INT32_MAX)
		return false;
	for (size_t i = 0; i < ARRAY_LEN(stat_metrics); i++)
		readings_set(&st.r, stat_metrics[i].metric,
		             readings_or(&st.r, stat_metrics[i].metric, 0) +
		                     field[stat_metrics[i].field] * stat_metrics[i].unit);
	st.pid = (pid_t)pid;
	st.ppid = (pid_t)field[STAT_PPID];
	st.state = *state.p;
	st.threads = field[STAT_NUM_THREADS];
	st.waited_cpu_ns = (field[STAT_CUTIME] + field[STAT_CSTIME]) * NS_PER_TICK;
	st.start_ticks = field[STAT_STARTTIME];
	st.exec_id = mix_exec_id(field[STAT_STARTCODE], field[STAT_STARTSTACK]);
	copy_comm((struct scan){ text.p, last }, field[STAT_FLAGS], st.comm);
	*ret = st;
	return true;
}

/* Field 39. */
int process_files_parse_cpu(struct scan stat)
{
	enum { STAT_STATE = 3, STAT_PROCESSOR = 39 };
	const char *last = scan_at_end(&stat) ? NULL : memrchr(stat.p, ')', scan_left(&stat));
	struct scan s = { last ? last + 1 : stat.end, stat.end }, word = { 0 };
	uint64_t cpu;

	for (int field = STAT_STATE; field <= STAT_PROCESSOR; field++)
		if (!scan_word(&s, &word))
			return -1;
	return scan_u64(&word, &cpu) && cpu <= INT32_MAX ? (int)cpu : -1;
}

/* 2102 410 361 165 0 110 0: size and resident, in pages */
bool process_files_parse_statm(struct scan text, uint64_t page_bytes, struct proc_readings *ret)
{
	uint64_t size, resident;

	if (!scan_u64(&text, &size) || !scan_u64(&text, &resident))
		return false;
	readings_set(ret, PROC_VMS, size * page_bytes);
	readings_set(ret, PROC_RSS, resident * page_bytes);
	return true;
}

/* The third number counts pages of files and of shared memory. */
uint64_t process_files_parse_anon(struct scan statm, uint64_t page_bytes)
{
	uint64_t size, resident, shared;

	if (!scan_u64(&statm, &size) || !scan_u64(&statm, &resident) || !scan_u64(&statm, &shared))
		return 0;
	return (resident - MIN(resident, shared)) * page_bytes;
}

/* RssShmem:	  104 kB */
uint64_t process_files_parse_shmem(struct scan status)
{
	struct scan line;
	uint64_t kib;

	while (scan_line(&status, &line))
		if (scan_lit(&line, "RssShmem:") && scan_u64(&line, &kib))
			return kib * 1024;
	return 0;
}

bool process_files_scan_ids(struct scan *line, uint32_t ret[static 3])
{
	uint64_t id[3];

	for (int i = 0; i < 3; i++)
		if (!scan_u64(line, &id[i]) || id[i] > UINT32_MAX)
			return false;
	for (int i = 0; i < 3; i++)
		ret[i] = (uint32_t)id[i];
	return true;
}

/* Uid:	1000	0	0	0 */
bool process_files_parse_uids(struct scan status, uint32_t ret[static 3])
{
	struct scan line;

	while (scan_line(&status, &line))
		if (scan_lit(&line, "Uid:"))
			return process_files_scan_ids(&line, ret);
	return false;
}

/* Numbers of the program's own size. */
static uint64_t read_word(const char *at, size_t bytes)
{
	uint64_t wide = 0;
	uint32_t narrow = 0;

	memcpy(bytes == sizeof wide ? (void *)&wide : (void *)&narrow, at, bytes);
	return bytes == sizeof wide ? wide : narrow;
}

/* Pairs of a key and a value. Keys are small: of a 32-bit program, the first 64 bits hold its first pair, and only a value of
 * 0 would make that a key. */
bool process_files_parse_secure(struct scan auxv, bool *ret)
{
	enum { KEYS = 256 };
	size_t bytes = scan_left(&auxv) >= sizeof(uint64_t) &&
	                               read_word(auxv.p, sizeof(uint64_t)) < KEYS
	                       ? sizeof(uint64_t)
	                       : sizeof(uint32_t);

	for (; scan_left(&auxv) >= 2 * bytes; auxv.p += 2 * bytes)
		if (read_word(auxv.p, bytes) == AT_SECURE) {
			*ret = read_word(auxv.p + bytes, bytes) != 0;
			return true;
		}
	return false;
}

/* Pss_Anon:           112 kB
 * Anonymous pages are dirty: if no others are, Shared_Dirty counts the shared ones. */
struct proc_pss process_files_parse_pss(struct scan rollup)
{
	struct proc_pss pss = { 0 };
	uint64_t shared_dirty = 0, private_dirty = 0, v;
	const struct {
		const char *name;
		uint64_t *bytes;
	} wanted[] = {
		{ "Pss_Anon:", &pss.anon_bytes },        { "Pss_Shmem:", &pss.shmem_bytes },
		{ "Anonymous:", &pss.whole_anon_bytes }, { "Shared_Dirty:", &shared_dirty },
		{ "Private_Dirty:", &private_dirty },
	};
	struct scan line;

	while (scan_line(&rollup, &line))
		for (size_t i = 0; i < ARRAY_LEN(wanted); i++)
			if (scan_lit(&line, wanted[i].name) && scan_u64(&line, &v))
				*wanted[i].bytes = v * 1024;
	pss.knows_shared_anon = shared_dirty + private_dirty <= pss.whole_anon_bytes;
	pss.shared_anon_bytes = shared_dirty;
	return pss;
}

/* Lines of files that begin with a name; two of one metric are added.
 *
 *	VmHWM:	   17220 kB
 *	Max open files            1024                 524288               files
 *	read_bytes: 4096
 *	Pss:                 323 kB
 *
 * In status the command's name comes first, and the kernel escapes newlines in it: it cannot pass for
 * another line. */
static const struct {
	enum process_file file;
	const char *name;
	enum proc_metric metric;
	uint64_t unit;
} lines[] = {
	{ PROCESS_STATUS, "VmHWM:", PROC_PEAK_RSS, 1024 },
	{ PROCESS_LIMITS, "Max open files ", PROC_FD_LIMIT, 1 },
	{ PROCESS_IO, "read_bytes:", PROC_READ_BYTES, 1 },
	{ PROCESS_IO, "write_bytes:", PROC_WRITE_BYTES, 1 },
	{ PROCESS_ROLLUP, "Pss:", PROC_PSS, 1024 },
	{ PROCESS_ROLLUP, "Private_Clean:", PROC_USS, 1024 },
	{ PROCESS_ROLLUP, "Private_Dirty:", PROC_USS, 1024 },
	{ PROCESS_ROLLUP, "Private_Hugetlb:", PROC_USS, 1024 },
};

static void parse_line(enum process_file file, struct scan line, struct proc_readings *to)
{
	uint64_t v;

	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].file == file && scan_lit(&line, lines[i].name) && scan_u64(&line, &v))
			readings_set(to, lines[i].metric,
			             readings_or(to, lines[i].metric, 0) + v * lines[i].unit);
}

bool process_files_parse(enum process_file file, struct scan text, struct proc_readings *ret)
{
	struct proc_readings found = { 0 };
	struct scan line;

	while (scan_line(&text, &line))
		parse_line(file, line, &found);
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].file == file && !readings_has(&found, lines[i].metric))
			return false;
	for (size_t i = 0; i < ARRAY_LEN(lines); i++)
		if (lines[i].file == file)
			readings_set(ret, lines[i].metric, found.value[lines[i].metric]);
	return true;
}
