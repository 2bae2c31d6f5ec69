/* SPDX-License-Identifier: MIT */
/* ringbuf.h - the reading end of a BPF ring buffer: the kernel puts records in, we take them out in
 * order. One reader. */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct ringbuf;

/* Called with each record; the bytes are gone when it returns. */
typedef void ringbuf_take(void *self, const void *record, size_t len);

/* The map of that fd, which stays the caller's; `bytes` is its size. */
int ringbuf_open(int map_fd, size_t bytes, struct ringbuf **ret, struct err *err) must_check;
void ringbuf_close(struct ringbuf *ring); /* NULL is fine */
DEFINE_CLEANUP(struct ringbuf *, ringbuf_close)
/* Takes what is complete now, in order; after a long pause not all of it: the fd stays readable for
 * the rest. */
int ringbuf_drain(struct ringbuf *ring, ringbuf_take *take, void *self, struct err *err) must_check;
/* The same on plain bytes (which begin at a record and are aligned to 8); how many were used up. */
size_t ringbuf_walk(const void *bytes, size_t len, ringbuf_take *take, void *self);
