/* SPDX-License-Identifier: MIT */
#include "job/cgroup/cgroup_place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"

/* A child of a threaded group cannot have processes, and a v1 memory group of old kernels is not
 * always subject to its parent's limits. */
static const char *why_unfit(const struct cgroup_place *p)
{
	if (p->is_v2 && cgroup_dir_has(p->dir_fd, "cgroup.type") &&
	    !cgroup_dir_says(p->dir_fd, "cgroup.type", "domain"))
		return "our control group is threaded";
	if (!p->is_v2 && cgroup_dir_says(p->dir_fd, "memory.use_hierarchy", "0"))
		return "it would not count against the limits of our own group";
	return NULL;
}

/* A thread that moves itself through `tasks` avoids the kernel's wait of about 10 ms for all CPUs,
 * and the child has only one thread. v2 has no such file; there clone3 is used. */
static int open_join(struct cgroup_place *p)
{
	p->join_fd = openat(p->dir_fd, p->is_v2 ? "cgroup.procs" : "tasks", O_WRONLY | O_CLOEXEC);
	return p->join_fd < 0 ? -errno : 0;
}

static int find_parent(struct cgroup_place *p, int root_fd, struct err *err)
{
	p->parent_fd = openat(root_fd, p->parent, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (p->parent_fd < 0)
		return err_set(err, errno, "open '/%s': %s", p->parent, strerror(errno));
	/* Moving a process into a child requires the right to move it here. */
	if (faccessat(p->parent_fd, "cgroup.procs", W_OK, AT_EACCESS) < 0)
		return err_set(err, errno, "write '/%s/cgroup.procs': %s", p->parent,
		               strerror(errno));
	return 0;
}

static int make(struct cgroup_place *p, struct err *err)
{
	const char *unfit;

	cgroup_dir_sweep(p->parent_fd);
	p->dir_fd = cgroup_dir_make(p->parent_fd, p->name);
	if (p->dir_fd < 0)
		return err_set(err, -p->dir_fd, "make a group in '/%s': %s", p->parent,
		               strerror(-p->dir_fd));
	p->path = xasprintf("%s/%s", p->parent, p->name);
	if (open_join(p) < 0)
		return err_set(err, errno, "join '/%s': %s", p->path, strerror(errno));
	unfit = why_unfit(p);
	return unfit ? err_set(err, ENOTSUP, "'/%s': %s", p->path, unfit) : 0;
}

int cgroup_place_open(struct cgroup_place *p, int root_fd, const struct cgroup_dir *below,
                      const char *name, struct err *err)
{
	*p = (struct cgroup_place){
		.is_v2 = below->is_v2, .parent_fd = -1, .dir_fd = -1, .join_fd = -1
	};
	p->parent = xstrdup(below->path);
	snprintf(p->name, sizeof p->name, "%s", name);
	if (find_parent(p, root_fd, err) == 0 && make(p, err) == 0)
		return 0;
	cgroup_place_close(p, root_fd);
	return -err->code;
}

/* If the surrounding job ended before this one, its group could not be removed because of ours. */
static void clear_outer(int root_fd, const char *parent)
{
	const char *slash = strrchr(parent, '/');
	cleanup(freep) char *outer = slash ? xstrndup(parent, (size_t)(slash - parent)) : NULL;
	cleanup(closep) int fd = -1;

	if (!slash || strncmp(slash + 1, CGROUP_DIR_PREFIX, strlen(CGROUP_DIR_PREFIX)) != 0)
		return;
	fd = openat(root_fd, outer, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0)
		cgroup_dir_clear(fd, slash + 1);
}

static void close_fd(int fd)
{
	if (fd >= 0)
		close(fd);
}

void cgroup_place_close(struct cgroup_place *p, int root_fd)
{
	if (p->dir_fd >= 0) {
		(void)!cgroup_dir_remove(p->parent_fd, p->name, p->dir_fd);
		clear_outer(root_fd, p->parent);
		flock(p->dir_fd, LOCK_UN); /* a child that did not exec shares it */
	}
	close_fd(p->join_fd);
	close_fd(p->dir_fd);
	close_fd(p->parent_fd);
	free(p->parent);
	free(p->path);
}
