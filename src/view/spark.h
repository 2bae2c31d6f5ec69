/* SPDX-License-Identifier: MIT */
/* spark.h - how a quantity went over time, in one line of characters. */
#pragma once

#include "view/canvas.h"

#define SPARK_MAX 256

/* The most that was seen in each stretch of time; a stretch nothing was seen in is NAN. */
struct spark {
	double at[SPARK_MAX];
	size_t n;
	double max; /* of all; NAN: nothing was seen */
};

void spark_init(struct spark *spark, size_t n); /* n is cut to SPARK_MAX */
/* `where` is 0…1 of the whole time; what lies outside is put at the ends. */
void spark_add(struct spark *spark, double where, double value);
/* ▁▂▃▄▅▆▇█, a blank for what is not known; ASCII where it must be. A single stretch that nothing
 * was seen in shows what was seen before it. */
void spark_put(const struct spark *spark, struct canvas *to);
