/* SPDX-License-Identifier: MIT */
/* export_writer.h - writes the records of one job to a file, in one of the formats. */
#pragma once

#include "cli/job_selection.h"
#include "view/export_view.h"
#include "view/trace_view.h"

enum export_what {
	EXPORT_PROCESSES,
	EXPORT_SAMPLES,
	EXPORT_EVENTS,
};

struct export
{
	struct job_selection *recorded;
	const struct job *job;
	enum export_what what; /* csv */
	uint64_t now_ns;
	int fd;

	/* Inside. */
	struct buf out;
	struct query_result rows;
	struct csv csv;
	struct trace trace;
};

/* 0 or -errno. -EPIPE: the reader has closed the pipe. */
int export_jsonl(struct export *x, struct err *err) must_check;
int export_csv(struct export *x, struct err *err) must_check;
int export_trace(struct export *x, struct err *err) must_check;
void export_done(struct export *x);
