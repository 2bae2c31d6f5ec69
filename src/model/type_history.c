/* SPDX-License-Identifier: MIT */
#include "model/type_history.h"

#include <math.h>

#define MARGIN 1.1
#define NORMAL_98 2.0537 /* quantile of the normal distribution */

static const enum job_figure figures[] = {
#define X(id, figure) [PAST_##id] = (figure),
	PAST_FIGURES(X)
#undef X
};

static void range_add(struct type_range *r, double value)
{
	double log_value = log(value);

	r->n++;
	r->most = MAX(r->most, value);
	r->log_sum += log_value;
	r->log_squares += log_value * log_value;
}

static struct figure figure_of(const struct job *job, enum past_figure id)
{
	if (figures[id] != JOB_FIGURE_COUNT)
		return job->figures[figures[id]];
	return (struct figure){ job->took_ns, job->took_ns ? QUALITY_EXACT : QUALITY_MISSING };
}

void type_history_add(struct type_history *h, const struct job *job)
{
	if (job->status != JOB_COMPLETED)
		return;
	for (enum past_figure i = 0; i < PAST_FIGURE_COUNT; i++) {
		struct figure figure = figure_of(job, i);

		if (figure_is_known(figure) && figure.value && h->of[i].n < TYPE_HISTORY_RUNS)
			range_add(&h->of[i], (double)figure.value);
	}
}

/* Quantile of Student's distribution with n - 1 degrees of freedom, from that of the normal one (Cornish-Fisher). */
static double student_98(double n)
{
	double z = NORMAL_98, v = n - 1;

	return z + (pow(z, 3) + z) / (4 * v) +
	       (5 * pow(z, 5) + 16 * pow(z, 3) + 3 * z) / (96 * v * v);
}

/* The 98th percentile of a new value of a lognormal variable, after n others. */
static double predict_98(const struct type_range *r)
{
	double n = r->n, mean = r->log_sum / n;
	double variance = MAX((r->log_squares - n * mean * mean) / (n - 1), 0.0);

	return exp(mean + student_98(n) * sqrt(variance * (1 + 1 / n)));
}

double type_history_bound(const struct type_history *h, enum past_figure figure)
{
	if (!h || h->of[figure].n < TYPE_HISTORY_LEAST)
		return 0;
	return MAX(MARGIN * h->of[figure].most, predict_98(&h->of[figure]));
}
