/* SPDX-License-Identifier: MIT */
/* estimate_view.h - what the next run will need, as `proctor estimate` shows it: for people, as JSON, and in the words of
 * schedulers. */
#pragma once

#include "base/json.h"
#include "report/type_estimate.h"
#include "view/canvas.h"

void estimate_view(const struct estimate_query *query, const struct type_estimate *e,
                   struct canvas *to);
void estimate_view_json(const struct estimate_query *query, const struct type_estimate *e,
                        struct json *j);

enum estimate_syntax {
	ESTIMATE_SLURM,
	ESTIMATE_SYSTEMD,
	ESTIMATE_SNAKEMAKE,
	ESTIMATE_NEXTFLOW,
	ESTIMATE_SYNTAXES
};
/* Appends the request of memory and, if it is known, of time: its 95 % bound. */
void estimate_put_request(const struct type_estimate *e, enum estimate_syntax syntax,
                          struct buf *to);
