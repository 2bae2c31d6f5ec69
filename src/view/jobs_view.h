/* SPDX-License-Identifier: MIT */
/* jobs_view.h - jobs, a line each, as `proctor ls` shows them. "~" stands before a figure that was
 * sampled, "≥" before one that is a lower bound. */
#pragma once

#include "base/json.h"
#include "base/user_names.h"
#include "model/job.h"
#include "view/table.h"

struct jobs_view {
	uint64_t now_ns; /* wall clock: started "14:00 today", running for 3m */
	bool unicode;
	uint32_t uid;             /* the reader's; jobs of other users are shown as USER:ID */
	struct user_names *users; /* borrowed; NULL: numbers are shown */
	struct table table;
};

extern const struct table_columns jobs_view_columns;

void jobs_view_add(struct jobs_view *view, const struct job *job);
/* Only its id, when it started and what became of it, below a message. All rows of a view are of one kind. */
void jobs_view_add_brief(struct jobs_view *view, const struct job *job);
/* All that is known of a job, as an object. */
void jobs_view_add_json(struct json *j, const struct job *job);
