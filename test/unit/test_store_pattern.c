/* SPDX-License-Identifier: MIT */
#include "history/pattern_query.h"
#include "store_kit.h"

static struct pattern pattern_of(const char *subject, uint64_t first_ns, uint64_t last_ns)
{
	struct pattern p = { .type = PATTERN_CORRELATION,
		             .uid = 1000,
		             .job_type = "align",
		             .description = "first",
		             .confidence = 0.9,
		             .support = 40,
		             .from = 1000,
		             .to = INFINITY,
		             .p = 0.001,
		             .q = 0.004,
		             .effect = 0.5,
		             .low = 0.2,
		             .high = 0.7,
		             .first_seen_ns = first_ns * NS_PER_S,
		             .last_seen_ns = last_ns * NS_PER_S };

	snprintf(p.subject, sizeof p.subject, "%s", subject);
	return p;
}

static void put(struct store_fixture *fx, const struct pattern *list, size_t n)
{
	struct err err = { 0 };

	if (store_update_patterns(fx->st, list, n, &err) < 0)
		fail_msg("%s", err.msg);
}

static void read_valid(const struct store_fixture *fx, struct patterns *ret)
{
	cleanup(freep) char *path = xasprintf("%s/proctor.db", fx->dir);
	struct history *r = NULL;
	struct err err = { 0 };

	vec_done(&ret->list);
	*ret = (struct patterns){ 0 };
	assert_int_equal(history_open(path, &r, &err), 0);
	assert_true(history_patterns(r, ret, &err) >= 0);
	history_close(r);
}

static void test_store_patterns__come_back_as_they_were(void **state)
{
	struct store_fixture fx = fixture_of(31);
	struct pattern p[] = { pattern_of("memory_used above", 10, 20),
		               pattern_of("memory_spike", 11, 21) };
	struct patterns found = { 0 };

	p[1].type = PATTERN_ANOMALY;
	p[1].p = p[1].q = p[1].effect = p[1].low = p[1].high = NAN;
	put(&fx, p, 2);
	read_valid(&fx, &found);
	assert_int_equal(found.list.len, 2);
	vec_each(&found.list, f) {
		const struct pattern *was = &p[f->type == PATTERN_ANOMALY];

		assert_true(pattern_eq(f, was));
		assert_string_equal(f->description, "first");
		assert_int_equal(f->support, 40);
		assert_true(f->from == 1000 && isinf(f->to));
		assert_int_equal(f->first_seen_ns, was->first_seen_ns);
		assert_int_equal(f->last_seen_ns, was->last_seen_ns);
		assert_true(isnan(f->q) == isnan(was->q) && isnan(f->low) == isnan(was->low));
	}
	vec_done(&found.list);
	fixture_done(&fx);
}

static void test_store_patterns__one_that_is_found_again_keeps_its_row(void **state)
{
	struct store_fixture fx = fixture_of(32);
	struct pattern p = pattern_of("memory_used above", 10, 20);
	struct patterns found = { 0 };

	put(&fx, &p, 1);
	p.first_seen_ns = 15 * NS_PER_S; /* the earlier job is gone from the lookback */
	p.last_seen_ns = 30 * NS_PER_S;
	p.support = 50;
	snprintf(p.description, sizeof p.description, "second");
	put(&fx, &p, 1);
	read_valid(&fx, &found);
	assert_int_equal(found.list.len, 1);
	assert_int_equal(found.list.at[0].first_seen_ns, 10 * NS_PER_S);
	assert_int_equal(found.list.at[0].last_seen_ns, 30 * NS_PER_S);
	assert_int_equal(found.list.at[0].support, 50);
	assert_string_equal(found.list.at[0].description, "second");
	vec_done(&found.list);
	fixture_done(&fx);
}

static void test_store_patterns__one_that_was_retired_may_come_again(void **state)
{
	struct store_fixture fx = fixture_of(33);
	struct pattern p[2] = { pattern_of("memory_used above", 40, 50),
		                pattern_of("memory_used above", 10, 20) };
	struct patterns found = { 0 };

	put(&fx, &p[1], 1);
	p[1].retired_ns = 35 * NS_PER_S;
	put(&fx, p, 2); /* the new one stands first in the list */
	read_valid(&fx, &found);
	assert_int_equal(found.list.len, 1);
	assert_int_equal(found.list.at[0].first_seen_ns, 40 * NS_PER_S);
	p[0].retired_ns = 60 * NS_PER_S;
	put(&fx, p, 1);
	read_valid(&fx, &found);
	assert_int_equal(found.list.len, 0);
	vec_done(&found.list);
	fixture_done(&fx);
}

static void test_store_patterns__of_two_users_are_two(void **state)
{
	struct store_fixture fx = fixture_of(34);
	struct pattern p[2] = { pattern_of("memory_used above", 10, 20),
		                pattern_of("memory_used above", 10, 20) };
	struct patterns found = { 0 };

	p[1].uid = 1001;
	put(&fx, p, 2);
	read_valid(&fx, &found);
	assert_int_equal(found.list.len, 2);
	vec_done(&found.list);
	fixture_done(&fx);
}

RUN_TESTS(TEST(test_store_patterns__come_back_as_they_were),
          TEST(test_store_patterns__one_that_is_found_again_keeps_its_row),
          TEST(test_store_patterns__one_that_was_retired_may_come_again),
          TEST(test_store_patterns__of_two_users_are_two))
