/* SPDX-License-Identifier: MIT */
#include "kernel/hang_proof.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"
#include "kernel/kernel_file.h"

#define LEFT_BEHIND_MAX 4
#define STACK_BYTES ((size_t)PTHREAD_STACK_MIN + (64 << 10))

/* How many threads hang. It outlives the patient: the last one that comes back frees it. */
struct accounting {
	atomic_int hanging, holders;
};

/* A thread and its work. Whoever leaves last frees it: the patient, or the thread that was left
 * behind. */
struct history {
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t work, progress;
	int dir_fd; /* its own */
	size_t count, done;
	bool is_dismissed, is_left_behind;
	struct accounting *tally;
	char paths[HANG_PROOF_BATCH][sizeof(((struct hang_proof_file *)0)->path)];
	uint32_t offsets[HANG_PROOF_BATCH];
	ssize_t lens[HANG_PROOF_BATCH];
	uint64_t cpu_ns[HANG_PROOF_BATCH];
	char bytes[HANG_PROOF_BATCH][HANG_PROOF_BYTES];
};

struct hang_proof {
	int dir_fd;
	uint64_t patience_ns;
	struct history *reader; /* NULL: none yet, or it was left behind */
	struct accounting *tally;
	char bytes[HANG_PROOF_BATCH][HANG_PROOF_BYTES];
};

static void tally_drop(struct accounting *t)
{
	if (atomic_fetch_sub(&t->holders, 1) == 1)
		free(t);
}

static void reader_free(struct history *r)
{
	pthread_cond_destroy(&r->work);
	pthread_cond_destroy(&r->progress);
	pthread_mutex_destroy(&r->lock);
	close(r->dir_fd);
	free(r);
}

/* ---- in the thread --------------------------------------------------------------------------- */

/* With the lock held; it is not held while the file is read. */
static void read_next(struct history *r)
{
	uint64_t begin_ns = clock_thread_cpu_ns();
	size_t i = r->done;
	ssize_t n;

	pthread_mutex_unlock(&r->lock);
	n = kernel_file_read_from(r->dir_fd, r->paths[i], r->offsets[i], r->bytes[i],
	                          HANG_PROOF_BYTES);
	pthread_mutex_lock(&r->lock);
	r->lens[i] = n;
	r->cpu_ns[i] = clock_thread_cpu_ns() - begin_ns;
	r->done++;
	if (r->done == r->count)
		pthread_cond_signal(&r->progress);
}

static void *reader_main(void *self)
{
	struct history *r = self;
	bool is_left_behind;

	pthread_mutex_lock(&r->lock);
	while (!r->is_dismissed && !r->is_left_behind) {
		if (r->done < r->count)
			read_next(r);
		else
			pthread_cond_wait(&r->work, &r->lock);
	}
	is_left_behind = r->is_left_behind;
	pthread_mutex_unlock(&r->lock);
	if (is_left_behind) {
		struct accounting *t = r->tally;

		reader_free(r);
		atomic_fetch_sub(&t->hanging, 1);
		tally_drop(t);
	}
	return NULL;
}

/* ---- outside of it --------------------------------------------------------------------------- */

static void reader_init(struct history *r, const struct hang_proof *p)
{
	pthread_condattr_t clock;

	r->tally = p->tally;
	r->dir_fd = fcntl(p->dir_fd, F_DUPFD_CLOEXEC, 3);
	pthread_mutex_init(&r->lock, NULL);
	pthread_cond_init(&r->work, NULL);
	pthread_condattr_init(&clock);
	pthread_condattr_setclock(&clock, CLOCK_MONOTONIC);
	pthread_cond_init(&r->progress, &clock);
	pthread_condattr_destroy(&clock);
}

static struct history *reader_new(const struct hang_proof *p)
{
	struct history *r;

	if (atomic_load(&p->tally->hanging) >= LEFT_BEHIND_MAX)
		return NULL;
	r = xcalloc(1, sizeof *r);
	reader_init(r, p);
	if (r->dir_fd < 0 || thread_start(&r->thread, STACK_BYTES, reader_main, r) < 0) {
		reader_free(r);
		return NULL;
	}
	return r;
}

static void reader_dismiss(struct history *r)
{
	pthread_mutex_lock(&r->lock);
	r->is_dismissed = true;
	pthread_cond_signal(&r->work);
	pthread_mutex_unlock(&r->lock);
	pthread_join(r->thread, NULL);
	reader_free(r);
}

struct hang_proof *hang_proof_new(int dir_fd, unsigned patience_ms)
{
	struct hang_proof *p = xcalloc(1, sizeof *p);

	p->dir_fd = dir_fd;
	p->patience_ns = patience_ms * NS_PER_MS;
	p->tally = xcalloc(1, sizeof *p->tally);
	atomic_init(&p->tally->holders, 1);
	return p;
}

void hang_proof_free(struct hang_proof *p)
{
	if (!p)
		return;
	if (p->reader)
		reader_dismiss(p->reader);
	tally_drop(p->tally);
	free(p);
}

static struct timespec deadline_after(uint64_t ns)
{
	uint64_t at = clock_mono_ns() + ns;

	return (struct timespec){ .tv_sec = (time_t)(at / NS_PER_S),
		                  .tv_nsec = (long)(at % NS_PER_S) };
}

/* Until all is read, or until nothing more was for as long as we have patience. With the lock
 * held. */
static bool await(struct history *r, uint64_t patience_ns)
{
	size_t seen = r->done;
	struct timespec deadline = deadline_after(patience_ns);

	while (r->done < r->count) {
		if (pthread_cond_timedwait(&r->progress, &r->lock, &deadline) != ETIMEDOUT)
			continue;
		if (r->done == seen)
			return false;
		seen = r->done;
		deadline = deadline_after(patience_ns);
	}
	return true;
}

/* With the lock held. */
static void leave_behind(struct hang_proof *p)
{
	p->reader->is_left_behind = true;
	atomic_fetch_add(&p->tally->hanging, 1);
	atomic_fetch_add(&p->tally->holders, 1);
	pthread_detach(p->reader->thread);
	p->reader = NULL;
}

/* Hands files to the thread and takes what it read. How many are settled now: all, or up to one
 * that hangs. */
static size_t read_some(struct hang_proof *p, struct hang_proof_file *files, size_t from, size_t n)
{
	struct history *r = p->reader;
	size_t settled;

	pthread_mutex_lock(&r->lock);
	r->count = n - from;
	r->done = 0;
	for (size_t i = 0; i < r->count; i++) {
		memcpy(r->paths[i], files[from + i].path, sizeof r->paths[i]);
		r->offsets[i] = files[from + i].offset;
	}
	pthread_cond_signal(&r->work);
	settled = from + (await(r, p->patience_ns) ? r->count : r->done + 1);
	for (size_t i = 0; i < r->done; i++) {
		files[from + i].len = r->lens[i];
		files[from + i].cpu_ns = r->cpu_ns[i];
		files[from + i].bytes = p->bytes[from + i];
		memcpy(p->bytes[from + i], r->bytes[i], r->lens[i] > 0 ? (size_t)r->lens[i] : 0);
	}
	if (r->done < r->count) {
		files[settled - 1].len = -ETIMEDOUT;
		leave_behind(p);
	}
	pthread_mutex_unlock(&r->lock);
	return settled;
}

void hang_proof_read(struct hang_proof *p, struct hang_proof_file *files, size_t n)
{
	size_t settled = 0;

	while (settled < n) {
		if (!p->reader)
			p->reader = reader_new(p);
		if (!p->reader)
			break;
		settled = read_some(p, files, settled, n);
	}
	for (; settled < n; settled++)
		files[settled].len = -EBUSY;
}
