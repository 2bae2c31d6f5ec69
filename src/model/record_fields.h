/* SPDX-License-Identifier: MIT */
/* record_fields.h - the field tables of recorded jobs and their parts. The keys are those of
 * docs/jobs.md; an unknown value is null, and `quality` states how far each figure can be trusted. */
#pragma once

#include "model/field.h"
#include "model/history_record.h"

#define RECORD_SCHEMA 1

extern const struct field_table job_fields;     /* struct job */
extern const struct field_table sheet_fields;   /* struct sheet_record */
extern const struct field_table process_fields; /* struct process_record */
extern const struct field_table event_fields;   /* struct event_record */
extern const struct field_table
	live_event_fields;                      /* the same as it happens: the store knows more */
extern const struct field_table job_sum_fields; /* struct job_sum_record */
extern const struct field_table process_sample_fields; /* struct process_sample_record */
extern const struct field_table gpu_sample_fields;     /* struct gpu_sample_record */
extern const struct field_table export_fields;         /* struct export_place */
extern const struct field_table anomaly_fields;        /* struct anomaly_record */
extern const struct field_table last_call_fields;      /* struct last_call_record */
extern const struct field_table gpu_fields;            /* struct gpu_record */

extern const struct field_table profile_fields;       /* struct job_profile */
extern const struct field_table profile_sheet_fields; /* struct profile_sheet */

/* {"1": {"peak_rss_mb": "exact", …}, …} */
void record_fields_sheet_qualities_json(struct json *j, const struct job_profile *p);
