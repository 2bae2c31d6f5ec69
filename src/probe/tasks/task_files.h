/* SPDX-License-Identifier: MIT */
/* task_files.h - a process of the sample from its files in /proc/PID. */
#pragma once

#include "kernel/process_reader.h"
#include "model/sample.h"

#define TASK_FILES (1U << PROCESS_STAT | 1U << PROCESS_STATM)

/* From what was read of TASK_FILES and, if it was asked for, of io and the open files. False: the
 * process has ended, or could not be read. */
bool task_files_fill(const struct process_request *q, uint64_t page_bytes, struct proc_sample *ret);
/* A leader that has exited has given up its memory and files, while the process lives on in other
 * threads: the state, memory and files of one of these. False: that one has exited too. */
bool task_files_fill_thread(const struct process_request *q, uint64_t page_bytes,
                            struct proc_sample *ret);
