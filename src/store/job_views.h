/* SPDX-License-Identifier: MIT */
/* job_views.h - the views of jobs. For sql_views.c only. */
#pragma once

#include <stddef.h>

#include "base/buf.h"

void view_put_jobs(struct buf *sql);
void view_put_sheets(struct buf *sql);
void view_put_job_samples(struct buf *sql);
/* "CASE column WHEN 0 THEN 'first name' …END" */
void view_put_case(struct buf *sql, const char *column, const char *const *names, size_t n);
