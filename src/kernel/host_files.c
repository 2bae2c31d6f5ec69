/* SPDX-License-Identifier: MIT */
#include "kernel/host_files.h"

#include <string.h>

#include "base/clock.h"
#include "model/process.h"

#define SECTOR_BYTES 512 /* in diskstats, whatever the disk's own block size */
#define NOWHERE (-1)

/* meminfo and stat: "Name: 123 kB" and "name 123". */
struct named_number {
	const char *name;
	enum host_metric id;
	uint64_t unit;
};

static bool parse_named(struct scan line, const struct named_number *table, size_t n,
                        struct host_readings *ret)
{
	uint64_t v;

	for (size_t i = 0; i < n; i++) {
		struct scan s = line;

		if (!scan_lit(&s, table[i].name) || !scan_u64(&s, &v) ||
		    __builtin_mul_overflow(v, table[i].unit, &v))
			continue;
		readings_set(ret, table[i].id, v);
		return true;
	}
	return false;
}

/* MemTotal:       24682416 kB */
bool host_files_parse_meminfo(struct scan text, struct host_readings *ret)
{
	static const struct named_number table[] = {
		{ "MemTotal:", HOST_MEM_TOTAL, 1024 },
		{ "MemAvailable:", HOST_MEM_AVAILABLE, 1024 },
		{ "Shmem:", HOST_MEM_SHARED, 1024 },
		{ "SwapTotal:", HOST_SWAP_TOTAL, 1024 },
		{ "SwapFree:", HOST_SWAP_FREE, 1024 },
	};
	struct scan line;
	bool found = false;

	while (scan_line(&text, &line))
		found |= parse_named(line, table, ARRAY_LEN(table), ret);
	return found;
}

/* 0.52 0.43 0.20 2/152 11811 */
bool host_files_parse_loadavg(struct scan text, struct host_readings *ret)
{
	uint64_t one, five, fifteen;

	if (!scan_fixed(&text, 3, &one) || !scan_fixed(&text, 3, &five) ||
	    !scan_fixed(&text, 3, &fifteen))
		return false;
	readings_set(ret, HOST_LOAD_1, one);
	readings_set(ret, HOST_LOAD_5, five);
	readings_set(ret, HOST_LOAD_15, fifteen);
	return true;
}

/* cpu  user nice system idle iowait irq softirq steal guest guest_nice
 * Guest time is part of user and nice already. Kernels before 2.6.11 end earlier: what is not there
 * is absent. */
static bool parse_cpu(struct scan s, struct host_readings *ret)
{
	enum { USER, NICE, SYSTEM, IDLE, IOWAIT, IRQ, SOFTIRQ, STEAL, FIELDS };
	uint64_t ticks[FIELDS] = { 0 }, total = 0;
	unsigned n = 0;

	while (n < FIELDS && scan_u64(&s, &ticks[n]))
		total += ticks[n++];
	if (n <= IDLE)
		return false;
	readings_set(ret, HOST_CPU_TOTAL, total * NS_PER_TICK);
	readings_set(ret, HOST_CPU_USER, (ticks[USER] + ticks[NICE]) * NS_PER_TICK);
	readings_set(ret, HOST_CPU_SYSTEM,
	             (ticks[SYSTEM] + ticks[IRQ] + ticks[SOFTIRQ]) * NS_PER_TICK);
	readings_set(ret, HOST_CPU_IDLE, ticks[IDLE] * NS_PER_TICK);
	if (n > IOWAIT)
		readings_set(ret, HOST_CPU_IOWAIT, ticks[IOWAIT] * NS_PER_TICK);
	if (n > STEAL)
		readings_set(ret, HOST_CPU_STEAL, ticks[STEAL] * NS_PER_TICK);
	return true;
}

bool host_files_parse_stat(struct scan text, struct host_readings *ret)
{
	static const struct named_number table[] = {
		{ "processes ", HOST_FORKS, 1 },
		{ "procs_running ", HOST_RUNNING, 1 },
		{ "procs_blocked ", HOST_BLOCKED, 1 },
	};
	struct scan line;
	bool found = false;

	while (scan_line(&text, &line)) {
		if (scan_lit(&line, "cpu "))
			found |= parse_cpu(line, ret);
		else
			found |= parse_named(line, table, ARRAY_LEN(table), ret);
	}
	return found;
}

/* some avg10=0.12 avg60=0.05 avg300=0.01 total=81723
 * Only total (µs) is kept: the averages can be had from it, and theirs lag by seconds. */
static bool parse_pressure(struct scan text, int some, int full, struct host_readings *ret)
{
	struct scan line, word;
	bool found = false;

	while (scan_line(&text, &line)) {
		int id = scan_lit(&line, "some ")   ? some
		         : scan_lit(&line, "full ") ? full
		                                    : NOWHERE;
		uint64_t us;

		while (id != NOWHERE && scan_word(&line, &word)) {
			if (!scan_lit(&word, "total=") || !scan_u64(&word, &us))
				continue;
			readings_set(ret, id, us * NS_PER_US);
			found = true;
		}
	}
	return found;
}

/* For the whole machine "full" of the CPU means nothing: the kernel prints zeros, or no such
 * line. */
bool host_files_parse_pressure_cpu(struct scan text, struct host_readings *ret)
{
	return parse_pressure(text, HOST_PSI_CPU_SOME, NOWHERE, ret);
}

bool host_files_parse_pressure_memory(struct scan text, struct host_readings *ret)
{
	return parse_pressure(text, HOST_PSI_MEM_SOME, HOST_PSI_MEM_FULL, ret);
}

bool host_files_parse_pressure_io(struct scan text, struct host_readings *ret)
{
	return parse_pressure(text, HOST_PSI_IO_SOME, HOST_PSI_IO_FULL, ret);
}

static bool is_number(struct scan s)
{
	if (scan_at_end(&s))
		return false;
	while (scan_at_digit(&s))
		s.p++;
	return scan_at_end(&s);
}

/* The kernel writes a partition right after its disk and names it by one rule: sda → sda1, nvme0n1
 * → nvme0n1p1. So a disk is distinguished from a partition without sysfs, and a lone xvda1, which is a disk
 * of its own, still counts. */
static bool is_partition_of(struct scan name, struct scan disk)
{
	size_t len = scan_left(&disk);

	if (!len || scan_left(&name) <= len || memcmp(name.p, disk.p, len) != 0)
		return false;
	name.p += len;
	return (!scan_is_digit(disk.end[-1]) || scan_lit(&name, "p")) && is_number(name);
}

/* nvme0c1n1 is one path to the disk nvme0n1, which counts the same bytes again. */
static bool is_nvme_path(struct scan name)
{
	uint64_t n;

	return scan_lit(&name, "nvme") && scan_u64(&name, &n) && scan_lit(&name, "c") &&
	       scan_u64(&name, &n) && scan_lit(&name, "n") && is_number(name);
}

/* Devices on top of other disks (device mapper, RAID, bcache, DRBD, ZFS volumes, loop) would count
 * their bytes twice, and what lies in memory (ram, zram) is no disk. Network disks (nbd, rbd) are
 * counted nowhere else, and stay. */
static bool is_doubled(struct scan name)
{
	static const char *const prefixes[] = { "loop", "ram",    "zram", "dm-",
		                                "md",   "bcache", "drbd", "zd" };

	for (size_t i = 0; i < ARRAY_LEN(prefixes); i++) {
		struct scan s = name;

		if (scan_lit(&s, prefixes[i]) && !scan_at_end(&s) &&
		    (scan_is_digit(*s.p) || *s.p == '_'))
			return true;
	}
	return is_nvme_path(name);
}

/*  254       0 vda 36009 8763 4103450 40931 104713 12327 78316648 400085 0 45348 442396 …
 *  major minor name reads merged sectors ms writes merged sectors ms … */
bool host_files_parse_diskstats(struct scan text, struct host_readings *ret)
{
	struct scan line, name, disk = { 0 };
	uint64_t read = 0, written = 0, r, w;
	bool found = false;

	while (scan_line(&text, &line)) {
		if (!scan_skip(&line, 2) || !scan_word(&line, &name))
			continue;
		if (!scan_skip(&line, 2) || !scan_u64(&line, &r) || !scan_skip(&line, 3) ||
		    !scan_u64(&line, &w))
			continue;
		found = true;
		if (is_partition_of(name, disk))
			continue;
		disk = name;
		if (is_doubled(name))
			continue;
		read += r;
		written += w;
	}
	if (!found)
		return false;
	readings_set(ret, HOST_DISK_READ, read * SECTOR_BYTES);
	readings_set(ret, HOST_DISK_WRITE, written * SECTOR_BYTES);
	return true;
}

/*   eth0: 29707430     843    0    0    0     0          0         0    41873     513 …
 * Some kernels let a name hold a ':', but no number does, so the last one ends the name. A blank
 * may not follow. */
bool host_files_parse_net_dev(struct scan text, struct host_readings *ret)
{
	uint64_t received = 0, sent = 0, rx, tx;
	struct scan line;
	bool found = false;

	while (scan_line(&text, &line)) {
		const char *colon = scan_at_end(&line) ? NULL
		                                       : memrchr(line.p, ':', scan_left(&line));
		struct scan name, numbers;

		if (!colon)
			continue;
		scan_blanks(&line);
		name = (struct scan){ MIN(line.p, colon), colon };
		numbers = (struct scan){ colon + 1, line.end };
		if (!scan_u64(&numbers, &rx) || !scan_skip(&numbers, 7) || !scan_u64(&numbers, &tx))
			continue;
		found = true;
		if (scan_eq(&name, "lo"))
			continue;
		received += rx;
		sent += tx;
	}
	if (!found)
		return false;
	readings_set(ret, HOST_NET_RX, received);
	readings_set(ret, HOST_NET_TX, sent);
	return true;
}
