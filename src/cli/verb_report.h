/* SPDX-License-Identifier: MIT */
/* verb_report.h - the report of a recorded job as plain text, for a file. */
#pragma once

#include "cli/cli.h"

/* CLI_OK, or another status, and the reason was reported. */
int verb_report_text(const struct cli *cli, const char *job_id, struct buf *to);
/* The same of a job that is in no store: its totals are all there is. */
void verb_report_totals(const struct job *job, struct buf *to);
