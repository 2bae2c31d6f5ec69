/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/defs.h"
#include "base/mem.h"

#define BATCH 64

struct loop_source {
	struct loop *loop;
	struct loop_source *next;
	int fd;           /* -1: a timer */
	unsigned watched; /* LOOP_READ, LOOP_WRITE */
	uint64_t when_ns; /* of a timer; LOOP_NEVER: not armed */
	bool is_removed;
	void (*call)(void *self);
	void *self;
};

struct loop_catcher {
	void (*caught)(void *self, const struct signalfd_siginfo *info);
	void *self;
};

struct loop {
	int epoll_fd, signal_fd;
	bool is_stopped;
	sigset_t signals;
	struct loop_catcher catchers[NSIG];
	struct loop_source *timers, *readers;
	struct loop_source *removed; /* freed after the batch, which may still refer to them */
};

int loop_new(struct loop **ret, struct err *err)
{
	cleanup(loop_freep) struct loop *loop = xcalloc(1, sizeof *loop);

	loop->signal_fd = -1;
	sigemptyset(&loop->signals);
	loop->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
	if (loop->epoll_fd < 0)
		return err_set(err, errno, "create the event loop: %s", strerror(errno));
	*ret = TAKE_PTR(loop);
	return 0;
}

static void free_list(struct loop_source **list)
{
	while (*list) {
		struct loop_source *s = *list;

		*list = s->next;
		free(s);
	}
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	free_list(&loop->timers);
	free_list(&loop->readers);
	free_list(&loop->removed);
	if (loop->signal_fd >= 0)
		close(loop->signal_fd);
	if (loop->epoll_fd >= 0)
		close(loop->epoll_fd);
	free(loop);
}

static struct loop_source **list_of(struct loop_source *s)
{
	return s->fd < 0 ? &s->loop->timers : &s->loop->readers;
}

void loop_remove(struct loop_source *source)
{
	struct loop_source **at;

	if (!source)
		return;
	for (at = list_of(source); *at != source; at = &(*at)->next)
		;
	*at = source->next;
	if (source->fd >= 0)
		(void)epoll_ctl(source->loop->epoll_fd, EPOLL_CTL_DEL, source->fd, NULL);
	source->is_removed = true;
	source->next = source->loop->removed;
	source->loop->removed = source;
}

static struct loop_source *source_new(struct loop *loop, int fd, void (*call)(void *), void *self)
{
	struct loop_source *s = xcalloc(1, sizeof *s);

	*s = (struct loop_source){
		.loop = loop, .fd = fd, .when_ns = LOOP_NEVER, .call = call, .self = self
	};
	s->next = *list_of(s);
	*list_of(s) = s;
	return s;
}

/* ---- timers ---------------------------------------------------------------------------------- */

struct loop_source *loop_add_timer(struct loop *loop, uint64_t mono_ns, void (*fire)(void *),
                                   void *self)
{
	struct loop_source *s = source_new(loop, -1, fire, self);

	s->when_ns = mono_ns;
	return s;
}

void loop_timer_set(struct loop_source *timer, uint64_t mono_ns)
{
	timer->when_ns = mono_ns;
}

static int wait_ms(const struct loop *loop)
{
	uint64_t first_ns = LOOP_NEVER, now_ns, ms;

	for (const struct loop_source *s = loop->timers; s; s = s->next)
		first_ns = MIN(first_ns, s->when_ns);
	if (first_ns == LOOP_NEVER)
		return -1;
	now_ns = clock_mono_ns();
	if (first_ns <= now_ns)
		return 0;
	ms = (first_ns - now_ns + NS_PER_MS - 1) / NS_PER_MS;
	return (int)MIN(ms, (uint64_t)INT_MAX);
}

/* A timer that sets itself to a time in the past fires again only in the next round. */
static void fire_timers(struct loop *loop)
{
	uint64_t now_ns = clock_mono_ns();
	struct loop_source *s = loop->timers, *next;

	for (; s && !loop->is_stopped; s = next) {
		next = s->next;
		if (s->when_ns > now_ns)
			continue;
		s->when_ns = LOOP_NEVER;
		s->call(s->self);
		/* The callback changed the list. */
		if (s->is_removed || (next && next->is_removed))
			next = loop->timers;
	}
}

/* ---- fds and signals ------------------------------------------------------------------------- */

static int watch(struct loop *loop, int fd, uint32_t events, void *source)
{
	struct epoll_event event = { .events = events, .data.ptr = source };

	return epoll_ctl(loop->epoll_fd, EPOLL_CTL_ADD, fd, &event) < 0 ? -errno : 0;
}

int loop_add_reader(struct loop *loop, int fd, void (*ready)(void *), void *self,
                    struct loop_source **ret, struct err *err)
{
	struct loop_source *s;
	int r;

	if (fd < 0)
		return err_set(err, EBADF, "add a reader to the event loop: %s", strerror(EBADF));
	s = source_new(loop, fd, ready, self);
	s->watched = LOOP_READ;
	r = watch(loop, fd, EPOLLIN, s);
	if (r < 0) {
		loop_remove(s);
		return err_set(err, -r, "add a reader to the event loop: %s", strerror(-r));
	}
	if (ret)
		*ret = s;
	return 0;
}

void loop_watch(struct loop_source *reader, unsigned events)
{
	struct epoll_event event = { .events = (events & LOOP_READ ? EPOLLIN : 0U) |
		                               (events & LOOP_WRITE ? EPOLLOUT : 0U),
		                     .data.ptr = reader };

	int change = events == LOOP_PAUSED            ? EPOLL_CTL_DEL
	             : reader->watched == LOOP_PAUSED ? EPOLL_CTL_ADD
	                                              : EPOLL_CTL_MOD;

	if (reader->watched == events)
		return;
	reader->watched = events;
	(void)epoll_ctl(reader->loop->epoll_fd, change, reader->fd, &event);
}

int loop_add_signals(struct loop *loop, const sigset_t *signals,
                     void (*caught)(void *, const struct signalfd_siginfo *), void *self,
                     struct err *err)
{
	int fd, r = 0;

	sigorset(&loop->signals, &loop->signals, signals);
	pthread_sigmask(SIG_BLOCK, &loop->signals, NULL);
	fd = signalfd(loop->signal_fd, &loop->signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (fd < 0)
		return err_set(err, errno, "add signals to the event loop: %s", strerror(errno));
	if (loop->signal_fd < 0)
		r = watch(loop, fd, EPOLLIN, NULL); /* no source: the signals */
	loop->signal_fd = fd;
	if (r < 0)
		return err_set(err, -r, "add signals to the event loop: %s", strerror(-r));
	for (int signo = 1; signo < NSIG; signo++)
		if (sigismember(signals, signo) == 1)
			loop->catchers[signo] = (struct loop_catcher){ caught, self };
	return 0;
}

static void read_signals(struct loop *loop)
{
	struct signalfd_siginfo info;

	while (!loop->is_stopped && read(loop->signal_fd, &info, sizeof info) == sizeof info)
		loop->catchers[info.ssi_signo].caught(loop->catchers[info.ssi_signo].self, &info);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static void dispatch(struct loop *loop, const struct epoll_event *events, int n)
{
	for (int i = 0; i < n && !loop->is_stopped; i++) {
		struct loop_source *s = events[i].data.ptr;

		if (!s)
			read_signals(loop);
		else if (!s->is_removed)
			s->call(s->self);
	}
}

int loop_run(struct loop *loop, struct err *err)
{
	struct epoll_event events[BATCH];

	loop->is_stopped = false;
	while (!loop->is_stopped) {
		int n = epoll_wait(loop->epoll_fd, events, BATCH, wait_ms(loop));

		if (n < 0 && errno != EINTR)
			return err_set(err, errno, "run the event loop: %s", strerror(errno));
		dispatch(loop, events, n);
		fire_timers(loop);
		free_list(&loop->removed);
	}
	return 0;
}

void loop_stop(struct loop *loop)
{
	loop->is_stopped = true;
}
