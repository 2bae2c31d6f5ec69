/* SPDX-License-Identifier: MIT */
#include "serve/store_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mem.h"
#include "base/thread.h"

#define STACK_BYTES ((size_t)512 << 10) /* for SQLite and the lookup of user names */
#define REQUEST_TIME_NS (10 * NS_PER_S) /* limit of all reads of a task together */

struct store_request {
	struct store_request *next;
	struct store_worker *worker;
	struct store_worker_task task;
	struct history_cancel cancel;
	uint64_t turn;
	/* the result */
	struct buf result;
	struct err err;
	int r;
};

/* `lock` protects the lists; the other members of a request belong to the thread that works on it. */
struct store_worker {
	struct loop *loop;
	struct loop_source *bell;
	int bell_fd; /* an eventfd that the thread signals when a task is done; -1: no thread yet */
	size_t result_max;
	pthread_t thread;
	pthread_mutex_t lock;
	pthread_cond_t wake;
	struct store_request *waiting; /* in the order of their turns */
	struct store_request *current; /* on the thread */
	struct store_request *done;
	uint64_t turn; /* of the current task, or of the last one */
	bool is_closing;
	/* of the thread */
	struct process_reader *reader; /* NULL: not needed yet */
	int root_fd;
};

static void request_free(struct store_request *e)
{
	e->task.free(e->task.self);
	buf_done(&e->result);
	free(e);
}

static void free_all(struct store_request *list)
{
	while (list) {
		struct store_request *e = list;

		list = e->next;
		request_free(e);
	}
}

/* ---- in the thread --------------------------------------------------------------------------- */

/* With the lock held; NULL: the thread ends. */
static struct store_request *next_request(struct store_worker *c)
{
	while (!c->waiting && !c->is_closing)
		pthread_cond_wait(&c->wake, &c->lock);
	if (c->is_closing)
		return NULL;
	c->current = c->waiting;
	c->waiting = c->current->next;
	c->turn = c->current->turn;
	return c->current;
}

static void run_request(struct store_request *e)
{
	struct json j = { .out = &e->result };

	e->cancel.until_ns = clock_mono_ns() + REQUEST_TIME_NS;
	e->r = e->task.work(e->task.self, &e->cancel, &j, &e->err);
}

static void *worker_main(void *self)
{
	struct store_worker *c = self;
	struct store_request *e;

	pthread_mutex_lock(&c->lock);
	while ((e = next_request(c))) {
		pthread_mutex_unlock(&c->lock);
		run_request(e);
		pthread_mutex_lock(&c->lock);
		c->current = NULL;
		e->next = c->done;
		c->done = e;
		(void)!eventfd_write(c->bell_fd, 1);
	}
	pthread_mutex_unlock(&c->lock);
	return NULL;
}

struct process_reader *store_worker_process_reader(struct store_worker *c)
{
	if (!c->reader) {
		c->root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
		c->reader = process_reader_new(c->root_fd);
	}
	return c->reader;
}

/* ---- on the loop ----------------------------------------------------------------------------- */

static void on_bell(void *self)
{
	struct store_worker *c = self;
	struct store_request *done;
	eventfd_t n;

	(void)!eventfd_read(c->bell_fd, &n);
	pthread_mutex_lock(&c->lock);
	done = TAKE_PTR(c->done);
	pthread_mutex_unlock(&c->lock);
	while (done) {
		struct store_request *e = done;

		done = e->next;
		if (!atomic_load(&e->cancel.is_cancelled))
			e->task.done(e->task.self, e->r, &e->result, &e->err);
		request_free(e);
	}
}

static int start_thread(struct store_worker *c, struct err *err)
{
	cleanup(closep) int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);

	if (fd < 0 || loop_add_reader(c->loop, fd, on_bell, c, &c->bell, err) < 0)
		return err_set(err, EAGAIN, "out of file descriptors: the store cannot be read");
	c->bell_fd = fd;
	if (thread_start(&c->thread, STACK_BYTES, worker_main, c) < 0) {
		loop_remove(c->bell);
		c->bell_fd = -1;
		return err_set(err, EAGAIN, "no thread can be started to read the store");
	}
	c->bell_fd = TAKE_FD(fd);
	return 0;
}

/* Appends to a turn: the one after the last in which the user has a task waiting, else the current
 * one. With the lock held. */
static void enqueue(struct store_worker *c, struct store_request *e)
{
	struct store_request **at;

	e->turn = c->turn;
	for (const struct store_request *other = c->waiting; other; other = other->next)
		if (other->task.uid == e->task.uid)
			e->turn = other->turn + 1;
	if (c->current && c->current->task.uid == e->task.uid)
		e->turn = MAX(e->turn, c->turn + 1);
	for (at = &c->waiting; *at && (*at)->turn <= e->turn; at = &(*at)->next)
		;
	e->next = *at;
	*at = e;
}

struct store_worker *store_worker_new(struct loop *loop, size_t result_max)
{
	struct store_worker *c = xcalloc(1, sizeof *c);

	*c = (struct store_worker){
		.loop = loop, .bell_fd = -1, .root_fd = -1, .result_max = result_max
	};
	pthread_mutex_init(&c->lock, NULL);
	pthread_cond_init(&c->wake, NULL);
	return c;
}

int store_worker_take(struct store_worker *c, const struct store_worker_task *take_task,
                      struct store_request **ret, struct err *err)
{
	struct store_request *e = xcalloc(1, sizeof *e);

	*e = (struct store_request){ .worker = c, .task = *take_task, .result.max = c->result_max };
	if (c->bell_fd < 0 && start_thread(c, err) < 0) {
		request_free(e);
		return -err->code;
	}
	pthread_mutex_lock(&c->lock);
	enqueue(c, e);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	*ret = e;
	return 0;
}

/* A waiting task is freed at once; one on the thread, or done, is freed by on_bell(). */
void store_worker_drop(struct store_request *request)
{
	struct store_worker *c = request->worker;
	bool waits = false;

	atomic_store(&request->cancel.is_cancelled, true);
	pthread_mutex_lock(&c->lock);
	for (struct store_request **at = &c->waiting; *at; at = &(*at)->next) {
		if (*at != request)
			continue;
		*at = request->next;
		waits = true;
		break;
	}
	pthread_mutex_unlock(&c->lock);
	if (waits)
		request_free(request);
}

static void stop_thread(struct store_worker *c)
{
	pthread_mutex_lock(&c->lock);
	c->is_closing = true;
	if (c->current)
		atomic_store(&c->current->cancel.is_cancelled, true);
	pthread_cond_signal(&c->wake);
	pthread_mutex_unlock(&c->lock);
	pthread_join(c->thread, NULL);
	loop_remove(c->bell);
	close(c->bell_fd);
}

void store_worker_free(struct store_worker *c)
{
	if (!c)
		return;
	if (c->bell_fd >= 0)
		stop_thread(c);
	free_all(c->waiting);
	free_all(c->done);
	process_reader_free(c->reader);
	if (c->root_fd >= 0)
		close(c->root_fd);
	pthread_cond_destroy(&c->wake);
	pthread_mutex_destroy(&c->lock);
	free(c);
}
