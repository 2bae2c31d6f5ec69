/* SPDX-License-Identifier: MIT */
/* connector_filter.h - the classic BPF program that keeps messages out of a proc connector socket before
 * they take up room in its buffer. Pure. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#define CONNECTOR_FILTER_MAX 32 /* instructions */

/* Of n sockets (a power of two, 256 at most) that listen together, each receives the messages whose
 * sequence number leaves the remainder `share`; the first also receives the kernel's answers to
 * requests. What none of them needs is dropped: births of threads, their ends unless they report a
 * status, their names and users, and changes of sessions, groups and tracers. Returns the number of
 * instructions. */
size_t connector_filter_make(unsigned share, unsigned n,
                             struct sock_filter to[static CONNECTOR_FILTER_MAX]);
