/* SPDX-License-Identifier: MIT */
#include "engine/loss_notice.h"

#include "base/clock.h"
#include "base/defs.h"
#include "check.h"

static void test_loss_notice__are_told_when_they_begin_and_once_a_minute_while_they_grow(
	void **state)
{
	static const struct {
		unsigned at_s;
		uint64_t lost;
		bool is_told;
	} looks[] = {
		{ 100, 0, false },   { 101, 7, true },    { 102, 9, false },
		{ 160, 500, false }, { 161, 501, true },  { 162, 502, false },
		{ 300, 502, true },  { 500, 502, false }, { 501, 503, true },
	};
	struct loss_notice l = { 0 };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(looks); i++)
		assert_int_equal(loss_notice_feed(&l, looks[i].lost, looks[i].at_s * NS_PER_S),
		                 looks[i].is_told);
}

RUN_TESTS(TEST(test_loss_notice__are_told_when_they_begin_and_once_a_minute_while_they_grow))
