/* SPDX-License-Identifier: MIT */
#include "engine/forwarded_signals.h"

#include <string.h>

#include "kernel/process_peek.h"

void forwarded_signals_add(struct forwarded_signals *f, int root_fd, int signo, pid_t pid,
                           uint32_t uid)
{
	struct forwarded_signal *to = &f->ring[f->count++ % FORWARDED_SIGNALS_KEPT];

	*to = (struct forwarded_signal){ .signo = signo, .pid = pid, .uid = uid };
	if (pid > 0)
		process_peek_comm(root_fd, pid, to->comm);
}

void forwarded_signals_name(struct forwarded_signals *f, struct event *e)
{
	for (size_t i = 0; i < FORWARDED_SIGNALS_KEPT; i++) {
		struct forwarded_signal *from = &f->ring[(f->count + i) % FORWARDED_SIGNALS_KEPT];

		if (from->signo != e->signal)
			continue;
		e->is_forwarded = true;
		e->sender_pid = from->pid;
		e->sender_uid = from->uid;
		memcpy(e->sender_comm, from->comm, sizeof e->sender_comm);
		from->signo = 0;
		return;
	}
}
