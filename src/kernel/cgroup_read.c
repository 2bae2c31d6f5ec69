/* SPDX-License-Identifier: MIT */
#include "kernel/cgroup_read.h"

#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "model/process.h"
#include "kernel/kernel_file.h"

#define TEXT_MAX 4096

/* v1 reports "no limit" as a number near 2^63. No machine has 4 EiB. */
#define UNLIMITED_FROM (UINT64_C(1) << 62)

bool cgroup_parse_number(struct scan text, const char *key, uint64_t *ret)
{
	struct scan line;

	while (scan_line(&text, &line)) {
		if (!key)
			return scan_u64(&line, ret);
		if (scan_lit(&line, key) && scan_lit(&line, " "))
			return scan_u64(&line, ret);
	}
	return false;
}

/* "max", "1073741824", and on v1 "9223372036854771712" */
bool cgroup_parse_limit(struct scan text, uint64_t *ret)
{
	uint64_t v;

	if (!scan_u64(&text, &v) || v >= UNLIMITED_FROM)
		return false;
	*ret = v;
	return true;
}

static bool milli_cores(uint64_t quota, uint64_t period, uint64_t *ret)
{
	if (!period || __builtin_mul_overflow(quota, 1000, &quota))
		return false;
	*ret = quota / period;
	return true;
}

/* max 100000
 * 150000 100000: quota and period in µs */
bool cgroup_parse_cpu_max(struct scan text, uint64_t *ret_milli_cores)
{
	uint64_t quota, period;

	return scan_u64(&text, &quota) && scan_u64(&text, &period) &&
	       milli_cores(quota, period, ret_milli_cores);
}

/* Every number that is taken as it stands; two of one metric are added, unless the later is the finer.
 * Lines of one file stand together: it is read once. */
static const struct number {
	enum cgroup_family family;
	bool is_v2;
	const char *file, *key;
	enum cgroup_metric id;
	uint64_t unit;
	bool is_added;
} numbers[] = {
	{ CGROUP_FAMILY_CPUACCT, true, "cpu.stat", "usage_usec", CGROUP_CPU, NS_PER_US },
	{ CGROUP_FAMILY_CPUACCT, true, "cpu.stat", "user_usec", CGROUP_CPU_USER, NS_PER_US },
	{ CGROUP_FAMILY_CPUACCT, true, "cpu.stat", "system_usec", CGROUP_CPU_SYSTEM, NS_PER_US },
	{ CGROUP_FAMILY_CPU, true, "cpu.stat", "throttled_usec", CGROUP_CPU_THROTTLED, NS_PER_US },
	{ CGROUP_FAMILY_MEMORY, true, "memory.current", NULL, CGROUP_MEM, 1 },
	{ CGROUP_FAMILY_MEMORY, true, "memory.peak", NULL, CGROUP_MEM_PEAK, 1 }, /* Linux 5.19 */
	{ CGROUP_FAMILY_MEMORY, true, "memory.events", "max", CGROUP_MEM_LIMIT_HITS, 1 },
	{ CGROUP_FAMILY_MEMORY, true, "memory.events", "oom_kill", CGROUP_OOM_KILLS, 1 },
	{ CGROUP_FAMILY_MEMORY, true, "memory.stat", "anon", CGROUP_MEM_USED, 1 },
	{ CGROUP_FAMILY_MEMORY, true, "memory.stat", "shmem", CGROUP_MEM_USED, 1, true },
	{ CGROUP_FAMILY_PIDS, true, "pids.current", NULL, CGROUP_PIDS, 1 },

	{ CGROUP_FAMILY_CPUACCT, false, "cpuacct.stat", "user", CGROUP_CPU_USER, NS_PER_TICK },
	{ CGROUP_FAMILY_CPUACCT, false, "cpuacct.stat", "system", CGROUP_CPU_SYSTEM, NS_PER_TICK },
	{ CGROUP_FAMILY_CPUACCT, false, "cpuacct.usage", NULL, CGROUP_CPU, 1 },
	{ CGROUP_FAMILY_CPUACCT, false, "cpuacct.usage_user", NULL, CGROUP_CPU_USER,
	  1 }, /* finer, where it exists */
	{ CGROUP_FAMILY_CPUACCT, false, "cpuacct.usage_sys", NULL, CGROUP_CPU_SYSTEM, 1 },
	{ CGROUP_FAMILY_CPU, false, "cpu.stat", "throttled_time", CGROUP_CPU_THROTTLED, 1 },
	{ CGROUP_FAMILY_MEMORY, false, "memory.usage_in_bytes", NULL, CGROUP_MEM, 1 },
	{ CGROUP_FAMILY_MEMORY, false, "memory.max_usage_in_bytes", NULL, CGROUP_MEM_PEAK, 1 },
	{ CGROUP_FAMILY_MEMORY, false, "memory.failcnt", NULL, CGROUP_MEM_LIMIT_HITS, 1 },
	{ CGROUP_FAMILY_MEMORY, false, "memory.oom_control", "oom_kill", CGROUP_OOM_KILLS,
	  1 }, /* Linux 4.13 */
	{ CGROUP_FAMILY_MEMORY, false, "memory.stat", "total_rss", CGROUP_MEM_USED, 1 },
	{ CGROUP_FAMILY_MEMORY, false, "memory.stat", "total_shmem", CGROUP_MEM_USED, 1,
	  true }, /* Linux 4.18 */
	{ CGROUP_FAMILY_PIDS, false, "pids.current", NULL, CGROUP_PIDS, 1 },
};

struct file_cache {
	int root_fd;
	char path[PATH_MAX + 64]; /* of the file in `text` */
	char text[TEXT_MAX];
	struct scan read;
};

/* The file of a group's directory (its first dir_len bytes), or an empty text. */
static struct scan read_file(struct file_cache *r, const char *dir, size_t dir_len,
                             const char *file)
{
	char path[PATH_MAX + 64];
	ssize_t n;

	snprintf(path, sizeof path, "%.*s/%s", (int)dir_len, dir, file);
	if (strcmp(path, r->path) == 0)
		return r->read;
	memcpy(r->path, path, sizeof path);
	n = kernel_file_read(r->root_fd, path, r->text, sizeof r->text);
	r->read = scan_mem(r->text, n > 0 ? (size_t)n : 0);
	return r->read;
}

void cgroup_read_usage(int root_fd, const struct cgroup_dirs *dirs, struct cgroup_readings *ret)
{
	struct file_cache r = { .root_fd = root_fd };

	for (size_t i = 0; i < ARRAY_LEN(numbers); i++) {
		const struct number *n = &numbers[i];
		const struct cgroup_dir *d = &dirs->of[n->family];
		uint64_t v;

		if (!d->path[0] || d->is_v2 != n->is_v2)
			continue;
		if (cgroup_parse_number(read_file(&r, d->path, strlen(d->path), n->file), n->key,
		                        &v) &&
		    !__builtin_mul_overflow(v, n->unit, &v))
			readings_set(ret, n->id,
			             v + (n->is_added ? readings_or(ret, n->id, 0) : 0));
	}
}

/* On v1 quota and period have a file each, and a quota of -1 is none. */
static bool read_cpu_limit(struct file_cache *r, const struct cgroup_dir *d, size_t len,
                           uint64_t *ret)
{
	struct scan text;
	uint64_t quota, period;

	if (d->is_v2)
		return cgroup_parse_cpu_max(read_file(r, d->path, len, "cpu.max"), ret);
	text = read_file(r, d->path, len, "cpu.cfs_quota_us");
	if (!scan_u64(&text, &quota))
		return false;
	text = read_file(r, d->path, len, "cpu.cfs_period_us");
	return scan_u64(&text, &period) && milli_cores(quota, period, ret);
}

/* What the kernel takes back before it lets a limit hurt, as MemAvailable counts for the machine: a
 * group that reads files is always full of them. */
static uint64_t read_reclaimable(struct file_cache *r, const struct cgroup_dir *d, size_t len)
{
	static const char *const v1[] = { "total_inactive_file", "total_active_file" };
	static const char *const v2[] = { "inactive_file", "active_file", "slab_reclaimable" };
	const char *const *keys = d->is_v2 ? v2 : v1;
	size_t n = d->is_v2 ? ARRAY_LEN(v2) : ARRAY_LEN(v1);
	struct scan text = read_file(r, d->path, len, "memory.stat");
	uint64_t sum = 0, v;

	for (size_t i = 0; i < n; i++)
		if (cgroup_parse_number(text, keys[i], &v))
			sum += MIN(v, UNLIMITED_FROM);
	return sum;
}

/* Files by version: v1's, v2's. */
static const struct limit {
	enum cgroup_family family;
	enum cgroup_metric id, used_id;
	const char *file[2], *used[2]; /* NULL: read_cpu_limit(), and its use is a rate */
} limits[] = {
	{ CGROUP_FAMILY_CPU, .id = CGROUP_CPU_LIMIT },
	{ CGROUP_FAMILY_MEMORY,
	  CGROUP_MEM_LIMIT,
	  CGROUP_MEM_LIMIT_USED,
	  { "memory.limit_in_bytes", "memory.max" },
	  { "memory.usage_in_bytes", "memory.current" } },
	{ CGROUP_FAMILY_PIDS,
	  CGROUP_PIDS_LIMIT,
	  CGROUP_PIDS_LIMIT_USED,
	  { "pids.max", "pids.max" },
	  { "pids.current", "pids.current" } },
};

static bool read_limit(struct file_cache *r, const struct limit *l, const struct cgroup_dir *d,
                       size_t len, uint64_t *ret)
{
	if (!l->file[d->is_v2])
		return read_cpu_limit(r, d, len, ret);
	return cgroup_parse_limit(read_file(r, d->path, len, l->file[d->is_v2]), ret);
}

static bool read_used(struct file_cache *r, const struct limit *l, const struct cgroup_dir *d,
                      size_t len, uint64_t *ret)
{
	uint64_t all;

	if (!l->used[d->is_v2] ||
	    !cgroup_parse_number(read_file(r, d->path, len, l->used[d->is_v2]), NULL, &all))
		return false;
	if (l->family == CGROUP_FAMILY_MEMORY)
		all -= MIN(all, read_reclaimable(r, d, len));
	*ret = all;
	return true;
}

/* The smallest that is less than *least, from the group of that length upwards, and whose it is: how
 * long its path is. 0: none. */
static size_t find_least(struct file_cache *r, const struct limit *l, const struct cgroup_dir *d,
                         size_t len, uint64_t *least)
{
	size_t in_force = 0;
	uint64_t v;

	for (; len; len = cgroup_map_dir_above(d, len))
		if (read_limit(r, l, d, len, &v) && v < *least) {
			*least = v;
			in_force = len;
		}
	return in_force;
}

void cgroup_read_limits(int root_fd, const struct cgroup_dirs *dirs, bool above,
                        struct cgroup_readings *ret, struct cgroup_limit_groups *ret_groups)
{
	struct cgroup_limit_groups groups = { 0 };
	struct file_cache r = { .root_fd = root_fd };

	for (size_t i = 0; i < ARRAY_LEN(limits); i++) {
		const struct limit *l = &limits[i];
		const struct cgroup_dir *d = &dirs->of[l->family];
		uint64_t least = readings_or(ret, l->id, UINT64_MAX), used;
		size_t len = strlen(d->path), in_force;

		if (above && len > d->floor)
			len = cgroup_map_dir_above(d, len);
		in_force = find_least(&r, l, d, len, &least);
		if (in_force)
			readings_set(ret, l->id, least);
		if (in_force && read_used(&r, l, d, in_force, &used))
			readings_set(ret, l->used_id, used);
		if (in_force && l->id == CGROUP_MEM_LIMIT)
			cgroup_map_dir_name(d, in_force, groups.memory, sizeof groups.memory);
		else if (in_force && l->id == CGROUP_PIDS_LIMIT)
			cgroup_map_dir_name(d, in_force, groups.pids, sizeof groups.pids);
	}
	if (ret_groups)
		*ret_groups = groups;
}

size_t cgroup_read_limit(int root_fd, const struct cgroup_dirs *dirs, enum cgroup_family family,
                         uint64_t *ret)
{
	struct file_cache r = { .root_fd = root_fd };
	const struct cgroup_dir *d = &dirs->of[family];
	uint64_t least = UINT64_MAX;
	size_t in_force = 0;

	for (size_t i = 0; i < ARRAY_LEN(limits); i++)
		if (limits[i].family == family)
			in_force = find_least(&r, &limits[i], d, strlen(d->path), &least);
	if (in_force)
		*ret = least;
	return in_force;
}

/* oom_kill_disable 0
 * under_oom 0
 * oom_kill 1: since Linux 4.13, as is the line in vmstat */
bool cgroup_read_oom_kills(int root_fd, const struct cgroup_dir *dir, uint64_t *ret)
{
	struct file_cache r = { .root_fd = root_fd };

	return cgroup_parse_number(read_file(&r, dir->path, strlen(dir->path),
	                                     dir->is_v2 ? "memory.events" : "memory.oom_control"),
	                           "oom_kill", ret);
}

bool cgroup_read_machine_oom_kills(int root_fd, uint64_t *ret)
{
	cleanup(buf_done) struct buf text = { .max = KERNEL_FILE_MAX };

	return kernel_file_load(root_fd, "proc/vmstat", &text) == 0 &&
	       cgroup_parse_number(kernel_file_text(&text), "oom_kill", ret);
}

void cgroup_read(int root_fd, const struct cgroup_dirs *dirs, struct cgroup_readings *ret)
{
	cgroup_read_usage(root_fd, dirs, ret);
	cgroup_read_limits(root_fd, dirs, false, ret, NULL);
}
