/* SPDX-License-Identifier: MIT */
/* Signals that were sent to us and passed on: the kernel tells that the command had them from us,
 * which nobody wants to know. Who sent them to us is remembered until the news of them come. */
#include "engine/jobhost_self.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "kernel/kernel_file.h"

static void read_comm(int root_fd, pid_t pid, char ret[static COMM_LEN])
{
	char path[32], text[COMM_LEN + 1];
	ssize_t n;

	snprintf(path, sizeof path, "proc/%d/comm", pid);
	n = pid > 0 ? kernel_file_read(root_fd, path, text, sizeof text) : 0;
	if (n <= 1)
		return;
	n = MIN(n - 1, (ssize_t)COMM_LEN - 1); /* without the newline */
	memcpy(ret, text, (size_t)n);
	ret[n] = '\0';
}

static void name_origin(struct event *e, const struct forwarded *from)
{
	e->is_forwarded = true;
	e->sender_pid = from->pid;
	e->sender_uid = from->uid;
	memcpy(e->sender_comm, from->comm, sizeof e->sender_comm);
}

/* Where nobody tells of signals, we tell of these. */
static void tell(struct jobhost *h, const struct forwarded *from)
{
	struct event *e = sample_add_event(sampler_sample(engine_sampler(h->engine)), EVENT_SIGNAL);

	if (!e)
		return;
	e->boot_ns = clock_boot_ns();
	e->id = h->command;
	e->signal = from->signo;
	name_origin(e, from);
}

void jobhost_on_forward(void *self, int signo, pid_t from_pid, uint32_t from_uid)
{
	struct jobhost *h = self;
	struct forwarded from = { .signo = signo, .pid = from_pid, .uid = from_uid };

	if (!h->engine)
		return;
	read_comm(h->root_fd, from_pid, from.comm);
	if (sampler_tells_totals(engine_sampler(h->engine)))
		h->forwarded[h->forwards++ % FORWARDED_KEPT] = from;
	else
		tell(h, &from);
}

/* The oldest of that number that was not told yet. */
static struct forwarded *find_origin(struct jobhost *h, int signo)
{
	for (size_t i = 0; i < FORWARDED_KEPT; i++) {
		struct forwarded *from = &h->forwarded[(h->forwards + i) % FORWARDED_KEPT];

		if (from->signo == signo)
			return from;
	}
	return NULL;
}

void jobhost_name_origins(struct jobhost *h, struct snapshot *snap)
{
	if (!h->forwards)
		return;
	vec_each(&snap->events, e) {
		struct forwarded *from;

		if (e->kind != EVENT_SIGNAL || e->sender_pid != getpid() ||
		    e->id.pid != h->command.pid)
			continue;
		from = find_origin(h, e->signal);
		if (!from)
			continue;
		name_origin(e, from);
		from->signo = 0;
	}
}
