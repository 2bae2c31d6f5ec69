/* SPDX-License-Identifier: MIT */
/* report.h - the report of a recorded job as plain text, for a file. */
#pragma once

#include "cli/cli.h"

/* CLI_OK, or another status and why is told. */
int report_text(const struct cli *cli, const char *job_id, struct buf *to);
