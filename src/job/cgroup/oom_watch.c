/* SPDX-License-Identifier: MIT */
#include "job/cgroup/oom_watch.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "job/cgroup/cgroup_home.h"
#include "job/cgroup/cgroup_limit.h"
#include "kernel/cgroup_dir.h"
#include "kernel/cgroup_read.h"

#define TURN_NS NS_PER_S
#define BYTES_FREED_PER_NS 2 /* at least */

static bool read_count(const struct oom_watch *w, uint64_t *ret)
{
	return w->is_of_machine ? cgroup_read_machine_oom_kills(w->root_fd, ret)
	                        : cgroup_read_oom_kills(w->root_fd, &w->group, ret);
}

void oom_watch_begin(struct oom_watch *w, int root_fd, pid_t pid, uint64_t boot_ns)
{
	cleanup(freep) struct cgroup_dirs *dirs = xcalloc(1, sizeof *dirs);

	*w = (struct oom_watch){ .root_fd = root_fd, .turned_boot_ns = boot_ns };
	if (cgroup_home_locate(root_fd, pid, dirs))
		w->group = dirs->of[CGROUP_FAMILY_MEMORY];
	w->is_known = w->group.path[0] && read_count(w, &w->last);
	if (!w->is_known) {
		w->is_of_machine = true;
		w->is_known = read_count(w, &w->last);
	}
	w->before = w->turned = w->last;
}

uint64_t oom_watch_read(struct oom_watch *w, uint64_t memory_bytes, uint64_t boot_ns)
{
	uint64_t turn_ns = TURN_NS + memory_bytes / BYTES_FREED_PER_NS;
	uint64_t now = w->last, recent;

	if (w->is_known)
		(void)read_count(w, &now);
	recent = now - MIN(now, w->before);
	if (boot_ns - w->turned_boot_ns >= turn_ns) {
		w->before = w->turned;
		w->turned = now;
		w->turned_boot_ns = boot_ns;
	}
	w->last = now;
	return recent;
}

size_t oom_watch_list(const struct oom_watch *w, pid_t *ret, size_t cap)
{
	cleanup(closep) int fd = -1;

	if (w->is_of_machine || !w->group.path[0])
		return 0;
	fd = openat(w->root_fd, w->group.path, O_PATH | O_DIRECTORY | O_CLOEXEC);
	return fd < 0 ? 0 : MIN(cgroup_dir_pids(fd, ret, cap), cap);
}

/* ---- the limit ------------------------------------------------------------------------------- */

bool oom_watch_find_limit(const struct oom_watch *w, struct oom_limit *ret)
{
	const struct cgroup_dir *from = &w->group;
	char path[PATH_MAX];

	for (size_t len = strlen(from->path); len; len = cgroup_map_dir_above(from, len)) {
		cleanup(closep) int fd = -1;

		snprintf(path, sizeof path, "%.*s", (int)len, from->path);
		fd = openat(w->root_fd, path, O_PATH | O_DIRECTORY | O_CLOEXEC);
		if (fd >= 0 && cgroup_limit_memory_is_full(fd, from->is_v2, &ret->bytes)) {
			cgroup_map_dir_name(from, len, ret->group, sizeof ret->group);
			return true;
		}
	}
	return false;
}
