/* SPDX-License-Identifier: MIT */
/* snapshot_view.h - one snapshot as `proctor snapshot` shows it: the machine in a few lines, then
 * its processes. */
#pragma once

#include "model/snapshot.h"
#include "view/table.h"

enum snapshot_sort {
	SORT_SHARE, /* the larger of its shares of all CPUs and of the memory */
	SORT_CPU,
	SORT_RSS,
	SORT_PID,
};

struct snapshot_view {
	const char *host, *kernel; /* names; NULL: not known */
	unsigned cores;            /* 0: not known */
	size_t top;                /* processes shown; SIZE_MAX: all */
	enum snapshot_sort sort;
	/* The user's name, valid until the next call, or NULL: the number is shown. */
	const char *(*user_name)(void *self, uint32_t uid);
	void *self;
};

extern const struct table_columns snapshot_view_columns; /* of its processes */

bool snapshot_view_parse_sort(const char *name,
                              enum snapshot_sort *ret); /* "cpu", "rss", "pid", "share" */
void snapshot_view_put(const struct snapshot *snap, const struct snapshot_view *view,
                       struct canvas *to);
