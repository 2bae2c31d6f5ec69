/* SPDX-License-Identifier: MIT */
#include "report/type_estimate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/backtest.h"
#include "base/hash.h"
#include "base/scan.h"
#include "history/job_query.h"
#include "history/past_run_query.h"
#include "model/past_run_list.h"
#include "model/verdict.h"

#define RUNS_MAX 50000 /* of each source, the newest */
#define LATEST 1024    /* runs that quantiles are taken of */

const struct estimate_quantile estimate_quantiles[ESTIMATE_QUANTILES] = {
	{ "p50", 0.5 }, { "p75", 0.75 }, { "p90", 0.9 }, { "p95", 0.95 }, { "max", 1 },
};

/* ---- what is learned from ---- */

uint64_t type_estimate_hash_options(const char *command)
{
	struct scan at = scan_str(command), word;
	uint64_t hash = HASH_SEED;

	while (scan_word(&at, &word)) {
		const char *end = word.p;

		if (scan_eq(&word, "--"))
			break;
		if (*word.p != '-' || scan_left(&word) < 2)
			continue;
		while (end < word.end && *end != '=' &&
		       !(*end >= '0' && *end <= '9')) /* -j8 is -j */
			end++;
		hash = hash_bytes(hash, word.p, (size_t)(end - word.p));
		hash = hash_bytes(hash, " ", 1);
	}
	return hash;
}

struct gathering {
	const struct estimate_query *query;
	struct type_estimate *to;
	struct past_run_list runs;
	bool has_options;
	uint64_t options; /* of the latest run of the type */
};

static bool is_of_type(const struct gathering *g, const char *type)
{
	return strcmp(type, g->query->type) == 0;
}

/* Jobs of the type come newest first. Those with a given --name are comparable whatever their
 * options. */
static bool has_other_shape(struct gathering *g, const char *command, bool type_is_given)
{
	uint64_t options = type_is_given ? 0 : type_estimate_hash_options(command);

	if (!g->has_options) {
		g->has_options = true;
		g->options = options;
	}
	return options != g->options;
}

/* The estimate is of whole jobs, and it is one of its type: else it is experience. */
static bool is_asked_for(const struct gathering *g, const struct job *job)
{
	return g->query->sheet == 0 && is_of_type(g, job->type);
}

static int add_job(void *self, const struct job *job)
{
	struct gathering *g = self;
	struct figure used = job->figures[JOB_FIGURE_PEAK_USED];
	struct figure largest = job->figures[JOB_FIGURE_PEAK_RSS];
	struct figure cpu = job->figures[JOB_FIGURE_CPU];
	struct past_run run = { .started_ns = job->started_ns, .took_ns = job->took_ns };

	if (job->status == JOB_RUNNING || job->status == JOB_LOST)
		return 0;
	if (!job_shows_need(job)) {
		g->to->failed += is_asked_for(g, job);
		return 0;
	}
	if (is_asked_for(g, job) && has_other_shape(g, job->command, job->type_is_given)) {
		g->to->other_shapes++;
		return 0;
	}
	run.basis = figure_is_known(used) ? RUN_BASIS_JOB : RUN_BASIS_PROCESS;
	run.peak_bytes = figure_is_known(used) ? used.value : largest.value;
	if (!run.peak_bytes)
		return 0;
	if (figure_is_known(cpu)) {
		run.cpu_ns = cpu.value;
		run.has |= 1u << RUN_CPU;
	}
	snprintf(run.type, sizeof run.type, "%s", job->type);
	(void)past_run_list_add(&g->runs, &run);
	return 0;
}

/* Only its largest process is known, and not whether it ran out of memory. */
static int add_sheet(void *self, const struct sheet_run *sheet)
{
	struct gathering *g = self;

	if (strcmp(sheet->run.outcome, "ok") != 0)
		g->to->failed++;
	else if (has_other_shape(g, sheet->command, sheet->type_is_given))
		g->to->other_shapes++;
	else if (sheet->run.peak_bytes)
		(void)past_run_list_add(&g->runs, &sheet->run);
	return 0;
}

/* Runs that the administrator imported are for all users. */
static bool is_for_user(const struct gathering *g, const struct past_run *run)
{
	return g->query->of_all_users || run->uid == g->query->uid || run->uid == 0;
}

static int add_imported(void *self, const struct past_run *run)
{
	struct gathering *g = self;
	bool is_failed = *run->outcome && strcmp(run->outcome, "ok") != 0 &&
	                 strncmp(run->outcome, "oom", 3) != 0;

	if (!is_for_user(g, run))
		return 0;
	if (is_failed)
		g->to->failed += is_of_type(g, run->type) && run->sheet == g->query->sheet;
	else
		(void)past_run_list_add(&g->runs, run);
	return 0;
}

/* ---- the estimate ---- */

struct learner {
	struct peak_estimator estimator;
	struct peak_experience experience;
	VEC(double) latest;
};

static void learner_add(struct learner *l, const struct peak_query *query, double value,
                        double seconds)
{
	struct peak_prediction p;
	bool is_predicted = peak_estimator_predict(&l->estimator, &l->experience, query, &p);
	double *slot = vec_push(&l->latest, LATEST);

	peak_estimator_learn(&l->estimator, &l->experience, query, is_predicted ? &p : NULL, value,
	                     seconds);
	if (!slot)
		slot = &l->latest.at[l->estimator.stats.n % LATEST];
	*slot = value;
}

static int compare(const void *left, const void *right)
{
	const double *a = left, *b = right;

	return *a < *b ? -1 : *a > *b;
}

/* Nearest rank: a value that occurred. */
static void fill_quantiles(struct learner *l, struct estimate_part *to)
{
	size_t n = l->latest.len;

	to->runs = l->estimator.stats.n;
	if (!n)
		return;
	qsort(l->latest.at, n, sizeof *l->latest.at, compare);
	for (size_t i = 0; i < ESTIMATE_QUANTILES; i++) {
		size_t rank = (size_t)ceil(estimate_quantiles[i].share * (double)n);

		to->quantiles[i] = l->latest.at[MAX(rank, (size_t)1) - 1];
	}
}

static void fill_part(struct learner *l, const struct peak_query *query, struct estimate_part *to)
{
	struct peak_prediction p;

	fill_quantiles(l, to);
	if (!peak_estimator_predict(&l->estimator, &l->experience, query, &p))
		return;
	to->value = peak_estimator_expected(&l->estimator, p.centers);
	to->upper = p.upper_bytes;
}

/* The whole job, if any run has that. */
static enum run_basis choose_basis(const struct gathering *g)
{
	struct past_run run;

	for (size_t i = 0; i < g->runs.runs.len; i++) {
		past_run_list_get(&g->runs, i, &run);
		if (run.basis == RUN_BASIS_JOB && is_of_type(g, run.type) &&
		    run.sheet == g->query->sheet)
			return RUN_BASIS_JOB;
	}
	return RUN_BASIS_PROCESS;
}

struct learners {
	struct backtest all; /* memory, of all types */
	struct learner memory, cpu, time;
};

static void learn_one(struct learners *l, const struct gathering *g, const struct past_run *run)
{
	const struct peak_query query = { .input_bytes = past_run_has(run, RUN_INPUT)
		                                                 ? (double)run->input_bytes
		                                                 : 0 };

	backtest_add(&l->all, run);
	if (!is_of_type(g, run->type) || run->sheet != g->query->sheet ||
	    run->basis != g->to->basis)
		return;
	g->to->runs++;
	learner_add(&l->memory, &query, (double)run->peak_bytes, 1);
	if (run->took_ns)
		learner_add(&l->time, &query, MAX((double)run->took_ns, 1e6), 1);
	if (past_run_has(run, RUN_CPU))
		learner_add(&l->cpu, &query, MAX((double)run->cpu_ns, 1e6), 1);
}

static void predict_memory(const struct learners *l, const struct gathering *g,
                           const struct peak_query *query)
{
	const struct backtest_type *type = backtest_find(&l->all, g->query->type, g->query->sheet,
	                                                 g->to->basis);
	struct type_estimate *to = g->to;

	if (!type ||
	    !peak_estimator_predict(&type->estimator, &l->all.experience, query, &to->rule))
		return;
	to->memory.value = to->rule.bytes;
	to->memory.upper = to->rule.upper_bytes;
	to->confidence = to->rule.confidence;
}

/* The resource that ran out: memory after oom_…, time after time_limit and timeout_command; nothing
 * after any other cause. */
static enum estimate_raise raise_after(const char *cause)
{
	static const enum estimate_raise raises[VERDICT_CODE_COUNT] = {
		[VERDICT_OOM_OWN_LIMIT] = RAISED_MEMORY, [VERDICT_OOM_OUTER_LIMIT] = RAISED_MEMORY,
		[VERDICT_OOM_MACHINE] = RAISED_MEMORY,   [VERDICT_OOM_DAEMON] = RAISED_MEMORY,
		[VERDICT_TIME_LIMIT] = RAISED_TIME,      [VERDICT_TIMEOUT_COMMAND] = RAISED_TIME,
	};
	enum verdict_code code = verdict_code_find(cause);

	return code < VERDICT_CODE_COUNT ? raises[code] : RAISED_NOTHING;
}

/* After a failure only what ran out is raised: memory as in the cost model, time to twice as much. */
static void raise_after_failure(const struct estimate_query *q, const struct learners *l,
                                struct type_estimate *to)
{
	double largest = l->memory.estimator.stats.largest;

	if (q->attempt > 1 && q->last_exit)
		to->raised = raise_after(q->last_exit);
	if (to->raised == RAISED_MEMORY) {
		for (unsigned i = 1; i < q->attempt; i++)
			to->memory.value = largest > to->memory.value ? largest
			                                              : 2 * to->memory.value;
		to->memory.upper = MAX(to->memory.upper, to->memory.value);
	} else if (to->raised == RAISED_TIME) {
		to->time.upper = ldexp(to->time.upper, (int)MIN(q->attempt, 16u) - 1);
		to->time.value = ldexp(to->time.value, (int)MIN(q->attempt, 16u) - 1);
	}
}

static void estimate(struct gathering *g, struct learners *l)
{
	const struct peak_query query = { .input_bytes = g->query->input_bytes };

	past_run_list_sort(&g->runs);
	g->to->basis = choose_basis(g);
	for (size_t i = 0; i < g->runs.runs.len; i++) {
		struct past_run run;

		past_run_list_get(&g->runs, i, &run);
		learn_one(l, g, &run);
	}
	fill_quantiles(&l->memory, &g->to->memory);
	predict_memory(l, g, &query);
	fill_part(&l->cpu, &query, &g->to->cpu);
	fill_part(&l->time, &query, &g->to->time);
	raise_after_failure(g->query, l, g->to);
}

static void learners_free(struct learners *l)
{
	backtest_done(&l->all);
	vec_done(&l->memory.latest);
	vec_done(&l->cpu.latest);
	vec_done(&l->time.latest);
	free(l);
}
DEFINE_CLEANUP(struct learners *, learners_free)

int type_estimate_gather(struct history *r, const struct estimate_query *query,
                        struct type_estimate *ret, struct err *err)
{
	cleanup(learners_freep) struct learners *l = xcalloc(1, sizeof *l);
	const struct job_filter filter = { .of_one_user = !query->of_all_users, .uid = query->uid };
	const struct sheet_filter sheets = { query->type, query->sheet,
		                             query->of_all_users ? HISTORY_ANY_UID : query->uid };
	struct type_estimate found = { 0 };
	struct gathering g = { .query = query, .to = &found };
	int result;

	backtest_init(&l->all, query->policy);
	l->memory.experience = l->cpu.experience = l->time.experience = l->all.experience;
	result = history_jobs(r, &filter, RUNS_MAX, add_job, &g, err);
	if (result >= 0 && query->sheet)
		result = history_sheet_runs(r, &sheets, RUNS_MAX, add_sheet, &g, err);
	if (result >= 0)
		result = history_imported_runs(r, RUNS_MAX, add_imported, &g, err);
	if (result >= 0) {
		estimate(&g, l);
		*ret = found;
	}
	past_run_list_done(&g.runs);
	return MIN(result, 0);
}
