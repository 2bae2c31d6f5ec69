/* SPDX-License-Identifier: MIT */
/* time_parse.h - points in time as users write them. Local time unless the text names a zone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/scan.h"

#define TIME_GRAMMAR "2h ago, 14:00, yesterday 14:00, 2026-11-15, 2026-11-15T14:00:00Z"

/* "now"; "2h", "1h30m ago", "3 days ago"; "today", "yesterday", "14:00", "yesterday 14:00:30"; ISO
 * 8601: "2026-11-15", "2026-11-15 14:00", "2026-11-15T14:00:00.250Z", "…+01:00"; "@1700000000".
 * From 1970 to 2499. The whole text must match; otherwise the result is unchanged. */
bool time_parse(struct scan text, uint64_t now_ns, uint64_t *ret_ns);
