/* SPDX-License-Identifier: MIT */
#include "job/cgroup/job_cgroup.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>

#include "base/mem.h"
#include "kernel/cgroup_dir.h"
#include "job/cgroup/cgroup_home.h"
#include "job/cgroup/cgroup_limit.h"
#include "kernel/cgroup_read.h"

#define PLACES_MAX (1 + CGROUP_FAMILIES)

/* The job's group in one hierarchy: a directory below the caller's own. */
struct place {
	bool is_v2, holds_limit;
	int parent_fd, dir_fd, join_fd;
	char name[CGROUP_DIR_NAME_MAX];
	char *parent, *path; /* relative to the root */
};

struct job_cgroup {
	int root_fd;
	char name[CGROUP_DIR_NAME_MAX];
	struct place places[PLACES_MAX]; /* v2 first, if there */
	size_t len;
	struct place *limit_at[JOB_LIMIT_COUNT]; /* NULL: not held by a group */
	struct cgroup_dirs dirs;                 /* of the job */
	char describe[64];
};

/* ---- one hierarchy --------------------------------------------------------------------------- */

/* A child of a threaded group cannot have processes, and a v1 memory group of old kernels is not
 * always subject to its parent's limits. */
static const char *why_unfit(const struct place *p)
{
	if (p->is_v2 && cgroup_dir_has(p->dir_fd, "cgroup.type") &&
	    !cgroup_dir_contains(p->dir_fd, "cgroup.type", "domain"))
		return "our control group is threaded";
	if (!p->is_v2 && cgroup_dir_contains(p->dir_fd, "memory.use_hierarchy", "0"))
		return "it would not count against the limits of our own group";
	return NULL;
}

/* A thread that moves itself through `tasks` avoids the kernel's wait of about 10 ms for all CPUs,
 * and the child has only one thread. v2 has no such file; there clone3 is used. */
static int open_join(struct place *p)
{
	p->join_fd = openat(p->dir_fd, p->is_v2 ? "cgroup.procs" : "tasks", O_WRONLY | O_CLOEXEC);
	return p->join_fd < 0 ? -errno : 0;
}

static int open_parent(struct place *p, int root_fd, struct err *err)
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

static int make_group(struct place *p, struct err *err)
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

/* Moves its processes to the parent and removes it. */
static void place_close(struct place *p, int root_fd)
{
	if (p->dir_fd >= 0) {
		(void)!cgroup_dir_remove(p->parent_fd, p->name, p->dir_fd);
		clear_outer(root_fd, p->parent);
		flock(p->dir_fd, LOCK_UN); /* a child that did not exec shares it */
	}
	closep(&p->join_fd);
	closep(&p->dir_fd);
	closep(&p->parent_fd);
	free(p->parent);
	free(p->path);
}

/* Creates it below that directory, after removing what killed launchers left there. Nothing is left
 * behind on failure. */
static int place_open(struct place *p, int root_fd, const struct cgroup_dir *below,
                      const char *name, struct err *err)
{
	*p = (struct place){ .is_v2 = below->is_v2, .parent_fd = -1, .dir_fd = -1, .join_fd = -1 };
	p->parent = xstrdup(below->path);
	snprintf(p->name, sizeof p->name, "%s", name);
	if (open_parent(p, root_fd, err) == 0 && make_group(p, err) == 0)
		return 0;
	place_close(p, root_fd);
	return -err->code;
}

/* ---- all of them ----------------------------------------------------------------------------- */

void job_cgroup_close(struct job_cgroup *g)
{
	if (!g)
		return;
	for (size_t i = 0; i < g->len; i++)
		place_close(&g->places[i], g->root_fd);
	free(g);
}

DEFINE_CLEANUP(struct job_cgroup *, job_cgroup_close)

/* Only characters that need no quotes in a shell and are valid in a file name. */
static void set_name(struct job_cgroup *g, const char *job_id)
{
	size_t len = (size_t)snprintf(g->name, sizeof g->name, CGROUP_DIR_PREFIX "%.*s", JOB_ID_MAX,
	                              job_id);

	for (size_t i = strlen(CGROUP_DIR_PREFIX); i < len; i++)
		if (!strchr("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-",
		            g->name[i]))
			g->name[i] = '_';
}

/* The group below this directory, created if necessary; NULL with the reason. */
static struct place *get_place(struct job_cgroup *g, const struct cgroup_dir *below,
                               struct err *err)
{
	struct place *p = &g->places[g->len];

	for (size_t i = 0; i < g->len; i++)
		if (strcmp(g->places[i].parent, below->path) == 0)
			return &g->places[i];
	if (place_open(p, g->root_fd, below, g->name, err) < 0)
		return NULL;
	g->len++;
	return p;
}

static void read_from(struct job_cgroup *g, enum cgroup_family family, const struct place *p)
{
	struct cgroup_dir *d = &g->dirs.of[family];

	d->is_v2 = p->is_v2;
	d->floor = (size_t)snprintf(d->path, sizeof d->path, "%s", p->path);
}

/* The groups that are useful without any limit: v2 for CPU time and membership, and v1 for the exact
 * peak of memory where v1 manages it. Without v2, v1 accounts for the CPU time. */
static void make_defaults(struct job_cgroup *g, const struct cgroup_home *home, struct err *err)
{
	const struct cgroup_dir *memory = &home->dirs.of[CGROUP_FAMILY_MEMORY];
	const struct cgroup_dir *cpuacct = &home->dirs.of[CGROUP_FAMILY_CPUACCT];
	const struct place *v2 = NULL, *v1;
	struct err ignored = { 0 };

	if (home->v2.path[0])
		v2 = get_place(g, &home->v2, err);
	for (unsigned f = 0; v2 && f < CGROUP_FAMILIES; f++)
		read_from(g, f, v2);
	if (!v2 && cpuacct->path[0] && !cpuacct->is_v2 &&
	    (v1 = get_place(g, cpuacct, err->code ? &ignored : err)))
		read_from(g, CGROUP_FAMILY_CPUACCT, v1);
	if (memory->path[0] && !memory->is_v2 &&
	    (v1 = get_place(g, memory, err->code ? &ignored : err)))
		read_from(g, CGROUP_FAMILY_MEMORY, v1);
}

/* On v2 a group has a controller only if its parent delegates it. */
static bool has_controller(const struct cgroup_limit *l, const struct place *p)
{
	char text[32];

	if (cgroup_dir_has(p->dir_fd, p->is_v2 ? l->v2_file : l->v1_file))
		return true;
	if (!p->is_v2 || cgroup_dir_has(p->parent_fd, "cgroup.type")) /* not the root */
		return false;
	snprintf(text, sizeof text, "+%s", l->controller);
	return cgroup_dir_write(p->parent_fd, "cgroup.subtree_control", text) == 0 &&
	       cgroup_dir_has(p->dir_fd, l->v2_file);
}

/* v1 refuses a quota above an ancestor's. The ancestor's then applies, which is tighter. */
static bool is_held_above(const struct job_cgroup *g, const struct cgroup_limit *l,
                          const struct cgroup_home *home, uint64_t value)
{
	struct cgroup_readings r = { 0 };

	if (l->id != JOB_LIMIT_CPU)
		return false;
	cgroup_read(g->root_fd, &home->dirs, &r);
	return readings_or(&r, CGROUP_CPU_LIMIT, UINT64_MAX) <= value;
}

static int hold_limit(struct job_cgroup *g, const struct cgroup_limit *l,
                      const struct cgroup_home *home, uint64_t value, struct err *err)
{
	const struct cgroup_dir *below = &home->dirs.of[l->family];
	struct place *p;
	const char *file;
	int r;

	if (!below->path[0])
		return home->lost.code ? err_set(err, ENOTSUP, "%s", home->lost.msg)
		                       : err_set(err, ENOTSUP,
		                                 "no hierarchy with the %s controller is mounted",
		                                 l->controller);
	p = get_place(g, below, err);
	if (!p)
		return -ENOTSUP;
	if (!has_controller(l, p))
		return err_set(err, ENOTSUP, "'/%s' does not delegate the %s controller", p->parent,
		               l->controller);
	r = cgroup_limit_set(l, p->dir_fd, p->is_v2, value, &file);
	if (r < 0 && !(r == -EINVAL && is_held_above(g, l, home, value)))
		return err_set(err, -r, "write '/%s/%s': %s", p->path, file, strerror(-r));
	p->holds_limit = true;
	g->limit_at[l->id] = p;
	read_from(g, l->family, p);
	return 0;
}

static int hold_limits(struct job_cgroup *g, const struct cgroup_home *home, const uint64_t *limit,
                       struct err *err)
{
	for (size_t i = 0; i < GROUP_LIMITS; i++) {
		const struct cgroup_limit *l = &group_limits[i];
		struct err why = { 0 };

		if (!limit[l->id] || hold_limit(g, l, home, limit[l->id], &why) == 0)
			continue;
		if (l->id == JOB_LIMIT_PIDS && cgroup_home_rlimit_binds(g->root_fd))
			continue; /* the launcher enforces it */
		return err_set(err, ENOTSUP, "%s cannot be enforced here: %s; try %s", l->option,
		               why.msg, l->remedy);
	}
	return 0;
}

static void describe(struct job_cgroup *g)
{
	static const char *const names[] = { "cpu", "cpuacct", "memory", "pids" };
	size_t len = 0, v1 = 0;

	static_assert(ARRAY_LEN(names) == CGROUP_FAMILIES, "a name for each");
	if (g->places[0].is_v2)
		len = (size_t)snprintf(g->describe, sizeof g->describe, "cgroup v2");
	for (unsigned f = 0; f < CGROUP_FAMILIES && len < sizeof g->describe; f++)
		if (g->dirs.of[f].path[0] && !g->dirs.of[f].is_v2)
			len += (size_t)snprintf(g->describe + len, sizeof g->describe - len,
			                        "%s %s",
			                        v1++  ? ","
			                        : len ? ", v1"
			                              : "cgroup v1",
			                        names[f]);
}

int job_cgroup_open(const struct job_cgroup_options *o, struct job_cgroup **ret, char *ret_why,
                    size_t why_size, struct err *err)
{
	cleanup(job_cgroup_closep) struct job_cgroup *g = xcalloc(1, sizeof *g);
	cleanup(freep) struct cgroup_home *home = xcalloc(1, sizeof *home);
	struct err why = { 0 };

	g->root_fd = o->root_fd;
	set_name(g, o->job_id);
	if (cgroup_home_find(o->root_fd, home, &why) < 0)
		home->lost = why;
	make_defaults(g, home, &why);
	if (!why.code)
		err_set(&why, ENOENT, "no hierarchy that counts CPU time is mounted here");
	if (hold_limits(g, home, o->limit, err) < 0)
		return -err->code;
	snprintf(ret_why, why_size, "%s", g->len ? "" : why.msg);
	*ret = NULL;
	if (g->len) {
		describe(g);
		*ret = TAKE_PTR(g);
	}
	return 0;
}

void job_cgroup_empty(const struct job_cgroup *g)
{
	for (size_t i = 0; i < g->len; i++)
		cgroup_dir_empty(g->places[i].parent_fd, g->places[i].dir_fd);
}

bool job_cgroup_needs_rlimit_pids(const struct job_cgroup *g, const uint64_t *limit)
{
	return limit[JOB_LIMIT_PIDS] && !(g && g->limit_at[JOB_LIMIT_PIDS]);
}

int job_cgroup_spawn_fd(const struct job_cgroup *g)
{
	return g && g->places[0].is_v2 ? g->places[0].dir_fd : -1;
}

int job_cgroup_join(const struct job_cgroup *g, bool is_spawned_inside, const char **ret_where)
{
	int result = 0;

	for (size_t i = 0; g && i < g->len; i++) {
		const struct place *p = &g->places[i];

		if ((p->is_v2 && is_spawned_inside) || write(p->join_fd, "0", 1) == 1)
			continue;
		if (p->holds_limit && result == 0) {
			result = -errno;
			*ret_where = p->path;
		}
	}
	return result;
}

void job_cgroup_read(const struct job_cgroup *g, struct cgroup_readings *ret)
{
	const uint64_t cpu = UINT64_C(1) << CGROUP_CPU | UINT64_C(1) << CGROUP_CPU_USER |
	                     UINT64_C(1) << CGROUP_CPU_SYSTEM;

	cgroup_read_usage(g->root_fd, &g->dirs, ret);
	/* A program that ran has used some CPU time. Zero means that it did not join. */
	if (!readings_or(ret, CGROUP_CPU, 0))
		ret->present &= ~cpu;
	if (!readings_or(ret, CGROUP_MEM_PEAK, 0))
		ret->present &= ~(UINT64_C(1) << CGROUP_MEM_PEAK);
}

unsigned job_cgroup_limits_hit(const struct job_cgroup *g)
{
	unsigned bits = 0;

	for (size_t i = 0; g && i < GROUP_LIMITS; i++) {
		const struct cgroup_limit *l = &group_limits[i];
		const struct place *p = g->limit_at[l->id];

		if (p && cgroup_limit_was_hit(l, p->dir_fd, p->is_v2))
			bits |= 1u << l->id;
	}
	return bits;
}

size_t job_cgroup_pids(const struct job_cgroup *g, pid_t *ret, size_t cap)
{
	return cgroup_dir_pids(g->places[0].dir_fd, ret, cap);
}

int job_cgroup_kill(const struct job_cgroup *g, int signo, struct err *err)
{
	int r = cgroup_dir_kill(g->places[0].dir_fd, signo);

	return r < 0 ? err_set(err, -r, "signal %d to the processes in '/%s': %s", signo,
	                       g->places[0].path, strerror(-r))
	             : 0;
}

const char *job_cgroup_describe(const struct job_cgroup *g)
{
	return g ? g->describe : "";
}
