/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "kernel/cgroup_read.h"
#include "kernel/kernel_file.h"
#include "probe/probe.h"

/* A young job is sampled many times a second; our group and its limits change seldom. */
#define KEPT_NS (NS_PER_S / 2)

struct cgroup_probe {
	int root_fd;
	bool is_ours; /* the group has no other processes */
	struct cgroup_mounts mounts;
	struct cgroup_dirs dirs;
	struct buf membership; /* /proc/self/cgroup as it was when dirs were found */
	struct buf text;
	struct cgroup_readings limits;
	struct cgroup_limit_groups limit_groups;
	uint64_t found_at_ns; /* monotonic; when dirs and limits were found; 0: never */
	uint64_t present;     /* of the last reading */
};

static void cgroup_close(void *self_)
{
	struct cgroup_probe *self = self_;

	if (!self)
		return;
	buf_done(&self->membership);
	buf_done(&self->text);
	free(self);
}

DEFINE_CLEANUP(struct cgroup_probe *, cgroup_close)

static bool has_moved(const struct cgroup_probe *self)
{
	return self->text.len != self->membership.len ||
	       (self->text.len && memcmp(self->text.at, self->membership.at, self->text.len) != 0);
}

/* We may be moved to another group at any time, so that is checked regularly; mounts only when we
 * moved. */
static int find_group(struct cgroup_probe *self, struct err *err)
{
	if (kernel_file_load_own(self->root_fd, "cgroup", &self->text, err) < 0)
		return -err->code;
	if (!has_moved(self))
		return 0;
	buf_reset(&self->membership);
	buf_put(&self->membership, self->text.at, self->text.len);
	if (kernel_file_load_own(self->root_fd, "mountinfo", &self->text, err) < 0)
		return -err->code;
	cgroup_parse_mountinfo(kernel_file_text(&self->text), &self->mounts);
	if (!cgroup_locate(kernel_file_text(&self->membership), &self->mounts, &self->dirs)) {
		buf_reset(&self->membership);
		return err_set(err, ENOENT,
		               "our control group is in no hierarchy that is mounted here");
	}
	return 0;
}

static int cgroup_open(const struct probe_env *env, void **ret_self, struct err *err)
{
	cleanup(cgroup_closep) struct cgroup_probe *self = xcalloc(1, sizeof *self);
	struct cgroup_readings first = { 0 };

	self->root_fd = env->root_fd;
	self->is_ours = env->group_is_ours;
	self->text.max = self->membership.max = KERNEL_FILE_MAX;
	if (find_group(self, err) < 0)
		return -err->code;
	cgroup_read(self->root_fd, &self->dirs, &first);
	self->present = first.present;
	*ret_self = TAKE_PTR(self);
	return 0;
}

static int find_limits(struct cgroup_probe *self, uint64_t now_ns, struct err *err)
{
	if (self->found_at_ns && now_ns - self->found_at_ns < KEPT_NS)
		return 0;
	self->found_at_ns = 0;
	if (find_group(self, err) < 0)
		return -err->code;
	self->limits = (struct cgroup_readings){ 0 };
	cgroup_read_limits(self->root_fd, &self->dirs, self->is_ours, &self->limits,
	                   &self->limit_groups);
	self->found_at_ns = now_ns;
	return 0;
}

static int cgroup_probe_read(void *self_, struct sample *out, struct err *err)
{
	struct cgroup_probe *self = self_;

	if (find_limits(self, out->mono_ns, err) < 0)
		return -err->code;
	out->cgroup = self->limits;
	out->limit_groups = self->limit_groups;
	cgroup_read_usage(self->root_fd, &self->dirs, &out->cgroup);
	self->present = out->cgroup.present;
	return 0;
}

static const char *version_of(const struct cgroup_probe *self)
{
	unsigned v1 = 0, v2 = 0;

	for (unsigned f = 0; f < CGROUP_FAMILIES; f++) {
		v1 += self->dirs.of[f].path[0] && !self->dirs.of[f].is_v2;
		v2 += self->dirs.of[f].path[0] && self->dirs.of[f].is_v2;
	}
	return v1 && v2 ? "cgroup v1 and v2" : v1 ? "cgroup v1" : "cgroup v2";
}

/* The root group has few files of its own; what they would hold is in the system's figures. */
static bool is_whole_machine(const struct cgroup_dir *d)
{
	return d->path[0] && strlen(d->path) == d->floor;
}

static void cgroup_health(const void *self_, struct probe_health *ret)
{
	static const struct {
		enum cgroup_metric id;
		enum cgroup_family family;
		const char *name;
	} wanted[] = {
		{ CGROUP_CPU, CGROUP_FAMILY_CPUACCT, "CPU time" },
		{ CGROUP_MEM, CGROUP_FAMILY_MEMORY, "memory" },
		{ CGROUP_MEM_PEAK, CGROUP_FAMILY_MEMORY, "memory peak" },
		{ CGROUP_OOM_KILLS, CGROUP_FAMILY_MEMORY, "OOM kills" },
		{ CGROUP_PIDS, CGROUP_FAMILY_PIDS, "number of tasks" },
	};
	const struct cgroup_probe *self = self_;
	size_t len = 0, cap = sizeof ret->note;

	*ret = (struct probe_health){ .state = PROBE_WORKS };
	snprintf(ret->source, sizeof ret->source, "%s", version_of(self));
	snprintf(ret->note, cap, "CPU, memory, tasks and limits of our own group");
	for (size_t i = 0; i < ARRAY_LEN(wanted) && len < cap; i++) {
		if (self->present >> wanted[i].id & 1 ||
		    is_whole_machine(&self->dirs.of[wanted[i].family]))
			continue;
		ret->state = PROBE_DEGRADED;
		len += (size_t)snprintf(ret->note + len, cap - len, "%s%s",
		                        len ? ", " : "our group does not report: ", wanted[i].name);
	}
}

const struct probe_ops probe_cgroup = {
	.name = "cgroup",
	.open = cgroup_open,
	.read = cgroup_probe_read,
	.health = cgroup_health,
	.close = cgroup_close,
};
