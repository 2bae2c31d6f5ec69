/* SPDX-License-Identifier: MIT */
/* page_gauges.h - the first figures of a page, at a glance: what a job used of what it was allowed, as bars, and what to
 * request next time. The totals below them have the same figures, and how far each can be trusted. */
#pragma once

#include "base/buf.h"
#include "report/report.h"

void page_gauges(const struct report *r, struct buf *to);
