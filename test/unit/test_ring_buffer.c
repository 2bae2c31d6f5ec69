/* SPDX-License-Identifier: MIT */
#include "probe/lifecycle/ring_buffer.h"

#include <linux/bpf.h>

#include "check.h"

struct seen_records {
	size_t count;
	size_t lens[8];
	char first[8];
};

static void see(void *self, const void *record, size_t len)
{
	struct seen_records *seen = self;

	seen->first[seen->count] = len ? *(const char *)record : 0;
	seen->lens[seen->count++] = len;
}

/* Appends a record as the kernel lays it out: a head of 8 bytes, the data, room up to a multiple
 * of 8. */
static size_t put(uint64_t *ring, size_t at, uint32_t len_and_flags, char fill)
{
	uint32_t len = len_and_flags & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
	char *p = (char *)ring + at;

	memcpy(p, &len_and_flags, sizeof len_and_flags);
	memset(p + BPF_RINGBUF_HDR_SZ, fill, len);
	return at + ((BPF_RINGBUF_HDR_SZ + len + 7) & ~(size_t)7);
}

static void test_ringbuf_walk__gives_records_in_order_with_their_lengths(void **state)
{
	uint64_t ring[16] = { 0 };
	struct seen_records seen = { 0 };
	size_t end = put(ring, put(ring, put(ring, 0, 8, 'a'), 5, 'b'), 16, 'c');

	(void)state;
	assert_int_equal(ring_buffer_walk(ring, end, see, &seen), end);
	assert_int_equal(seen.count, 3);
	assert_int_equal(seen.lens[1], 5);
	assert_memory_equal(seen.first, "abc", 3);
}

static void test_ringbuf_walk__stops_before_a_record_still_being_written(void **state)
{
	uint64_t ring[16] = { 0 };
	struct seen_records seen = { 0 };
	size_t busy = put(ring, 0, 8, 'a');
	size_t end = put(ring, put(ring, busy, 8 | BPF_RINGBUF_BUSY_BIT, 'b'), 8, 'c');

	(void)state;
	assert_int_equal(ring_buffer_walk(ring, end, see, &seen), busy);
	assert_int_equal(seen.count, 1);
}

static void test_ringbuf_walk__passes_over_what_was_discarded(void **state)
{
	uint64_t ring[16] = { 0 };
	struct seen_records seen = { 0 };
	size_t end = put(ring, put(ring, 0, 12 | BPF_RINGBUF_DISCARD_BIT, 'a'), 8, 'b');

	(void)state;
	assert_int_equal(ring_buffer_walk(ring, end, see, &seen), end);
	assert_int_equal(seen.count, 1);
	assert_memory_equal(seen.first, "b", 1);
}

static void test_ringbuf_walk__takes_nothing_that_reaches_past_the_end(void **state)
{
	uint64_t ring[16] = { 0 };
	struct seen_records seen = { 0 };

	(void)state;
	put(ring, 0, 100, 'a');
	assert_int_equal(ring_buffer_walk(ring, 64, see, &seen), 0);
	assert_int_equal(ring_buffer_walk(ring, 4, see, &seen), 0);
	assert_int_equal(ring_buffer_walk(ring, 0, see, &seen), 0);
	assert_int_equal(seen.count, 0);
}

RUN_TESTS(TEST(test_ringbuf_walk__gives_records_in_order_with_their_lengths),
          TEST(test_ringbuf_walk__stops_before_a_record_still_being_written),
          TEST(test_ringbuf_walk__passes_over_what_was_discarded),
          TEST(test_ringbuf_walk__takes_nothing_that_reaches_past_the_end))
