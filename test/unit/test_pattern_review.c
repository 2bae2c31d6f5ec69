/* SPDX-License-Identifier: MIT */
#include "report/pattern_review.h"

#include <math.h>

#include "check.h"

#define NOW 5000

struct fixture {
	struct insights in;
	struct patterns stored, found;
};

static struct property_table *add_type(struct fixture *fx, const char *name)
{
	struct property_table *t = vec_push(&fx->in.types, 10);

	snprintf(t->type, sizeof t->type, "%s", name);
	return t;
}

static void add_jobs(struct property_table *t, uint64_t since_ns, unsigned n, uint64_t bytes,
                     bool fails)
{
	for (unsigned i = 0; i < n; i++) {
		struct past_run run = { .started_ns = since_ns + i, .peak_bytes = bytes };

		snprintf(run.outcome, sizeof run.outcome, fails ? "failed" : "ok");
		property_table_add_run(t, &run);
	}
}

static struct pattern *store_pattern(struct fixture *fx, const char *subject)
{
	struct pattern *p = vec_push(&fx->stored.list, 10);

	*p = (struct pattern){ .type = PATTERN_CORRELATION,
		               .job_type = "align",
		               .from = 1000,
		               .to = INFINITY,
		               .effect = 0.8,
		               .low = 0.4,
		               .high = 0.95,
		               .last_seen_ns = 100 };
	snprintf(p->subject, sizeof p->subject, "%s", subject);
	return p;
}

static void review(struct fixture *fx)
{
	vec_each(&fx->in.types, t)
		property_table_finish(t);
	pattern_review(&fx->in, &fx->stored, NOW, &fx->found);
}

static void done(struct fixture *fx)
{
	insights_done(&fx->in);
	vec_done(&fx->stored.list);
	vec_done(&fx->found.list);
}

static void test_pattern_review__stores_what_was_found(void **state)
{
	struct fixture fx = { 0 };
	struct insight *i = vec_push(&fx.in.list, 10);

	i->pattern = *store_pattern(&fx, "memory_used above");
	i->pattern.support = 77;
	add_jobs(add_type(&fx, "align"), 200, 50, 2000, false); /* else it would be retired */
	review(&fx);
	assert_int_equal(fx.found.list.len, 1);
	assert_int_equal(fx.found.list.at[0].support, 77);
	assert_int_equal(fx.found.list.at[0].retired_ns, 0);
	done(&fx);
}

static void test_pattern_review__retires_what_later_jobs_contradict(void **state)
{
	struct fixture fx = { 0 };
	struct property_table *t = add_type(&fx, "align");

	(void)store_pattern(&fx, "memory_used above");
	add_jobs(t, 200, 40, 2000, false);
	add_jobs(t, 300, 40, 500, false);
	review(&fx);
	assert_int_equal(fx.found.list.len, 1);
	assert_int_equal(fx.found.list.at[0].retired_ns, NOW);
	done(&fx);
}

/* Fewer jobs within a range failed. */
static void test_pattern_review__retires_one_that_claimed_less(void **state)
{
	struct fixture fx = { 0 };
	struct property_table *t = add_type(&fx, "align");
	struct pattern *p = store_pattern(&fx, "memory_used within");

	p->to = 3000;
	p->effect = -0.8;
	p->low = -0.95;
	p->high = -0.4;
	add_jobs(t, 200, 40, 2000, false);
	add_jobs(t, 300, 40, 500, false);
	review(&fx);
	assert_int_equal(fx.found.list.len, 1);
	assert_int_equal(fx.found.list.at[0].retired_ns, NOW);
	done(&fx);
}

static void test_pattern_review__keeps_what_still_holds(void **state)
{
	struct fixture fx = { 0 };
	struct property_table *t = add_type(&fx, "align");

	(void)store_pattern(&fx, "memory_used above");
	add_jobs(t, 200, 40, 2000, true);
	add_jobs(t, 300, 40, 500, false);
	review(&fx);
	assert_int_equal(fx.found.list.len, 0);
	done(&fx);
}

/* Too few jobs, those before it was last seen, jobs on one side only, and types without jobs prove nothing. */
static void test_pattern_review__keeps_what_nothing_contradicts(void **state)
{
	for (int i = 0; i < 4; i++) {
		struct fixture fx = { 0 };
		struct property_table *t = add_type(&fx, i == 3 ? "other" : "align");

		(void)store_pattern(&fx, "memory_used above");
		add_jobs(t, i == 1 ? 10 : 200, i == 0 ? 2 : 40, 2000, false);
		if (i != 2)
			add_jobs(t, i == 1 ? 50 : 300, i == 0 ? 2 : 40, 500, false);
		review(&fx);
		assert_int_equal(fx.found.list.len, 0);
		done(&fx);
	}
}

static void test_pattern_review__retires_an_anomaly_that_is_over(void **state)
{
	static const struct {
		unsigned jobs;
		size_t retired;
	} cases[] = { { 4, 0 }, { 5, 1 } }; /* 0.5^5 is less than 5 % */

	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture fx = { 0 };
		struct pattern *p = store_pattern(&fx, "memory_spike");

		p->type = PATTERN_ANOMALY;
		p->confidence = 0.5;
		add_jobs(add_type(&fx, "align"), 200, cases[i].jobs, 2000, false);
		review(&fx);
		assert_int_equal(fx.found.list.len, cases[i].retired);
		done(&fx);
	}
}

RUN_TESTS(TEST(test_pattern_review__stores_what_was_found),
          TEST(test_pattern_review__retires_what_later_jobs_contradict),
          TEST(test_pattern_review__retires_one_that_claimed_less),
          TEST(test_pattern_review__keeps_what_still_holds),
          TEST(test_pattern_review__keeps_what_nothing_contradicts),
          TEST(test_pattern_review__retires_an_anomaly_that_is_over))
