/* SPDX-License-Identifier: MIT */
/* sql_views.h - the views that readers see: snapshots, process_metrics and process_events with the
 * names, order and types of the reference's tables, and ours beside them. */
#pragma once

#include "base/buf.h"

struct view {
	const char *name;
	void (*put)(struct buf *sql); /* appends its CREATE VIEW */
};

enum { VIEW_COUNT = 12 };
extern const struct view views[VIEW_COUNT];
