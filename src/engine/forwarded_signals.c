/* SPDX-License-Identifier: MIT */
#include "engine/forwarded_signals.h"

#include <string.h>

#include "kernel/process_peek.h"

struct forwarded_signal forwarded_signal_new(int root_fd, int signo, pid_t pid, uint32_t uid)
{
	struct forwarded_signal from = { .signo = signo, .pid = pid, .uid = uid };

	if (pid > 0)
		process_peek_comm(root_fd, pid, from.comm);
	return from;
}

void forwarded_signals_keep(struct forwarded_signals *f, const struct forwarded_signal *from)
{
	f->ring[f->count++ % FORWARDED_SIGNALS_KEPT] = *from;
}

void forwarded_signal_name(const struct forwarded_signal *from, struct event *e)
{
	e->is_forwarded = true;
	e->sender_pid = from->pid;
	e->sender_uid = from->uid;
	memcpy(e->sender_comm, from->comm, sizeof e->sender_comm);
}

void forwarded_signals_name(struct forwarded_signals *f, struct event *e)
{
	for (size_t i = 0; i < FORWARDED_SIGNALS_KEPT; i++) {
		struct forwarded_signal *from = &f->ring[(f->count + i) % FORWARDED_SIGNALS_KEPT];

		if (from->signo != e->signal)
			continue;
		forwarded_signal_name(from, e);
		from->signo = 0;
		return;
	}
}
