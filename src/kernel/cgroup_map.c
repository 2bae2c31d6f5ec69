/* SPDX-License-Identifier: MIT */
#include "kernel/cgroup_map.h"

#include <stdio.h>
#include <string.h>

#include "kernel/kernel_file.h"

static const char *const controllers[CGROUP_FAMILIES] = {
	[CGROUP_FAMILY_CPU] = "cpu",
	[CGROUP_FAMILY_CPUACCT] = "cpuacct",
	[CGROUP_FAMILY_MEMORY] = "memory",
	[CGROUP_FAMILY_PIDS] = "pids",
};

#define ALL_FAMILIES ((1u << CGROUP_FAMILIES) - 1)

/* Bits of the families named in a list: "rw,cpu,cpuacct". */
static unsigned parse_controllers(struct scan list)
{
	unsigned bits = 0;

	while (!scan_at_end(&list)) {
		struct scan name;

		if (!scan_until(&list, ',', &name)) {
			name = list;
			list.p = list.end;
		}
		for (unsigned i = 0; i < CGROUP_FAMILIES; i++)
			if (scan_eq(&name, controllers[i]))
				bits |= 1u << i;
	}
	return bits;
}

static bool is_octal(char c)
{
	return c >= '0' && c <= '7';
}

/* mountinfo writes blanks, newlines and backslashes in paths as \040 \011 \012 \134. */
static bool unescape(struct scan s, char *to, size_t cap)
{
	size_t len = 0;

	while (s.p < s.end) {
		char c = *s.p++;

		if (c == '\\' && s.end - s.p >= 3 && is_octal(s.p[0]) && is_octal(s.p[1]) &&
		    is_octal(s.p[2])) {
			c = (char)((s.p[0] - '0') << 6 | (s.p[1] - '0') << 3 | (s.p[2] - '0'));
			s.p += 3;
		}
		if (len + 1 >= cap || !c)
			return false;
		to[len++] = c;
	}
	to[len] = '\0';
	return true;
}

/* A group outside of what a namespace shows is written with "..": there is no way to it. */
static bool has_dots(struct scan path)
{
	struct scan part;

	while (scan_until(&path, '/', &part))
		if (scan_eq(&part, ".."))
			return true;
	return scan_eq(&path, "..");
}

static bool parse_mount(struct scan line, struct cgroup_mount *ret)
{
	struct kernel_mount m;

	if (!kernel_file_parse_mount(line, &m) || !scan_lit(&m.point, "/") ||
	    (!scan_eq(&m.type, "cgroup") && !scan_eq(&m.type, "cgroup2")))
		return false;
	while (scan_lit(&m.point, "/"))
		;
	if (scan_at_end(&m.point) || has_dots(m.point)) /* below our root there is no such place */
		return false;
	ret->is_v2 = scan_eq(&m.type, "cgroup2");
	ret->families = ret->is_v2 ? ALL_FAMILIES : parse_controllers(m.options);
	return ret->families && unescape(m.root, ret->root, sizeof ret->root) &&
	       unescape(m.point, ret->point, sizeof ret->point);
}

void cgroup_parse_mountinfo(struct scan text, struct cgroup_mounts *ret)
{
	struct scan line;

	ret->len = 0;
	while (ret->len < CGROUP_MOUNTS_MAX && scan_line(&text, &line))
		ret->len += parse_mount(line, &ret->at[ret->len]);
}

/* The part of the group's path that lies below the mounted group; false when it lies elsewhere. */
static bool strip_root(struct scan *path, const char *root)
{
	if (strcmp(root, "/") == 0)
		return true;
	return scan_lit(path, root) && (scan_at_end(path) || *path->p == '/');
}

static bool place(const struct cgroup_mount *m, struct scan path, struct cgroup_dir *ret)
{
	int n;

	if (!strip_root(&path, m->root) || memchr(path.p, '\0', scan_left(&path)))
		return false;
	while (!scan_at_end(&path) && *path.p == '/')
		path.p++;
	n = snprintf(ret->path, sizeof ret->path, "%s%s%.*s", m->point,
	             scan_at_end(&path) ? "" : "/", (int)scan_left(&path), path.p);
	if (n < 0 || (size_t)n >= sizeof ret->path) {
		ret->path[0] = '\0';
		return false;
	}
	ret->is_v2 = m->is_v2;
	ret->floor = strlen(m->point);
	return true;
}

static void locate_family(unsigned family, bool is_v2, struct scan path,
                          const struct cgroup_mounts *mounts, struct cgroup_dir *ret)
{
	for (size_t i = 0; i < mounts->len; i++) {
		const struct cgroup_mount *m = &mounts->at[i];

		if (m->is_v2 == is_v2 && m->families >> family & 1 && place(m, path, ret))
			return;
	}
}

static void locate_families(unsigned families, bool is_v2, struct scan path,
                            const struct cgroup_mounts *mounts, struct cgroup_dirs *ret)
{
	for (unsigned f = 0; f < CGROUP_FAMILIES; f++)
		if (families >> f & 1 && !ret->of[f].path[0])
			locate_family(f, is_v2, path, mounts, &ret->of[f]);
}

/* 4:memory:/batch/night
 * 0::/user.slice/a:b
 * Only the first two ':' separate. Families that v1 manages are not on v2, so v1 is asked first. */
static void locate_version(struct scan text, bool is_v2, const struct cgroup_mounts *mounts,
                           struct cgroup_dirs *ret)
{
	struct scan line, id, list;

	while (scan_line(&text, &line)) {
		unsigned families;

		if (!scan_until(&line, ':', &id) || !scan_until(&line, ':', &list) ||
		    has_dots(line))
			continue;
		if (is_v2 != (scan_eq(&id, "0") && scan_at_end(&list)))
			continue;
		families = is_v2 ? ALL_FAMILIES : parse_controllers(list);
		locate_families(families, is_v2, line, mounts, ret);
	}
}

bool cgroup_locate(struct scan text, const struct cgroup_mounts *mounts, struct cgroup_dirs *ret)
{
	bool found = false;

	for (unsigned f = 0; f < CGROUP_FAMILIES; f++)
		ret->of[f].path[0] = '\0';
	locate_version(text, false, mounts, ret);
	locate_version(text, true, mounts, ret);
	for (unsigned f = 0; f < CGROUP_FAMILIES; f++)
		found |= ret->of[f].path[0] != '\0';
	return found;
}

bool cgroup_locate_v2(struct scan text, const struct cgroup_mounts *mounts, struct cgroup_dir *ret)
{
	struct scan line;

	ret->path[0] = '\0';
	while (!ret->path[0] && scan_line(&text, &line))
		if (scan_lit(&line, "0::") && !has_dots(line))
			locate_family(0, true, line, mounts, ret);
	return ret->path[0] != '\0';
}

size_t cgroup_map_dir_above(const struct cgroup_dir *dir, size_t len)
{
	const char *slash = memrchr(dir->path, '/', len);
	size_t above = slash ? (size_t)(slash - dir->path) : 0;

	return above >= dir->floor ? above : 0;
}

void cgroup_map_dir_name(const struct cgroup_dir *dir, size_t len, char *ret, size_t cap)
{
	const char *name = dir->path + dir->floor;
	size_t n = len - MIN(len, dir->floor), cut = n - MIN(n, cap - 1);

	snprintf(ret, cap, "%.*s", (int)(n - cut), name + cut);
	if (!n)
		snprintf(ret, cap, "/");
}
