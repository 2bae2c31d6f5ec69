/* SPDX-License-Identifier: MIT */
/* ring_buffer.h - the reading end of a BPF ring buffer: the kernel puts records in, we take them out in
 * order. One reader. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct ring_buffer;

/* Called with each record; the bytes are gone when it returns. */
typedef void ring_buffer_take(void *self, const void *record, size_t len);

/* The map of that fd, which stays the caller's; `bytes` is its size. */
int ring_buffer_open(int map_fd, size_t bytes, struct ring_buffer **ret, struct err *err)
	must_check;
void ring_buffer_close(struct ring_buffer *ring); /* NULL is fine */
DEFINE_CLEANUP(struct ring_buffer *, ring_buffer_close)
/* Takes what is complete now, in order; after a long pause not all of it: the fd stays readable for
 * the rest. */
int ring_buffer_drain(struct ring_buffer *ring, ring_buffer_take *take, void *self, struct err *err)
	must_check;
/* The same on plain bytes (which begin at a record and are aligned to 8); how many were used up. */
size_t ring_buffer_walk(const void *bytes, size_t len, ring_buffer_take *take, void *self);
