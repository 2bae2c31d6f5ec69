/* SPDX-License-Identifier: MIT */
/* run_capture.h - `proctor run --capture`: stdout and stderr, copied into the run folder. */
#pragma once

#include "job/launch/capture.h"
#include "runfolder/runfolder.h"

/* NULL, logged, if the output cannot be captured. */
struct capture *run_capture_start(struct runfolder *folder);
/* Waits for the copies and logs what they lack. NULL is fine. */
void run_capture_end(struct capture *capture, const char *dir);
