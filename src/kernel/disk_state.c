/* SPDX-License-Identifier: MIT */
#include "kernel/disk_state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/side_task.h"

struct request {
	unsigned n;
	dev_t seen[DISK_PLACES_MAX];
	struct disk_place places[DISK_PLACES_MAX];
};

static void free_request(void *self)
{
	struct request *r = self;

	for (unsigned i = 0; i < r->n; i++)
		if (r->places[i].fd >= 0)
			close(r->places[i].fd);
	free(r);
}

static bool is_new(struct request *r, unsigned at, dev_t device)
{
	for (unsigned i = 0; i < at; i++)
		if (r->places[i].is_known && r->seen[i] == device)
			return false;
	r->seen[at] = device;
	return true;
}

/* Cuts names off the end of the path until something is there. */
static void find_existing(struct disk_place *p)
{
	while (access(p->path, F_OK) < 0 && errno == ENOENT) {
		char *slash = strrchr(p->path, '/');

		p->is_missing = true;
		if (!slash || slash == p->path) {
			memcpy(p->path, slash ? "/" : ".", 2);
			return;
		}
		*slash = '\0';
	}
}

static void read_place(struct request *r, unsigned at)
{
	struct disk_place *p = &r->places[at];
	struct statvfs fs;
	struct stat st;

	if (p->may_be_new)
		find_existing(p);
	if (p->path[0] ? stat(p->path, &st) < 0 || statvfs(p->path, &fs) < 0
	               : p->fd < 0 || fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	                         fstatvfs(p->fd, &fs) < 0)
		return;
	if (!is_new(r, at, st.st_dev))
		return;
	p->is_directory = S_ISDIR(st.st_mode);
	p->modified_ns = (uint64_t)st.st_mtim.tv_sec * NS_PER_S + (uint64_t)st.st_mtim.tv_nsec;
	p->is_read_only = fs.f_flag & ST_RDONLY;
	p->total_bytes = (uint64_t)fs.f_blocks * fs.f_frsize;
	p->free_bytes = (uint64_t)(geteuid() ? fs.f_bavail : fs.f_bfree) * fs.f_frsize;
	p->total_inodes = fs.f_files;
	p->free_inodes = fs.f_files ? (uint64_t)(geteuid() ? fs.f_favail : fs.f_ffree) : UINT64_MAX;
	p->is_known = true;
}

static void read_all(void *self)
{
	struct request *r = self;

	for (unsigned i = 0; i < r->n; i++)
		read_place(r, i);
}

static struct request *request_new(const struct disk_place *places, unsigned n)
{
	struct request *r = xcalloc(1, sizeof *r);

	r->n = MIN(n, (unsigned)DISK_PLACES_MAX);
	memcpy(r->places, places, r->n * sizeof *places);
	for (unsigned i = 0; i < r->n; i++) /* it may outlive the caller's */
		r->places[i].fd = places[i].fd >= 0 ? fcntl(places[i].fd, F_DUPFD_CLOEXEC, 0) : -1;
	return r;
}

void disk_state_read(struct disk_place *places, unsigned n, uint64_t patience_ns)
{
	struct request *r = request_new(places, n);
	struct side_task *task = side_task_start(read_all, free_request, r);

	if (!task)
		return;
	if (side_task_wait(task, patience_ns))
		for (unsigned i = 0; i < r->n; i++) {
			int fd = places[i].fd;

			places[i] = r->places[i];
			places[i].fd = fd;
		}
	side_task_leave(task);
}
