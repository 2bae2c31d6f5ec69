/* SPDX-License-Identifier: MIT */
#include "base/loop.h"

#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <systemd/sd-event.h>

#include "base/clock.h"
#include "base/mem.h"

struct loop {
	sd_event *event;
	struct loop_source *sources;
};

struct loop_source {
	struct loop *loop;
	struct loop_source *next;
	sd_event_source *source;
	void (*call)(void *self);
	void *self;
};

int loop_new(struct loop **ret, struct err *err)
{
	cleanup(loop_freep) struct loop *loop = xcalloc(1, sizeof *loop);
	int r = sd_event_new(&loop->event);

	if (r < 0)
		return err_set(err, -r, "create the event loop: %s", strerror(-r));
	*ret = TAKE_PTR(loop);
	return 0;
}

static void source_free(struct loop_source *s)
{
	sd_event_source_disable_unref(s->source);
	free(s);
}

void loop_free(struct loop *loop)
{
	if (!loop)
		return;
	while (loop->sources) {
		struct loop_source *s = loop->sources;

		loop->sources = s->next;
		source_free(s);
	}
	sd_event_unref(loop->event);
	free(loop);
}

void loop_remove(struct loop_source *source)
{
	if (!source)
		return;
	for (struct loop_source **at = &source->loop->sources; *at; at = &(*at)->next) {
		if (*at == source) {
			*at = source->next;
			break;
		}
	}
	source_free(source);
}

int loop_run(struct loop *loop, struct err *err)
{
	int r = sd_event_loop(loop->event);

	return r < 0 ? err_set(err, -r, "run the event loop: %s", strerror(-r)) : 0;
}

void loop_stop(struct loop *loop)
{
	sd_event_exit(loop->event, 0);
}

static int on_timer(sd_event_source *source, uint64_t usec, void *data)
{
	struct loop_source *s = data;

	(void)source, (void)usec;
	s->call(s->self);
	return 0;
}

static int on_reader(sd_event_source *source, int fd, uint32_t revents, void *data)
{
	struct loop_source *s = data;

	(void)source, (void)fd, (void)revents;
	s->call(s->self);
	return 0;
}

static int on_signal(sd_event_source *source, const struct signalfd_siginfo *si, void *data)
{
	struct loop_source *s = data;

	(void)source, (void)si;
	s->call(s->self);
	return 0;
}

static struct loop_source *source_new(struct loop *loop, void (*call)(void *), void *self)
{
	struct loop_source *s = xcalloc(1, sizeof *s);

	*s = (struct loop_source){
		.loop = loop, .next = loop->sources, .call = call, .self = self
	};
	loop->sources = s;
	return s;
}

/* What every add ends with: give the source out, or take it back and say why. */
static int source_added(struct loop_source *s, int r, const char *what, struct loop_source **ret,
                        struct err *err)
{
	if (r < 0) {
		loop_remove(s);
		return err_set(err, -r, "add a %s to the event loop: %s", what, strerror(-r));
	}
	if (ret)
		*ret = s;
	return 0;
}

int loop_add_timer(struct loop *loop, uint64_t mono_ns, void (*fire)(void *), void *self,
                   struct loop_source **ret, struct err *err)
{
	struct loop_source *s = source_new(loop, fire, self);
	int r = sd_event_add_time(loop->event, &s->source, CLOCK_MONOTONIC, mono_ns / NS_PER_US, 1,
	                          on_timer, s);

	return source_added(s, r, "timer", ret, err);
}

void loop_timer_set(struct loop_source *timer, uint64_t mono_ns)
{
	sd_event_source_set_time(timer->source, mono_ns / NS_PER_US);
	sd_event_source_set_enabled(timer->source, SD_EVENT_ONESHOT);
}

int loop_add_reader(struct loop *loop, int fd, void (*readable)(void *), void *self,
                    struct loop_source **ret, struct err *err)
{
	struct loop_source *s = source_new(loop, readable, self);
	int r = sd_event_add_io(loop->event, &s->source, fd, EPOLLIN, on_reader, s);

	return source_added(s, r, "reader", ret, err);
}

int loop_add_signal(struct loop *loop, int signo, void (*caught)(void *), void *self,
                    struct err *err)
{
	struct loop_source *s = source_new(loop, caught, self);
	sigset_t set;
	int r;

	sigemptyset(&set);
	sigaddset(&set, signo);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	r = sd_event_add_signal(loop->event, &s->source, signo, on_signal, s);
	return source_added(s, r, "signal", NULL, err);
}
