/* SPDX-License-Identifier: MIT */
#include "engine/forwarded_signals.h"

#include <stdio.h>
#include <string.h>

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

struct forwarded_signal forwarded_signal_new(int root_fd, int signo, pid_t pid, uint32_t uid)
{
	struct forwarded_signal from = { .signo = signo, .pid = pid, .uid = uid };

	read_comm(root_fd, pid, from.comm);
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
