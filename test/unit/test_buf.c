/* SPDX-License-Identifier: MIT */
#include "base/buf.h"

#include "base/vec.h"
#include "check.h"

static void test_buf__adds_all_or_nothing_at_the_ceiling(void **state)
{
	struct buf b = { .max = 10 };

	(void)state;
	assert_true(buf_puts(&b, "1234567"));
	assert_false(buf_puts(&b, "8901"));
	assert_true(b.full);
	assert_string_equal(b.at, "1234567");
	assert_true(buf_puts(&b, "890"));
	assert_false(buf_putc(&b, 'x'));
	assert_false(buf_printf(&b, "%d", 1));
	assert_string_equal(b.at, "1234567890");
	buf_reset(&b);
	assert_false(b.full);
	assert_string_equal(b.at, "");
	assert_true(buf_puts(&b, "again"));
	buf_done(&b);
	assert_int_equal(b.max, 10);
}

static void test_buf__refuses_sizes_that_would_overflow(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_true(buf_puts(&b, "x"));
	assert_null(buf_grow(&b, SIZE_MAX));
	assert_null(buf_grow(&b, SIZE_MAX - 1));
	assert_true(b.full);
	buf_done(&b);
}

static void test_buf__is_always_terminated_by_a_nul(void **state)
{
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < 1000; i++) {
		assert_true(buf_putc(&b, 'a'));
		assert_int_equal(strlen(b.at), i + 1);
	}
	assert_true(buf_printf(&b, "%s", ""));
	assert_int_equal(strlen(b.at), 1000);
	buf_done(&b);
}

static void test_buf_printf__grows_the_buffer(void **state)
{
	struct buf b = { 0 };

	(void)state;
	assert_true(buf_printf(&b, "%0*d|", 500, 7));
	assert_int_equal(b.len, 501);
	assert_string_equal(b.at + 498, "07|");
	buf_done(&b);
}

static void test_buf_take__moves_ownership(void **state)
{
	struct buf b = { 0 };
	char *text;

	(void)state;
	text = buf_take(&b);
	assert_string_equal(text, "");
	free(text);
	buf_puts(&b, "abc");
	text = buf_take(&b);
	assert_string_equal(text, "abc");
	assert_null(b.at);
	free(text);
	buf_done(&b);
}

static void test_vec_push__returns_zeroed_slots_up_to_the_ceiling(void **state)
{
	VEC(uint64_t) v = { 0 };

	(void)state;
	for (size_t i = 0; i < 100; i++) {
		uint64_t *slot = vec_push(&v, 100);

		assert_non_null(slot);
		assert_int_equal(*slot, 0);
		*slot = i + 1;
	}
	assert_null(vec_push(&v, 100));
	assert_int_equal(v.len, 100);
	vec_each(&v, it)
		assert_int_equal(*it, it - v.at + 1);
	vec_reset(&v);
	assert_int_equal(*vec_push(&v, 100), 0);
	vec_done(&v);
	assert_null(v.at);
}

static void test_vec_reserve__never_exceeds_the_ceiling(void **state)
{
	VEC(char) v = { 0 };

	(void)state;
	assert_false(vec_reserve(&v, 101, 100));
	assert_int_equal(v.cap, 0);
	assert_true(vec_reserve(&v, 60, 100));
	assert_true(vec_reserve(&v, 61, 100));
	assert_true(v.cap <= 100);
	vec_each(&v, it)
		fail();
	vec_done(&v);
}

static void test_buf_relax__frees_a_spike_and_keeps_used_memory(void **state)
{
	VEC(uint64_t) v = { 0 };
	struct buf b = { 0 };

	(void)state;
	for (size_t i = 0; i < 10000; i++)
		vec_push(&v, 10000);
	vec_relax(&v);
	assert_true(v.cap >= 10000 && v.len == 0);
	vec_push(&v, 10000);
	vec_relax(&v);
	assert_int_equal(v.cap, 0);
	assert_non_null(buf_grow(&b, 1 << 20));
	buf_puts(&b, "small");
	buf_relax(&b);
	assert_true(b.cap == 0 && b.len == 0);
	buf_puts(&b, "small");
	buf_relax(&b);
	assert_true(b.cap > 0 && b.len == 0);
	buf_done(&b);
	vec_done(&v);
}

RUN_TESTS(TEST(test_buf__adds_all_or_nothing_at_the_ceiling),
          TEST(test_buf__refuses_sizes_that_would_overflow),
          TEST(test_buf__is_always_terminated_by_a_nul), TEST(test_buf_printf__grows_the_buffer),
          TEST(test_buf_take__moves_ownership),
          TEST(test_vec_push__returns_zeroed_slots_up_to_the_ceiling),
          TEST(test_vec_reserve__never_exceeds_the_ceiling),
          TEST(test_buf_relax__frees_a_spike_and_keeps_used_memory))
