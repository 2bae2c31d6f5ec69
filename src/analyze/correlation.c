/* SPDX-License-Identifier: MIT */
#include "analyze/correlation.h"

#include <math.h>

#include "analyze/split_statistic.h"

/* Statistics that are equal in theory may differ in their last digits. */
#define TIE 1e-9
/* The half-width of the reported interval in standard errors. The limit was chosen where the rates
 * differ most, so that 1.96 would be too narrow: with this one, 95 % of the intervals in
 * simulations cover the difference at that limit. */
#define INTERVAL_Z 2.4
/* −e q ln q is a lower bound of the odds against a finding; simulations show so many times as much. */
#define CALIBRATION 1.6

/* One property of one group. */
struct test {
	size_t group, feature;
	struct split_table table;
	double observed; /* the statistic */
	struct split best;
	unsigned alone;    /* permutations whose statistic is as large */
	unsigned together; /* … or whose largest one of this and all weaker tests is */
	double q;
};

struct search {
	const struct correlation_group *groups;
	VEC(struct test) tests;              /* the strongest first */
	VEC(struct split_outcomes) outcomes; /* of each group */
	const atomic_bool *cancel;           /* NULL: none */
	uint64_t random;
	unsigned done; /* permutations */
};

static void add_tests(struct search *s, size_t group)
{
	const struct correlation_group *g = &s->groups[group];
	size_t jobs = MIN(g->jobs, (size_t)CORRELATION_JOBS_MAX);
	struct split_outcomes *outcomes = vec_push(&s->outcomes, SIZE_MAX);

	split_outcomes_init(outcomes, g->failed, jobs);
	if (!outcomes->failed || outcomes->failed == jobs)
		return;
	for (size_t i = 0; i < MIN(g->features, (size_t)CORRELATION_FEATURES_MAX); i++) {
		struct test t = { .group = group, .feature = i };
		struct test *slot;

		split_table_init(&t.table, g->value + i * g->jobs, jobs);
		slot = t.table.bins > 1 ? vec_push(&s->tests, CORRELATION_TESTS_MAX) : NULL;
		if (slot)
			*slot = t;
		else
			split_table_done(&t.table);
	}
}

static bool is_cancelled(const struct search *s)
{
	return s->cancel && atomic_load(s->cancel);
}

static int by_strength(const void *x, const void *y)
{
	const struct test *a = x, *b = y;

	if (a->observed != b->observed)
		return a->observed < b->observed ? 1 : -1;
	if (a->group != b->group)
		return a->group < b->group ? -1 : 1;
	return (a->feature > b->feature) - (a->feature < b->feature);
}

static void observe(struct search *s)
{
	vec_each(&s->tests, t) {
		t->observed = split_statistic(&t->table, &s->outcomes.at[t->group]);
		split_best(&t->table, &s->outcomes.at[t->group], &t->best);
	}
	if (s->tests.len)
		qsort(s->tests.at, s->tests.len, sizeof *s->tests.at, by_strength);
}

static void permute(struct search *s)
{
	double largest = -INFINITY;

	vec_each(&s->outcomes, o)
		split_outcomes_shuffle(o, &s->random);
	for (size_t i = s->tests.len; i-- > 0;) {
		struct test *t = &s->tests.at[i];
		double found = split_statistic(&t->table, &s->outcomes.at[t->group]);

		largest = fmax(largest, found);
		t->alone += found >= t->observed - TIE;
		t->together += largest >= t->observed - TIE;
	}
	s->done++;
}

/* Once the strongest cannot be a finding any more, none can. */
static void judge(struct search *s)
{
	const unsigned most = (unsigned)(CORRELATION_LEVEL * (CORRELATION_PERMUTATIONS + 1));
	double q = 0;

	while (s->done < CORRELATION_PERMUTATIONS && s->tests.at[0].together < most &&
	       !is_cancelled(s))
		permute(s);
	vec_each(&s->tests, t) {
		q = fmax(q, (t->together + 1.0) / (s->done + 1.0));
		t->q = q;
	}
}

/* The confidence of a finding with this q, as calibrated by bench/correlation.c. */
static double confidence_of(double q)
{
	return q < exp(-1) ? 1 / (1 - CALIBRATION * exp(1) * q * log(q)) : 0;
}

static bool is_finding(const struct test *t, const struct correlation_findings *found)
{
	double level = CORRELATION_LEVEL;

	vec_each(&found->list, f)
		if (f->group == t->group)
			level = CORRELATION_NEXT_LEVEL;
	return t->q <= level && confidence_of(t->q) > CORRELATION_GATE;
}

static void report(const struct search *s, const struct test *t, struct correlation_findings *ret)
{
	struct correlation_finding *f = vec_push(&ret->list, CORRELATION_TESTS_MAX);
	const struct split best = t->best;

	*f = (struct correlation_finding){
		.group = t->group,
		.feature = t->feature,
		.from = best.from,
		.to = best.to,
		.inside = best.inside,
		.outside = best.outside,
		.p = t->table.bins == 2 ? rate_fisher(best.inside, best.outside)
		                        : (t->alone + 1.0) / (s->done + 1.0),
		.interval = rate_newcombe(best.inside, best.outside, INTERVAL_Z),
	};
	f->q = fmax(t->q, f->p); /* permutations cannot show less than 1 / 2000 */
	f->confidence = confidence_of(f->q);
}

static void search_done(struct search *s)
{
	vec_each(&s->tests, t)
		split_table_done(&t->table);
	vec_done(&s->tests);
	vec_each(&s->outcomes, o)
		split_outcomes_done(o);
	vec_done(&s->outcomes);
}

bool correlation_find(const struct correlation_group *groups, size_t n, uint64_t seed,
                      const atomic_bool *cancel, struct correlation_findings *ret)
{
	cleanup(search_done) struct search s = { .groups = groups,
		                                 .cancel = cancel,
		                                 .random = seed };

	*ret = (struct correlation_findings){ 0 };
	for (size_t i = 0; i < n; i++)
		add_tests(&s, i);
	ret->tests = s.tests.len;
	if (!s.tests.len)
		return true;
	observe(&s);
	judge(&s);
	if (is_cancelled(&s))
		return false;
	vec_each(&s.tests, t)
		if (is_finding(t, ret))
			report(&s, t, ret);
	return true;
}

void correlation_findings_done(struct correlation_findings *f)
{
	vec_done(&f->list);
}
