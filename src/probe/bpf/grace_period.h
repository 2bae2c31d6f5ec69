/* SPDX-License-Identifier: MIT */
/* grace_period.h - shortens what attaching to a tracepoint may have to wait for.
 *
 * After a program was detached from a tracepoint, the next one is attached only when an RCU grace
 * period has passed: 5 to 20 ms, which the second of two runs in a row would wait. The kernel ends
 * one at once, in some 60 µs, when a mount goes away; so an invisible copy of a mount is made
 * and dropped, while the programs are loaded. That needs CAP_SYS_ADMIN. Where it cannot be done,
 * attaching takes as long as it takes. */
#pragma once

#include <pthread.h>
#include <stdbool.h>

struct grace_period {
	pthread_t thread;
	bool is_running;
	int root_fd;
};

/* The directory must stay open until the end. */
void grace_period_begin(struct grace_period *g, int root_fd);
void grace_period_await(struct grace_period *g); /* a moment at most */
void grace_period_end(struct grace_period *g);   /* zeroed is fine */
