/* SPDX-License-Identifier: MIT */
/* strace_summary.h - the table that strace -c prints, in the columns that strace.c asks for. */
#pragma once

#include "base/scan.h"
#include "model/syscall.h"

#define STRACE_SUMMARY_COLUMNS "time-total,calls,name,errors"
#define STRACE_SUMMARY_MAX ((size_t)1 << 20) /* bytes */

/* Its rows, in their order, at most n. Returns how many. */
size_t strace_summary_parse(struct scan text, struct syscall_record *ret, size_t n);
