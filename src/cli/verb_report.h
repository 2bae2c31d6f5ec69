/* SPDX-License-Identifier: MIT */
/* verb_report.h - the report of a recorded job as plain text, for a file. */
#pragma once

#include "cli/cli.h"
#include "report/report.h"

/* CLI_OK, or another status, logged. */
int verb_report_text(const struct cli *cli, const char *job_id, struct buf *to);
/* The same for a job that was not stored: only its totals are known. */
void verb_report_totals(const struct job *job, struct buf *to);
/* Prints what the processes of a running job wait for. */
void verb_report_add_blocked(struct report *report);
