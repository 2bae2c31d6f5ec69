/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_limit.h"

#include <inttypes.h>
#include <stdio.h>

#include "kernel/cgroup_dir.h"
#include "kernel/cgroup_read.h"
#include "kernel/kernel_file.h"

const struct cgroup_limit group_limits[GROUP_LIMITS] = {
	{ JOB_LIMIT_MEM, CGROUP_FAMILY_MEMORY, "memory", "--mem",
	  "systemd-run --scope -p MemoryMax=SIZE, or docker run --memory", "memory.limit_in_bytes",
	  "memory.max" },
	{ JOB_LIMIT_CPU, CGROUP_FAMILY_CPU, "cpu", "--cpu",
	  "systemd-run --scope -p CPUQuota=PERCENT, or docker run --cpus", "cpu.cfs_quota_us",
	  "cpu.max" },
	{ JOB_LIMIT_PIDS, CGROUP_FAMILY_PIDS, "pids", "--pids",
	  "systemd-run --scope -p TasksMax=N, or docker run --pids-limit", "pids.max", "pids.max" },
};

static int put(int dir_fd, const char *file, uint64_t value, const char **ret_file)
{
	char text[24];

	snprintf(text, sizeof text, "%" PRIu64, value);
	*ret_file = file;
	return cgroup_dir_write(dir_fd, file, text);
}

/* The limit covers memory and swap together: otherwise a job could swap without limit. v2 cannot
 * limit the sum, so there it gets no swap. A kernel that does not account for swap has no such
 * file. */
static int set_memory(int dir_fd, bool is_v2, uint64_t bytes, const char **ret_file)
{
	const char *swap = is_v2 ? "memory.swap.max" : "memory.memsw.limit_in_bytes";
	int r = put(dir_fd, is_v2 ? "memory.max" : "memory.limit_in_bytes", bytes, ret_file);

	if (r == 0 && cgroup_dir_has(dir_fd, swap))
		r = put(dir_fd, swap, is_v2 ? 0 : bytes, ret_file);
	return r;
}

/* The kernel takes no quota below 1 ms: less than a hundredth of a core needs the longest period.
 */
static int set_cpu(int dir_fd, bool is_v2, uint64_t milli_cores, const char **ret_file)
{
	uint64_t period_us = milli_cores < 10 ? 1000000 : 100000;
	uint64_t quota_us = milli_cores * (period_us / 1000);
	char text[64];
	int r;

	if (is_v2) {
		snprintf(text, sizeof text, "%" PRIu64 " %" PRIu64, quota_us, period_us);
		*ret_file = "cpu.max";
		return cgroup_dir_write(dir_fd, "cpu.max", text);
	}
	r = put(dir_fd, "cpu.cfs_period_us", period_us, ret_file);
	return r < 0 ? r : put(dir_fd, "cpu.cfs_quota_us", quota_us, ret_file);
}

int cgroup_limit_set(const struct cgroup_limit *l, int dir_fd, bool is_v2, uint64_t value,
                     const char **ret_file)
{
	if (l->id == JOB_LIMIT_MEM)
		return set_memory(dir_fd, is_v2, value, ret_file);
	if (l->id == JOB_LIMIT_CPU)
		return set_cpu(dir_fd, is_v2, value, ret_file);
	return put(dir_fd, is_v2 ? l->v2_file : l->v1_file, value, ret_file);
}

/* A number from the file; 0 if it is not there. */
static uint64_t number(int dir_fd, const char *file, const char *key)
{
	char text[4096];
	ssize_t n = kernel_file_read(dir_fd, file, text, sizeof text);
	uint64_t v = 0;

	if (n > 0)
		cgroup_parse_number(scan_mem(text, (size_t)n), key, &v);
	return v;
}

/* The limit is hit when not one page more fits; charges come in batches of 64. */
#define BATCH_BYTES (64 * 4096)

static bool was_reached(int dir_fd, const char *peak, const char *limit)
{
	return number(dir_fd, peak, NULL) + BATCH_BYTES >= number(dir_fd, limit, NULL);
}

/* v2 counts "oom" in the group of the limit. */
static bool met_oom(int dir_fd)
{
	return number(dir_fd,
	              cgroup_dir_has(dir_fd, "memory.events.local") ? "memory.events.local"
	                                                            : "memory.events",
	              "oom") != 0;
}

bool cgroup_limit_memory_is_full(int dir_fd, bool is_v2, uint64_t *ret_bytes)
{
	const char *file = is_v2 ? "memory.max" : "memory.limit_in_bytes";
	char text[64];
	ssize_t n = kernel_file_read(dir_fd, file, text, sizeof text);

	if (n <= 0 || !cgroup_parse_limit(scan_mem(text, (size_t)n), ret_bytes))
		return false;
	return is_v2 ? met_oom(dir_fd) : was_reached(dir_fd, "memory.max_usage_in_bytes", file);
}

/* v1 counts kills in the group of the victim, whichever limit was hit, and Linux 6.18 no longer counts failed charges; but the group was full then. */
static bool was_memory_hit(int dir_fd, bool is_v2)
{
	if (is_v2)
		return met_oom(dir_fd);
	return number(dir_fd, "memory.oom_control", "oom_kill") &&
	       was_reached(dir_fd, "memory.max_usage_in_bytes", "memory.limit_in_bytes");
}

bool cgroup_limit_was_hit(const struct cgroup_limit *l, int dir_fd, bool is_v2)
{
	if (l->id == JOB_LIMIT_MEM)
		return was_memory_hit(dir_fd, is_v2);
	if (l->id == JOB_LIMIT_CPU)
		return number(dir_fd, "cpu.stat", "nr_throttled") != 0;
	return number(dir_fd, "pids.events", "max") != 0;
}
