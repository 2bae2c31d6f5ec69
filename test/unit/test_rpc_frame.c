/* SPDX-License-Identifier: MIT */
#include "rpc/rpc_frame.h"

#include <errno.h>

#include "base/mem.h"
#include "check.h"

static void put(struct rpc_frames *f, const char *text)
{
	rpc_frames_put(f, text, strlen(text));
}

static void assert_line(struct rpc_frames *f, const char *text)
{
	struct scan line;

	assert_int_equal(rpc_frames_next(f, &line), RPC_FRAME_LINE);
	assert_true(scan_eq(&line, text));
}

static void assert_none(struct rpc_frames *f)
{
	struct scan line;

	assert_int_equal(rpc_frames_next(f, &line), RPC_FRAME_NONE);
}

static void test_rpc_frames__return_each_line_of_a_chunk(void **state)
{
	struct rpc_frames f = { 0 };

	put(&f, "{\"a\":1}\n{\"b\":2}\r\n{\"c\"");
	assert_line(&f, "{\"a\":1}");
	assert_true(rpc_frames_has_line(&f));
	assert_line(&f, "{\"b\":2}\r");
	assert_false(rpc_frames_has_line(&f));
	assert_none(&f);
	assert_true(rpc_frames_is_half(&f));
	put(&f, ":3}\n");
	assert_line(&f, "{\"c\":3}");
	assert_none(&f);
	assert_false(rpc_frames_is_half(&f));
	rpc_frames_done(&f);
}

static void test_rpc_frames__assemble_a_line_from_single_bytes(void **state)
{
	static const char text[] = "{\"method\":\"daemon.top\"}\n";
	struct rpc_frames f = { 0 };

	for (size_t i = 0; i + 1 < sizeof text - 1; i++) {
		rpc_frames_put(&f, text + i, 1);
		assert_none(&f);
		assert_true(rpc_frames_is_half(&f));
	}
	put(&f, "\n");
	assert_line(&f, "{\"method\":\"daemon.top\"}");
	rpc_frames_done(&f);
}

static void test_rpc_frames__skip_empty_lines(void **state)
{
	struct rpc_frames f = { 0 };

	put(&f, "\n\r\n \t\n{}\n\n");
	assert_line(&f, "{}");
	assert_none(&f);
	assert_false(rpc_frames_is_half(&f));
	rpc_frames_done(&f);
}

static void fill(struct rpc_frames *f, size_t n)
{
	char chunk[RPC_FRAME_CHUNK];

	memset(chunk, 'x', sizeof chunk);
	for (size_t step; n > 0; n -= step) {
		step = MIN(n, sizeof chunk);
		rpc_frames_put(f, chunk, step);
	}
}

static void test_rpc_frames__accept_a_line_of_the_maximum_length(void **state)
{
	struct rpc_frames f = { 0 };
	struct scan line;

	fill(&f, RPC_FRAME_MAX);
	assert_none(&f);
	put(&f, "\n{}\n");
	assert_int_equal(rpc_frames_next(&f, &line), RPC_FRAME_LINE);
	assert_int_equal(scan_left(&line), RPC_FRAME_MAX);
	assert_line(&f, "{}");
	rpc_frames_done(&f);
}

static void test_rpc_frames__refuse_a_longer_line_before_its_end(void **state)
{
	struct rpc_frames f = { 0 };
	struct scan line;

	fill(&f, RPC_FRAME_MAX + 1);
	assert_int_equal(rpc_frames_next(&f, &line), RPC_FRAME_TOO_LONG);
	put(&f, "\n{}\n");
	assert_int_equal(rpc_frames_next(&f, &line), RPC_FRAME_TOO_LONG);
	rpc_frames_done(&f);
}

static void test_rpc_frames__keep_little_memory_when_empty(void **state)
{
	struct rpc_frames f = { 0 };
	struct scan line;

	fill(&f, RPC_FRAME_MAX);
	put(&f, "\n");
	assert_int_equal(rpc_frames_next(&f, &line), RPC_FRAME_LINE);
	assert_none(&f);
	assert_true(f.bytes.cap <= 4096);
	rpc_frames_done(&f);
}

static int check(const char *text, struct err *err)
{
	return rpc_frame_check(scan_str(text), err);
}

static void test_rpc_frame_check__counts_levels_only_outside_of_strings(void **state)
{
	char deep[2 * RPC_FRAME_DEPTH_MAX + 3];
	struct err err = { 0 };

	memset(deep, '[', RPC_FRAME_DEPTH_MAX);
	memset(deep + RPC_FRAME_DEPTH_MAX, ']', RPC_FRAME_DEPTH_MAX);
	deep[2 * RPC_FRAME_DEPTH_MAX] = '\0';
	assert_int_equal(check(deep, &err), 0);
	memset(deep, '[', RPC_FRAME_DEPTH_MAX + 1);
	assert_int_equal(check(deep, &err), -ELOOP);
	assert_int_equal(check("\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\"", &err), 0);
	assert_int_equal(check("\"\\\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[", &err), 0);
	assert_int_equal(check("]]]]]]]\"\\", &err), 0);
}

static void test_rpc_frame_check__limits_the_number_of_values(void **state)
{
	char *text = xmalloc(2 * RPC_FRAME_VALUES_MAX + 1);
	struct err err = { 0 };

	for (size_t i = 0; i < 2 * RPC_FRAME_VALUES_MAX; i += 2)
		memcpy(text + i, "1,", 2);
	text[0] = '[';
	assert_int_equal(rpc_frame_check(scan_mem(text, RPC_FRAME_VALUES_MAX), &err), 0);
	assert_int_equal(rpc_frame_check(scan_mem(text, 2 * RPC_FRAME_VALUES_MAX), &err), -E2BIG);
	memset(text, '[', 10);
	free(text);
}

RUN_TESTS(TEST(test_rpc_frames__return_each_line_of_a_chunk),
          TEST(test_rpc_frames__assemble_a_line_from_single_bytes),
          TEST(test_rpc_frames__skip_empty_lines),
          TEST(test_rpc_frames__accept_a_line_of_the_maximum_length),
          TEST(test_rpc_frames__refuse_a_longer_line_before_its_end),
          TEST(test_rpc_frames__keep_little_memory_when_empty),
          TEST(test_rpc_frame_check__counts_levels_only_outside_of_strings),
          TEST(test_rpc_frame_check__limits_the_number_of_values))
