/* SPDX-License-Identifier: MIT */
#include "kernel/disk_state.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

/* Owned by both threads: the one that is done last frees it. */
struct request {
	pthread_mutex_t lock;
	pthread_cond_t is_done;
	unsigned owners, n, done;
	dev_t seen[DISK_PLACES_MAX];
	struct disk_place places[DISK_PLACES_MAX];
};

static void release(struct request *r)
{
	unsigned left;

	pthread_mutex_lock(&r->lock);
	left = --r->owners;
	pthread_mutex_unlock(&r->lock);
	if (left)
		return;
	for (unsigned i = 0; i < r->n; i++)
		if (r->places[i].fd >= 0)
			close(r->places[i].fd);
	pthread_cond_destroy(&r->is_done);
	pthread_mutex_destroy(&r->lock);
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

static void read_place(struct request *r, unsigned at)
{
	struct disk_place *p = &r->places[at];
	struct statvfs fs;
	struct stat st;

	if (p->path[0] ? stat(p->path, &st) < 0 || statvfs(p->path, &fs) < 0
	               : p->fd < 0 || fstat(p->fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	                         fstatvfs(p->fd, &fs) < 0)
		return;
	if (!is_new(r, at, st.st_dev))
		return;
	p->is_read_only = fs.f_flag & ST_RDONLY;
	p->free_bytes = (uint64_t)(geteuid() ? fs.f_bavail : fs.f_bfree) * fs.f_frsize;
	p->total_inodes = fs.f_files;
	p->free_inodes = fs.f_files ? (uint64_t)(geteuid() ? fs.f_favail : fs.f_ffree) : UINT64_MAX;
	p->is_known = true;
}

static void *read_all(void *self)
{
	struct request *r = self;

	for (unsigned i = 0; i < r->n; i++)
		read_place(r, i);
	pthread_mutex_lock(&r->lock);
	r->done = 1;
	pthread_cond_signal(&r->is_done);
	pthread_mutex_unlock(&r->lock);
	release(r);
	return NULL;
}

static struct request *request_new(const struct disk_place *places, unsigned n)
{
	struct request *r = xcalloc(1, sizeof *r);
	pthread_condattr_t attr;

	pthread_mutex_init(&r->lock, NULL);
	pthread_condattr_init(&attr);
	pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	pthread_cond_init(&r->is_done, &attr);
	pthread_condattr_destroy(&attr);
	r->n = MIN(n, (unsigned)DISK_PLACES_MAX);
	r->owners = 2;
	memcpy(r->places, places, r->n * sizeof *places);
	for (unsigned i = 0; i < r->n; i++) /* it may outlive the caller's */
		r->places[i].fd = places[i].fd >= 0 ? fcntl(places[i].fd, F_DUPFD_CLOEXEC, 0) : -1;
	return r;
}

static bool wait_for(struct request *r, uint64_t patience_ns)
{
	struct timespec until;
	int result = 0;
	bool done;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += (time_t)(patience_ns / NS_PER_S);
	until.tv_nsec += (long)(patience_ns % NS_PER_S);
	if (until.tv_nsec >= (long)NS_PER_S) {
		until.tv_sec++;
		until.tv_nsec -= (long)NS_PER_S;
	}
	pthread_mutex_lock(&r->lock);
	while (!r->done && result == 0)
		result = pthread_cond_timedwait(&r->is_done, &r->lock, &until);
	done = r->done;
	pthread_mutex_unlock(&r->lock);
	return done;
}

void disk_state_read(struct disk_place *places, unsigned n, uint64_t patience_ns)
{
	struct request *r = request_new(places, n);
	pthread_t thread;

	if (thread_start(&thread, 0, read_all, r) < 0) {
		r->owners = 1;
		release(r);
		return;
	}
	pthread_detach(thread);
	if (wait_for(r, patience_ns))
		for (unsigned i = 0; i < r->n; i++) {
			int fd = places[i].fd;

			places[i] = r->places[i];
			places[i].fd = fd;
		}
	release(r);
}
