/* SPDX-License-Identifier: MIT */
/* type_stats.h - what the jobs of each type used: how many there were, and the spread of their figures. */
#pragma once

#include "base/map.h"
#include "model/figure_set.h"
#include "model/job.h"

#define TYPE_STATS_MAX 10000 /* types */

enum type_figure { TYPE_TIME, TYPE_CPU, TYPE_MEMORY, TYPE_FIGURES };

struct type_stats {
	char type[JOB_ID_MAX];
	uint64_t jobs, failed;
	uint64_t running, lost; /* their figures are not final, and left out */
	struct figure_set figures[TYPE_FIGURES];
	uint64_t
		largest; /* jobs whose memory in use is not known: their largest process stands for it */
};

/* Initialised with zeros. */
struct all_type_stats {
	VEC(struct type_stats) types; /* in the order of their first job */
	uint64_t dropped;             /* jobs of more types than there is room for */
	struct map by_name;           /* hash of the type → its index */
};

int type_stats_all_add(void *self, const struct job *job); /* 0, as readers of jobs want it */
void type_stats_all_done(struct all_type_stats *all);
