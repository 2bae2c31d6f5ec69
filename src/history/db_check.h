/* SPDX-License-Identifier: MIT */
/* db_check.h - checks a database for damage, without writing to it. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* 0: ours, and every page is where it belongs. -ENOENT: there is none; -EUCLEAN: damaged; -ETIME:
 * no damage found within `limit_ns`, but not all was checked; else it cannot be read or is not
 * ours. */
int db_check_file(const char *path, uint64_t limit_ns, struct err *err) must_check;
