/* SPDX-License-Identifier: MIT */
/* job_json.h - recorded jobs as JSON. The keys are those of docs/jobs.md; what is not known is
 * null, and says why in `quality`. */
#pragma once

#include "base/json.h"
#include "model/history_record.h"

#define CODEC_JOB_SCHEMA 1

/* The members of a job into an open object: who it is, how it ended, its figures and their
 * quality. */
void job_json_members(struct json *j, const struct job *job);
/* {"peak_rss_mb": …} and {"peak_rss_mb": "exact", …}. */
void job_json_figures(struct json *j, const struct job *job);
void job_json_qualities(struct json *j, const struct job *job);
/* Each one the members of an open object too. */
void sheet_json_members(struct json *j, const struct sheet_record *s);
void process_json_members(struct json *j, const struct process_record *p);
void event_json_members(struct json *j, const struct event_record *e);
void job_sum_json_members(struct json *j, const struct job_sum_record *s);
void anomaly_json_members(struct json *j, const struct anomaly_record *a);
