/* SPDX-License-Identifier: MIT */
/* db_check.h - whether a database is whole, for who asks. It is only read. */
#pragma once

#include <stdint.h>

#include "base/err.h"

/* 0: ours, and every page is where it belongs. -ENOENT: there is none; -EUCLEAN: damaged; -ETIME:
 * no damage found in `limit_ns`, and not all was looked at; else it cannot be read or is not
 * ours. */
int db_check_file(const char *path, uint64_t limit_ns, struct err *err) must_check;
