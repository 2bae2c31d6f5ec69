/* SPDX-License-Identifier: MIT */
#include "analyze/backtest.h"

#include <math.h>
#include <stdio.h>

#include "base/hash.h"
#include "base/mem.h"

const char *backtest_rule_name(unsigned rule)
{
	if (rule >= BACKTEST_BASELINES)
		return peak_baseline_name((enum peak_baseline)(rule - BACKTEST_BASELINES));
	return rule == BACKTEST_OURS ? "proctor" : "presets";
}

void backtest_init(struct backtest *b, enum peak_policy policy)
{
	*b = (struct backtest){ 0 };
	peak_experience_init(&b->experience, policy);
}

void backtest_done(struct backtest *b)
{
	vec_each(&b->types, t) {
		peak_baselines_done(&(*t)->baselines);
		free(*t);
	}
	vec_done(&b->types);
	map_done(&b->by_key);
}

double backtest_gbh(double byte_seconds)
{
	return byte_seconds / 1e9 / 3600;
}

double backtest_failed_pct(const struct backtest_sums *s, unsigned rule)
{
	return s->runs ? 100.0 * (double)s->rules[rule].failed / (double)s->runs : 0;
}

double backtest_coverage_pct(const struct backtest_sums *s)
{
	return s->bounded ? 100.0 * (double)s->covered / (double)s->bounded : NAN;
}

/* Types with the same name, sheet and basis are one. */
static uint64_t key_of(const char *type, uint32_t sheet, enum run_basis basis)
{
	const uint32_t parts[] = { sheet, basis };

	return hash_bytes(hash_bytes(HASH_SEED, type, strlen(type)), parts, sizeof parts);
}

const struct backtest_type *backtest_find(const struct backtest *b, const char *type,
                                          uint32_t sheet, enum run_basis basis)
{
	uint64_t index;

	return map_get(&b->by_key, key_of(type, sheet, basis), &index) ? b->types.at[index] : NULL;
}

/* NULL: there is no room for another. */
static struct backtest_type *find_type(struct backtest *b, const struct past_run *run)
{
	uint64_t key = key_of(run->type, run->sheet, run->basis), index;
	struct backtest_type *t, **slot;

	if (map_get(&b->by_key, key, &index))
		return b->types.at[index];
	slot = vec_push(&b->types, BACKTEST_TYPES_MAX);
	if (!slot)
		return NULL;
	map_put(&b->by_key, key, b->types.len - 1);
	t = *slot = xcalloc(1, sizeof *t);
	snprintf(t->type, sizeof t->type, "%s", run->type);
	t->sheet = run->sheet;
	t->basis = run->basis;
	return t;
}

/* All rules' requests for one run. */
struct requests {
	double bytes[BACKTEST_RULES];
	bool is_first; /* nothing is known: all request what was requested */
	struct peak_prediction prediction;
};

static void make_requests(const struct backtest *b, const struct backtest_type *t,
                          const struct peak_query *query, struct requests *ret)
{
	double preset = query->requested_bytes;

	ret->is_first = !peak_estimator_predict(&t->estimator, &b->experience, query,
	                                        &ret->prediction);
	if (ret->is_first) {
		for (unsigned i = 0; i < BACKTEST_RULES; i++)
			ret->bytes[i] = preset > 0 ? preset : BACKTEST_FIRST_BYTES;
		return;
	}
	ret->bytes[BACKTEST_OURS] = ret->prediction.bytes;
	ret->bytes[BACKTEST_PRESETS] = preset > 0 ? preset : BACKTEST_FIRST_BYTES;
	peak_baselines_predict(&t->baselines, query->input_bytes, ret->bytes + BACKTEST_BASELINES);
}

static void add_sums(struct backtest_sums *s,
                     const struct backtest_score cost[static BACKTEST_RULES],
                     const struct requests *rq, double peak)
{
	s->runs++;
	for (unsigned i = 0; i < BACKTEST_RULES; i++) {
		s->rules[i].waste += cost[i].waste;
		s->rules[i].failed += cost[i].failed;
	}
	if (rq->is_first)
		return;
	s->bounded++;
	s->covered += rq->prediction.upper_bytes >= peak;
}

void backtest_add(struct backtest *b, const struct past_run *run)
{
	const struct peak_query query = {
		.input_bytes = past_run_has(run, RUN_INPUT) ? (double)run->input_bytes : 0,
		.requested_bytes = past_run_has(run, RUN_REQUESTED) ? (double)run->requested_bytes
		                                                    : 0,
	};
	double peak = (double)run->peak_bytes, seconds = (double)run->took_ns / 1e9;
	struct backtest_type *t = find_type(b, run);
	struct backtest_score cost[BACKTEST_RULES];
	double waste[BASELINE_COUNT];
	struct requests rq;

	b->unsorted += run->started_ns < b->last_started_ns;
	b->last_started_ns = MAX(b->last_started_ns, run->started_ns);
	if (!t) {
		b->dropped++;
		return;
	}
	make_requests(b, t, &query, &rq);
	for (unsigned i = 0; i < BACKTEST_RULES; i++) {
		unsigned failed;

		cost[i].waste = peak_estimator_cost(rq.bytes[i], peak, seconds,
		                                    t->baselines.largest, &failed);
		cost[i].failed = failed;
		if (i >= BACKTEST_BASELINES)
			waste[i - BACKTEST_BASELINES] = cost[i].waste;
	}
	add_sums(&b->total, cost, &rq, peak);
	add_sums(&t->sums, cost, &rq, peak);
	peak_baselines_learn(&t->baselines, query.input_bytes, peak, rq.is_first ? NULL : waste);
	peak_estimator_learn(&t->estimator, &b->experience, &query,
	                     rq.is_first ? NULL : &rq.prediction, peak, seconds);
}
