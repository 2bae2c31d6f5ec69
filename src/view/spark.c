/* SPDX-License-Identifier: MIT */
#include "view/spark.h"

#include <math.h>

void spark_init(struct spark *spark, size_t n)
{
	spark->n = MIN(n, (size_t)SPARK_MAX);
	spark->max = NAN;
	for (size_t i = 0; i < spark->n; i++)
		spark->at[i] = NAN;
}

void spark_add(struct spark *spark, double where, double value)
{
	size_t i;

	if (!spark->n || !isfinite(value) || !isfinite(where))
		return;
	i = (size_t)(fmin(fmax(where, 0), 1) * (double)spark->n);
	i = MIN(i, spark->n - 1);
	spark->at[i] = fmax(spark->at[i], value); /* fmax passes NAN over */
	spark->max = fmax(spark->max, value);
}

void spark_put(const struct spark *spark, struct canvas *to)
{
	static const char *const blocks[] = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
	static const char *const ascii[] = { "_", ".", ",", "-", "=", "+", "*", "#" };

	for (size_t i = 0; i < spark->n; i++) {
		/* Ticks are not even: a single stretch without one shows the value before it. */
		double value = isnan(spark->at[i]) && i ? spark->at[i - 1] : spark->at[i];
		double share = spark->max > 0 ? value / spark->max : 0;
		size_t level;

		if (!isfinite(value)) {
			canvas_put(to, INK_PLAIN, " ");
			continue;
		}
		level = MIN((size_t)(fmax(share, 0) * (double)ARRAY_LEN(blocks)),
		            ARRAY_LEN(blocks) - 1);
		canvas_put(to, INK_PLAIN, to->unicode ? blocks[level] : ascii[level]);
	}
}
