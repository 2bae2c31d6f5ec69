/* SPDX-License-Identifier: MIT */
/* connector_filter.h - the classic BPF program that keeps messages out of a proc connector socket before
 * they take up room in its buffer. Pure. */
#pragma once

#include <linux/filter.h>
#include <stddef.h>

#define CONNECTOR_FILTER_MAX 32 /* instructions */
#define CONNECTOR_FILTER_RUN_BITS 5

/* Makes the filter of one of n sockets (1, 2, 4 or 8) that listen together. Each receives every
 * n-th run of 32 messages by their sequence numbers, so that a few events in a row are in one or
 * two of them; the first also receives the kernel's answers to requests. Messages that none of them
 * needs are dropped: births of threads, their ends unless they report a status, their names and
 * users, and changes of sessions, groups and tracers. Returns the number of instructions. */
size_t connector_filter_make(unsigned share, unsigned n,
                             struct sock_filter to[static CONNECTOR_FILTER_MAX]);
