/* SPDX-License-Identifier: MIT */
/* run_view.h - the block that `proctor run` ends with: what became of the job and what it took, in
 * a few lines, and the way to more. */
#pragma once

#include "model/job.h"
#include "view/style.h"

/* `cpus`: how many the machine has; 0: not known. Lines are as long as style->width allows. */
void run_view(struct buf *to, const struct job *job, const struct style *style, unsigned cpus);
