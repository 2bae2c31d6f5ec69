/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/ring_buffer.h"

#include <errno.h>
#include <linux/bpf.h>
#include <string.h>
#include <sys/mman.h>

#include "base/mem.h"

/* The map as the kernel lays it out for mmap: a page with our position, a page with the kernel's,
 * then the data twice in a row, so that a record which wraps around can be read in one piece.
 * Positions only grow.
 *
 * Mapped for good, the data would count as twice its size in our resident memory. It is nearly
 * empty most of the time, so only what waits is mapped, when it is read. */
#define RINGBUF_BITE                                                                               \
	((size_t)512                                                                               \
	 << 10) /* some 5,000 records: what a reader that was held up must digest at once */

struct ring_buffer {
	int map_fd;
	size_t bytes, page;
	uint64_t *consumer; /* page of its own, writable */
	uint64_t *producer; /* page of its own, read only */
};

static void *map_pages(int fd, int prot, size_t at, size_t len)
{
	void *p = mmap(NULL, len, prot, MAP_SHARED, fd, (off_t)at);

	return p == MAP_FAILED ? NULL : p;
}

int ring_buffer_open(int map_fd, size_t bytes, struct ring_buffer **ret, struct err *err)
{
	cleanup(ring_buffer_closep) struct ring_buffer *ring = xcalloc(1, sizeof *ring);

	ring->map_fd = map_fd;
	ring->bytes = bytes;
	ring->page = (size_t)sysconf(_SC_PAGESIZE);
	ring->consumer = map_pages(map_fd, PROT_READ | PROT_WRITE, 0, ring->page);
	if (!ring->consumer)
		return err_set(err, errno, "map the ring's reading end: %s", strerror(errno));
	ring->producer = map_pages(map_fd, PROT_READ, ring->page, ring->page);
	if (!ring->producer)
		return err_set(err, errno, "map the ring's writing end: %s", strerror(errno));
	*ret = TAKE_PTR(ring);
	return 0;
}

void ring_buffer_close(struct ring_buffer *ring)
{
	if (!ring)
		return;
	if (ring->consumer)
		munmap(ring->consumer, ring->page);
	if (ring->producer)
		munmap(ring->producer, ring->page);
	free(ring);
}

/* Each record has a head of 8 bytes: its length with two flags, and something for the kernel
 * alone. */
size_t ring_buffer_walk(const void *bytes, size_t len, ring_buffer_take *take, void *self)
{
	const char *p = bytes;
	size_t used = 0;

	while (len - used >= BPF_RINGBUF_HDR_SZ) {
		uint32_t head = __atomic_load_n((const uint32_t *)(const void *)(p + used),
		                                __ATOMIC_ACQUIRE);
		size_t n = head & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		size_t whole = (n + BPF_RINGBUF_HDR_SZ + 7) & ~(size_t)7;

		if (head & BPF_RINGBUF_BUSY_BIT || whole > len - used)
			break;
		if (!(head & BPF_RINGBUF_DISCARD_BIT))
			take(self, p + used + BPF_RINGBUF_HDR_SZ, n);
		used += whole;
	}
	return used;
}

int ring_buffer_drain(struct ring_buffer *ring, ring_buffer_take *take, void *self, struct err *err)
{
	uint64_t begin = *ring->consumer;
	size_t waiting = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE) - begin;
	size_t at = begin & (ring->bytes - 1), skip = at & (ring->page - 1);

	if (!waiting)
		return 0;
	if (waiting > ring->bytes)
		return err_set(err, EBADMSG, "the ring holds more than its size");

	waiting = MIN(waiting, RINGBUF_BITE);
	char *window = map_pages(ring->map_fd, PROT_READ, 2 * ring->page + at - skip,
	                         skip + waiting);
	if (!window)
		return err_set(err, errno, "map the ring's data: %s", strerror(errno));
	size_t used = ring_buffer_walk(window + skip, waiting, take, self);
	munmap(window, skip + waiting);
	__atomic_store_n(ring->consumer, begin + used, __ATOMIC_RELEASE);
	return 0;
}
