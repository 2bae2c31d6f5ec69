/* SPDX-License-Identifier: MIT */
/* codec_job.h - recorded jobs as JSON. The keys are those of docs/jobs.md; what is not known is
 * null, and says why in `quality`. */
#pragma once

#include "base/json.h"
#include "model/recorded.h"

#define CODEC_JOB_SCHEMA 1

/* The members of a job into an open object: who it is, how it ended, its figures and their
 * quality. */
void codec_job_members(struct json *j, const struct job *job);
/* {"peak_rss_mb": …} and {"peak_rss_mb": "exact", …}. */
void codec_job_figures(struct json *j, const struct job *job);
void codec_job_qualities(struct json *j, const struct job *job);
/* Each one the members of an open object too. */
void codec_sheet_members(struct json *j, const struct reader_sheet *s);
void codec_process_members(struct json *j, const struct reader_process *p);
void codec_event_members(struct json *j, const struct reader_event *e);
void codec_sum_members(struct json *j, const struct reader_sum *s);
void codec_anomaly_members(struct json *j, const struct reader_anomaly *a);
