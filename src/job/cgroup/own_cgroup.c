/* SPDX-License-Identifier: MIT */
#include "job/cgroup/own_cgroup.h"

#include <string.h>

#include "base/mem.h"
#include "job/cgroup/cgroup_name.h"
#include "kernel/cgroup_map.h"
#include "kernel/kernel_file.h"
#include "kernel/process_peek.h"
#include "kernel/process_lookup.h"

#define ANCESTORS_MAX 256

/* Hierarchies that are searched for a group: v2, then v1's. */
static const int families[] = { -1, CGROUP_FAMILY_MEMORY, CGROUP_FAMILY_PIDS, CGROUP_FAMILY_CPU };

struct search {
	int root_fd;
	struct process_reader *reader;
	int family; /* that is searched */
	struct cgroup_mounts mounts;
	struct cgroup_dirs dirs;
	struct cgroup_dir dir;
};

static struct search *search_new(int root_fd, struct process_reader *reader)
{
	cleanup(buf_done) struct buf mountinfo = { .max = KERNEL_FILE_MAX };
	struct err ignored;
	struct search *s;

	if (kernel_file_load_own(root_fd, "mountinfo", &mountinfo, &ignored) < 0)
		return NULL;
	s = xcalloc(1, sizeof *s);
	s->root_fd = root_fd;
	s->reader = reader;
	cgroup_parse_mountinfo(kernel_file_text(&mountinfo), &s->mounts);
	return s;
}

/* The directory of a process (0: of ours) in the hierarchy that is searched; NULL: none. */
static const struct cgroup_dir *locate(struct search *s, pid_t pid)
{
	char text[8192];
	ssize_t n = process_peek_cgroup(s->root_fd, pid, text, sizeof text);
	struct scan membership = scan_mem(text, n > 0 ? (size_t)n : 0);

	if (s->family < 0)
		return cgroup_locate_v2(membership, &s->mounts, &s->dir) ? &s->dir : NULL;
	if (!cgroup_locate(membership, &s->mounts, &s->dirs))
		return NULL;
	s->dir = s->dirs.of[s->family];
	return s->dir.path[0] ? &s->dir : NULL;
}

static bool is_within(const struct cgroup_dir *dir, const char *group)
{
	size_t len = strlen(group);

	return dir && strncmp(dir->path, group, len) == 0 &&
	       (dir->path[len] == '\0' || dir->path[len] == '/');
}

static pid_t parent_of(struct search *s, pid_t pid)
{
	struct process_files_stat st;

	return process_lookup_stat(s->reader, pid, &st) ? st.ppid : 0;
}

static bool descends_from(struct search *s, pid_t pid, pid_t ancestor)
{
	for (int i = 0; pid > 1 && i < ANCESTORS_MAX; i++) {
		if (pid == ancestor)
			return true;
		pid = parent_of(s, pid);
	}
	return false;
}

/* A batch system's own processes, root's, are in the groups of its jobs: they start nothing else
 * there. */
static bool is_shared_above(struct search *s, pid_t pid, const char *group)
{
	uid_t uid, above;
	int i = 0;

	if (process_lookup_owner(s->reader, pid, &uid) < 0)
		return true;
	while ((pid = parent_of(s, pid)) > 1 && i++ < ANCESTORS_MAX)
		if (process_lookup_owner(s->reader, pid, &above) == 0 && above == uid &&
		    is_within(locate(s, pid), group))
			return true;
	return false;
}

static bool is_own(struct search *s, pid_t pid, pid_t registrar, const char *group)
{
	if (is_within(locate(s, 0), group) || is_shared_above(s, pid, group))
		return false;
	return !registrar || descends_from(s, registrar, pid) ||
	       !is_within(locate(s, registrar), group);
}

/* The group's path as its hierarchy has it. */
static const char *inner(const struct cgroup_dir *dir)
{
	return dir->path + dir->floor;
}

static char *find_in(struct search *s, pid_t pid, pid_t registrar)
{
	const struct cgroup_dir *dir = locate(s, pid);
	cleanup(freep) char *group = NULL;
	struct cgroup_job job;

	if (!dir || !cgroup_may_be_a_job(inner(dir)))
		return NULL;
	group = cgroup_job_name(inner(dir), &job)
	                ? xasprintf("%.*s", (int)(dir->floor + job.len), dir->path)
	                : xstrdup(dir->path);
	return is_own(s, pid, registrar, group) ? TAKE_PTR(group) : NULL;
}

char *own_cgroup_find(int root_fd, struct process_reader *reader, pid_t pid, pid_t registrar)
{
	cleanup(freep) struct search *s = search_new(root_fd, reader);
	char *group = NULL;

	for (size_t i = 0; s && !group && i < ARRAY_LEN(families); i++) {
		s->family = families[i];
		group = find_in(s, pid, registrar);
	}
	return group;
}
